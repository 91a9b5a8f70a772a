//===- Memory.cpp - Checks accesses of an emulated kernel -----------------===//

#include "Memory.h"

#include <algorithm>

using namespace emulated;

/// Flags of Cell::reader. Without one of the first two it is one thread.
enum : uint16_t {
  kSeveralLanes = 0x400, ///< of the warp that the low bits are
  kSeveralWarps = 0x800,
  kOtherBlock = 0x1000, ///< beside them: read by an earlier block too
  kNumber = 0x3ff,
};

Shadow::Shadow(uint64_t elements) : pages(elements / kPage + 1) {}

std::unique_ptr<Cell[]> Shadow::makePage() {
  return std::unique_ptr<Cell[]>(new Cell[kPage]());
}

void Shadow::clear() {
  for (std::unique_ptr<Cell[]> &page : pages)
    page.reset();
}

void Memory::add(Region region) {
  region.elementShift = __builtin_ctz(region.elementBytes);
  if (region.isWritten && region.hasShadow)
    region.shadow =
        std::make_unique<Shadow>(region.bytes / region.elementBytes + 1);
  auto place = std::upper_bound(
      regions.begin(), regions.end(), region.begin,
      [](uint64_t begin, const Region &each) { return begin < each.begin; });
  regions.insert(place, std::move(region));
  last = nullptr;
}

void Memory::clear(std::vector<Site> &sites) {
  regions.clear();
  last = nullptr;
  for (Site &site : sites)
    site.begin = site.span = 0;
}

void Memory::beginLaunch() {
  begins.clear();
  for (Region &region : regions)
    if (region.shadow)
      region.shadow->clear();
}

Region *Memory::find(uint64_t address) {
  if (last && address - last->begin < last->bytes)
    return last;
  auto after = std::upper_bound(
      regions.begin(), regions.end(), address,
      [](uint64_t at, const Region &each) { return at < each.begin; });
  if (after == regions.begin())
    return nullptr;
  Region &region = *std::prev(after);
  if (address - region.begin >= region.bytes)
    return nullptr;
  return last = &region;
}

int64_t Memory::findUnwritten(uint64_t begin) {
  Region *region = find(begin);
  for (uint64_t i = 0; i < region->bytes / region->elementBytes; ++i)
    if (!region->isPadding(i) && region->shadow->at(i).writeTime == 0)
      return i;
  return -1;
}

