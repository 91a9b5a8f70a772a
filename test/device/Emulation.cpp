//===- Emulation.cpp - Launches of a kernel with buffers ------------------===//

#include "Emulation.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace emulated;

Buffer::Buffer(unsigned number, uint64_t bytes, uint64_t offset) {
  // Where Linux maps nothing by itself.
  constexpr uint64_t first = 1ull << 45, distance = 1ull << 36;
  mapped = llvm::alignTo(bytes + offset + 2 * 4096, 4096);
  mapping = mmap(reinterpret_cast<void *>(first + number * distance), mapped,
                 PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    llvm::report_fatal_error("no address space for a buffer of " +
                             llvm::Twine(bytes) + " bytes");
  // An odd multiple of 256.
  address = static_cast<char *>(mapping) + 256 + offset;
}

Buffer::~Buffer() {
  if (mapping)
    munmap(mapping, mapped);
}

Buffer::Buffer(Buffer &&other)
    : address(other.address), mapping(other.mapping), mapped(other.mapped) {
  other.mapping = nullptr;
}

uint64_t LaunchBuffer::getMemoryBytes() const {
  return pitch ? bytes / columns * pitch : bytes;
}

void LaunchBuffer::forEachRow(
    llvm::function_ref<void(uint64_t, uint64_t, uint64_t)> visit) const {
  uint64_t row = pitch ? columns * elementBytes : bytes;
  for (uint64_t at = 0, inMemory = 0; at < bytes;
       at += row, inMemory += pitch * elementBytes)
    visit(at, inMemory, row);
}

namespace {

/// The buffers of a launch, as regions of the device's memory.
class MappedBuffers {
public:
  explicit MappedBuffers(const EmulatedLaunch &launch);
  std::vector<void *> addresses;
  std::string findUnwritten() const;
  std::vector<Bytes> takeContents() const;

private:
  const EmulatedLaunch &launch;
  std::vector<Buffer> buffers;
};

} // namespace

MappedBuffers::MappedBuffers(const EmulatedLaunch &launch) : launch(launch) {
  Device &device = theDevice();
  device.memory.clear(*launch.kernel->sites);
  for (const LaunchBuffer &argument : launch.arguments) {
    if (argument.sharesBuffer >= 0) {
      addresses.push_back(addresses[argument.sharesBuffer]);
      continue;
    }
    Buffer &buffer = buffers.emplace_back(
        buffers.size(), argument.getMemoryBytes(), argument.offset);
    addresses.push_back(buffer.data());
    if (!argument.initial.empty())
      argument.forEachRow([&](uint64_t at, uint64_t inMemory, uint64_t bytes) {
        memcpy(buffer.data() + inMemory, argument.initial.data() + at, bytes);
      });
    Region region;
    region.name = argument.name;
    region.begin = reinterpret_cast<uint64_t>(buffer.data());
    region.bytes = argument.getMemoryBytes();
    region.elementBytes = argument.elementBytes;
    region.pitch = argument.pitch;
    region.columns = argument.columns;
    region.isInitialised = argument.isInitialised;
    region.isWritten = argument.isWritten;
    device.memory.add(std::move(region));
  }
  for (const Variable &variable : launch.kernel->variables) {
    Region region;
    region.kind = variable.kind;
    region.name = variable.name;
    region.begin = variable.address;
    region.bytes = variable.bytes ? variable.bytes : launch.sharedBytes;
    // Where every access to it begins and ends.
    region.elementBytes =
        llvm::MinAlign(variable.address, launch.kernel->elementBytes);
    region.isWritten = variable.kind == Region::Kind::Shared;
    region.isInitialised = !region.isWritten;
    device.memory.add(std::move(region));
  }
}

std::string MappedBuffers::findUnwritten() const {
  for (auto [i, argument] : llvm::enumerate(launch.arguments)) {
    // What overwrites an argument may leave some of it as it was.
    if (argument.isInitialised || !argument.isWritten ||
        argument.sharesBuffer >= 0 || argument.bytes == 0)
      continue;
    int64_t element = theDevice().memory.findUnwritten(
        reinterpret_cast<uint64_t>(addresses[i]));
    if (element >= 0)
      return "kernel '" + launch.kernel->name + "': nobody writes element " +
             std::to_string(element) + " of " + argument.name;
  }
  return "";
}

std::vector<Bytes> MappedBuffers::takeContents() const {
  std::vector<Bytes> contents;
  for (auto [i, argument] : llvm::enumerate(launch.arguments)) {
    const char *begin = static_cast<const char *>(addresses[i]);
    bool isTaken = !argument.isForgotten &&
                   (argument.isWritten || argument.sharesBuffer >= 0);
    Bytes &own = contents.emplace_back();
    if (isTaken)
      argument.forEachRow([&](uint64_t, uint64_t inMemory, uint64_t bytes) {
        own.insert(own.end(), begin + inMemory, begin + inMemory + bytes);
      });
  }
  return contents;
}

Outcome emulated::emulate(const EmulatedLaunch &launch, Order order,
                          uint64_t seed) {
  MappedBuffers buffers(launch);
  Launch run;
  run.kernel = launch.kernel->name;
  run.grid = launch.grid;
  run.threads = launch.kernel->threads;
  run.blocks = launch.blocks;
  run.thread = launch.kernel->thread;
  run.arguments = buffers.addresses.data();
  run.isAlone = launch.kernel->isAlone;
  run.sites = launch.kernel->sites;
  run.order = order;
  run.seed = seed;
  Outcome outcome;
  outcome.error = theDevice().run(run);
  outcome.counters = theDevice().counters;
  if (outcome.error.empty() && launch.blocks.empty())
    outcome.error = buffers.findUnwritten();
  if (outcome.error.empty())
    outcome.contents = buffers.takeContents();
  return outcome;
}

static const char *nameOf(Order order) {
  return order == Order::Backward ? "backward" : "in random order";
}

Outcome emulated::emulateInAllOrders(const EmulatedLaunch &launch,
                                     uint64_t seed) {
  Outcome first = emulate(launch, Order::Forward, seed);
  for (Order order : {Order::Backward, Order::Random}) {
    if (!first.error.empty())
      return first;
    Outcome other = emulate(launch, order, seed);
    if (!other.error.empty())
      return other;
    for (auto [i, argument] : llvm::enumerate(launch.arguments)) {
      if (first.contents[i] == other.contents[i])
        continue;
      auto at =
          std::mismatch(first.contents[i].begin(), first.contents[i].end(),
                        other.contents[i].begin());
      first.error = "kernel '" + launch.kernel->name + "': element " +
                    std::to_string((at.first - first.contents[i].begin()) /
                                   argument.elementBytes) +
                    " of " + argument.name + " has other bits if threads run " +
                    nameOf(order) + " than forward";
    }
  }
  return first;
}

Outcome emulated::emulateDraw(const EmulatedLaunch &launch, uint64_t seed) {
  return seed == 1 ? emulateInAllOrders(launch, seed)
                   : emulate(launch, Order::Random, seed);
}
