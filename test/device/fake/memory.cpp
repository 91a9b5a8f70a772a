//===- memory.cpp - Memory of fake GPUs, and pinned memory of the host ----===//

#include "fake/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace ppopt::cuda::fake {
namespace {

constexpr size_t page = 4096;
/// Of device memory: as large as the driver promises.
constexpr size_t alignment = 256;

size_t roundUp(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Poisoned bytes that all memory shares until it is written. Few, for to fill
/// them takes a process longer than to map them often.
constexpr size_t patternBytes = size_t(2) << 20;
int openPattern() {
  static const int file = [] {
    int file = memfd_create("ppopt-fake-cuda", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, patternBytes) != 0)
      throw std::bad_alloc();
    const std::string piece(64 * 1024, char(poison));
    for (size_t at = 0; at < patternBytes; at += piece.size())
      if (pwrite(file, piece.data(), piece.size(), off_t(at)) !=
          ssize_t(piece.size()))
        throw std::bad_alloc();
    return file;
  }();
  return file;
}

char *map(size_t bytes, int protection) {
  void *memory = mmap(nullptr, bytes, protection,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  return static_cast<char *>(memory);
}

/// Makes whole pages, which are mapped, full of poison.
void mapPoison(char *begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += patternBytes)
    if (mmap(begin + at, std::min(patternBytes, bytes - at),
             PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
             openPattern(), 0) == MAP_FAILED)
      throw std::bad_alloc();
}

void mapZeros(char *begin, size_t bytes) {
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
           0) == MAP_FAILED)
    throw std::bad_alloc();
}

} // namespace

void fillMemory(char *begin, unsigned char value, size_t bytes) {
  // Below it a fault for each page costs less.
  constexpr size_t fewBytes = 64 * page;
  if (bytes < fewBytes || (value != 0 && value != poison)) {
    std::memset(begin, value, bytes);
    return;
  }
  auto address = reinterpret_cast<uintptr_t>(begin);
  size_t before = roundUp(address, page) - address,
         pages = (bytes - before) / page * page;
  std::memset(begin, value, before);
  (value ? mapPoison : mapZeros)(begin + before, pages);
  std::memset(begin + before + pages, value, bytes - before - pages);
}

// The begin is an odd multiple of the alignment. The page after the end belongs
// to the allocation, for the message about an access there.
Allocation::Allocation(std::string name, size_t bytes,
                       const ppopt::fake::LastOperations &last)
    : name(std::move(name)), bytes(bytes) {
  mapped = roundUp(alignment + bytes, page) + page;
  reserved = map(mapped, PROT_NONE);
  backing = map(mapped, PROT_READ | PROT_WRITE);
  mapPoison(backing, mapped);
  address = reinterpret_cast<uintptr_t>(reserved) + alignment;
  bytesOf = backing + alignment;
  guard = std::make_unique<ppopt::fake::GuardedRange>(
      -1, this->name, address, int64_t(mapped - alignment), last);
}

Allocation::~Allocation() {
  guard.reset();
  munmap(reserved, mapped);
  munmap(backing, mapped);
}

Allocation &Allocations::add(std::unique_ptr<Allocation> allocation) {
  sum += allocation->bytes;
  return *(blocks[allocation->begin()] = std::move(allocation));
}

bool Allocations::remove(uintptr_t begin) {
  auto found = blocks.find(begin);
  if (found == blocks.end())
    return false;
  sum -= found->second->bytes;
  blocks.erase(found);
  return true;
}

Allocation *Allocations::find(uintptr_t address) const {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin())
    return nullptr;
  Allocation &before = *std::prev(after)->second;
  return before.holds(address, 0) ? &before : nullptr;
}

char *Allocations::find(uintptr_t address, size_t bytes) const {
  Allocation *allocation = find(address);
  if (!allocation || !allocation->holds(address, bytes))
    return nullptr;
  return allocation->storage() + (address - allocation->begin());
}

std::string Allocations::describe(uintptr_t address, size_t bytes) const {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin() ||
      address - std::prev(after)->first >
          roundUp(std::prev(after)->second->bytes, page))
    return fmt::format("{} bytes at {:#x}, where nothing is allocated", bytes,
                       address);
  const Allocation &near = *std::prev(after)->second;
  uintptr_t offset = address - near.begin();
  return fmt::format("bytes [{}, {}) of {}, which has {}", offset,
                     offset + bytes, near.name, near.bytes);
}

void Allocations::clear() {
  blocks.clear();
  sum = 0;
}

PinnedMemory::~PinnedMemory() {
  for (auto [begin, bytes] : blocks)
    munmap(reinterpret_cast<void *>(begin), roundUp(bytes, page));
}

void *PinnedMemory::allocate(size_t bytes) {
  char *memory = map(roundUp(bytes, page), PROT_READ | PROT_WRITE);
  fillMemory(memory, poison, bytes);
  blocks[reinterpret_cast<uintptr_t>(memory)] = bytes;
  return memory;
}

size_t PinnedMemory::release(void *memory) {
  auto found = blocks.find(reinterpret_cast<uintptr_t>(memory));
  if (found == blocks.end())
    return 0;
  size_t bytes = found->second;
  munmap(memory, roundUp(bytes, page));
  blocks.erase(found);
  return bytes;
}

size_t PinnedMemory::sizeOf(const void *memory) const {
  auto found = blocks.find(reinterpret_cast<uintptr_t>(memory));
  return found == blocks.end() ? 0 : found->second;
}

bool PinnedMemory::holds(const void *memory, size_t bytes, bool &isPart) const {
  auto begin = reinterpret_cast<uintptr_t>(memory);
  auto after = blocks.lower_bound(begin + std::max<size_t>(bytes, 1));
  isPart = false;
  if (after == blocks.begin())
    return false;
  auto [first, size] = *std::prev(after);
  isPart = first + size > begin;
  return first <= begin && begin + bytes <= first + size;
}

} // namespace ppopt::cuda::fake