static std::string countOf(uint64_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

static const char *verb(bool isWrite) { return isWrite ? "writes" : "reads"; }

/// Names the region that is nearest to the address.
std::string Memory::describeOutside(uint64_t address, uint64_t bytes,
                                    bool isWrite) {
  const Region *nearest = nullptr;
  uint64_t least = ~0ull;
  for (const Region &region : regions) {
    uint64_t end = region.begin + region.bytes;
    uint64_t distance = address < region.begin ? region.begin - address
                        : address >= end       ? address - end
                                               : 0;
    if (distance < least) {
      least = distance;
      nearest = &region;
    }
  }
  std::string text = std::string(verb(isWrite)) + " " + countOf(bytes, "byte");
  if (!nearest)
    return text + " where no buffer is";
  auto offset = static_cast<int64_t>(address - nearest->begin);
  auto size = static_cast<int64_t>(nearest->elementBytes);
  int64_t element = (offset < 0 ? offset - size + 1 : offset) / size;
  return text + " at element " + std::to_string(element) + " of " +
         nearest->name + ", which has " +
         countOf(nearest->bytes / nearest->elementBytes, "element");
}

bool Memory::refuse(std::string why) {
  wrong = std::move(why);
  return false;
}

bool Memory::check(uint64_t address, uint64_t bytes, bool isWrite, Site *site) {
  if (bytes == 0)
    return true;
  Region *region = find(address);
  if (!region || bytes > region->bytes - (address - region->begin))
    return refuse(describeOutside(address, bytes, isWrite));
  uint64_t offset = address - region->begin;
  if (site && (address & (site->align - 1)) != 0)
    return refuse(std::string(verb(isWrite)) + " " + countOf(bytes, "byte") +
                  " at byte " + std::to_string(offset) + " of " + region->name +
                  ", which is no multiple of " + std::to_string(site->align));
  uint64_t first = offset >> region->elementShift,
           last = (offset + bytes - 1) >> region->elementShift;
  if (isWrite && !region->isWritten)
    return refuse("writes element " + std::to_string(first) + " of " +
                  region->name + ", which it may only read");
  for (uint64_t i = first; region->pitch && i <= last; ++i)
    if (region->isPadding(i))
      return refuse(std::string(verb(isWrite)) + " element " +
                    std::to_string(i) + " of " + region->name +
                    ", which is padding between rows of " +
                    countOf(region->columns, "element"));
  if (!region->shadow) {
    if (site && !region->pitch) {
      site->begin = region->begin;
      site->span = region->bytes - bytes + 1;
    }
    return true;
  }
  for (uint64_t i = first; i <= last; ++i)
    if (!checkCell(*region, i, isWrite))
      return false;
  return true;
}

bool Memory::checkCell(const Region &region, uint64_t element, bool isWrite) {
  Cell &cell = region.shadow->at(element);
  if (!isWrite && hasReadNow(cell))
    return true;
  // What an earlier block left in shared memory is gone.
  if (region.kind == Region::Kind::Shared) {
    if (cell.writeTime && !isOfThisBlock(cell.writeTime))
      cell.writeTime = 0;
    if (cell.readTime && !isOfThisBlock(cell.readTime))
      cell.readTime = 0;
  }
  return isWrite ? checkWrite(region, element, cell)
                 : checkRead(region, element, cell);
}

/// Returns whether the cell says that the running thread has read it since the
/// last event, or that others have which are ordered no better: what these may
/// read, and nobody has written since, this thread may.
bool Memory::hasReadNow(const Cell &cell) const {
  if (cell.readTime != clock.now)
    return false;
  if (cell.reader & kSeveralWarps)
    return true;
  unsigned number = cell.reader & kNumber;
  return number ==
         (cell.reader & kSeveralLanes ? clock.thread / kWarp : clock.thread);
}

bool Memory::isOrdered(uint32_t time, unsigned thread) const {
  if (!isOfThisBlock(time))
    return false;
  if (thread == clock.thread || time < clock.barrier)
    return true;
  unsigned warp = clock.thread / kWarp;
  return thread / kWarp == warp && time < clock.warpBarrier[warp];
}

std::string Memory::describeThread(uint32_t time, unsigned thread) const {
  std::string text = "thread " + std::to_string(thread);
  if (isOfThisBlock(time))
    return text;
  auto after = std::upper_bound(
      begins.begin(), begins.end(), time,
      [](uint32_t at, const Begin &each) { return at < each.time; });
  return text + " of block " + std::to_string(std::prev(after)->block);
}

static std::string elementOf(uint64_t element, const Region &region) {
  return "element " + std::to_string(element) + " of " + region.name;
}

/// Why two accesses are not in order.
static const char *reason(bool isSameBlock) {
  return isSameBlock ? " without a barrier between"
                     : "; nothing orders the two blocks";
}

bool Memory::checkRead(const Region &region, uint64_t element, Cell &cell) {
  if (cell.writeTime == 0) {
    if (!region.isInitialised)
      return refuse(
          "reads " + elementOf(element, region) + ", which nobody has written" +
          (region.kind == Region::Kind::Shared ? " since the block began"
                                               : ""));
  } else if (!isOrdered(cell.writeTime, cell.writer)) {
    return refuse("reads " + elementOf(element, region) + ", which " +
                  describeThread(cell.writeTime, cell.writer) + " has written" +
                  reason(isOfThisBlock(cell.writeTime)));
  }
  uint16_t others = cell.reader & kOtherBlock;
  bool isFirst = cell.readTime == 0;
  if (!isFirst && !isOfThisBlock(cell.readTime)) {
    others = kOtherBlock;
    isFirst = true;
  }
  bool isOfMany = cell.reader & (kSeveralLanes | kSeveralWarps);
  unsigned warp = clock.thread / kWarp;
  // An earlier read that is ordered before this one need not be remembered.
  if (isFirst || cell.readTime < clock.barrier ||
      (!isOfMany && isOrdered(cell.readTime, cell.reader & kNumber)) ||
      ((cell.reader & kSeveralLanes) && (cell.reader & kNumber) == warp &&
       cell.readTime < clock.warpBarrier[warp]))
    cell.reader = others | clock.thread;
  else if ((cell.reader & kSeveralLanes)
               ? (cell.reader & kNumber) == warp
               : !isOfMany && (cell.reader & kNumber) / kWarp == warp)
    cell.reader = others | kSeveralLanes | warp;
  else
    cell.reader = others | kSeveralWarps;
  cell.readTime = clock.now;
  return true;
}

bool Memory::checkWrite(const Region &region, uint64_t element, Cell &cell) {
  auto conflict = [&](const std::string &who, const char *did,
                      bool isSameBlock) {
    return refuse("writes " + elementOf(element, region) + ", which " + who +
                  did + reason(isSameBlock));
  };
  if (cell.writeTime && !isOrdered(cell.writeTime, cell.writer))
    return conflict(describeThread(cell.writeTime, cell.writer), " has written",
                    isOfThisBlock(cell.writeTime));
  if (cell.readTime) {
    unsigned number = cell.reader & kNumber, warp = clock.thread / kWarp;
    bool isOfLanes = cell.reader & kSeveralLanes;
    if (!isOfThisBlock(cell.readTime) || (cell.reader & kOtherBlock))
      return conflict("another block", " has read", false);
    bool isOrderedRead = cell.readTime < clock.barrier;
    if (isOfLanes)
      isOrderedRead |=
          number == warp && cell.readTime < clock.warpBarrier[warp];
    else if (!(cell.reader & kSeveralWarps))
      isOrderedRead |= isOrdered(cell.readTime, number);
    if (!isOrderedRead)
      return conflict(
          isOfLanes ? "threads of warp " + std::to_string(number)
          : (cell.reader & kSeveralWarps) ? "threads of several warps"
                                          : "thread " + std::to_string(number),
          (isOfLanes || (cell.reader & kSeveralWarps)) ? " have read"
                                                       : " has read",
          true);
  }
  cell.writeTime = clock.now;
  cell.writer = clock.thread;
  cell.readTime = 0;
  cell.reader = 0;
  return true;
}
