//===- fake_device.cpp - A device that keeps the rest of the tree honest --===//

#include "device/fake/fake_device.h"

#include "base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace ppopt::fake {

using device::DevicePointer;
using device::Event;
using device::KernelSpec;
using device::MatmulSpec;
using device::Stream;

namespace {

uintptr_t addressOf(const void *memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

size_t checksum(const char *from, int64_t bytes) {
  return std::hash<std::string_view>()({from, size_t(bytes)});
}

int64_t byteSize(MatmulType type) {
  switch (type) {
  case MatmulType::f32:
    return 4;
  case MatmulType::f64:
    return 8;
  case MatmulType::bf16:
    return 2;
  }
  return 0;
}

/// Returns the bytes from the first element of an operand to its last.
int64_t extent(const MatmulDescriptor &matmul,
               const std::array<int64_t, 4> &strides, int64_t rows,
               int64_t columns, MatmulType type) {
  int64_t last = (matmul.batch[0] - 1) * strides[0] +
                 (matmul.batch[1] - 1) * strides[1] + (rows - 1) * strides[2] +
                 (columns - 1) * strides[3];
  return (last + 1) * byteSize(type);
}

} // namespace

FakeDevice::FakeDevice(std::unique_ptr<device::Device> wrapped, int rank,
                       Settings settings)
    : owned(std::move(wrapped)), inner(*owned), rank(rank),
      settings(std::move(settings)), innerStream(inner.makeStream("fake")),
      exchangeStream(inner.makeStream("fake exchanges")),
      exchanged(inner.makeEvent()), memory(inner),
      queues(this->settings.seed * 1000003 + uint64_t(rank)) {}

// Nobody knows whether the host memory of a copy is still there: without a
// synchronize the host could not know when it may go.
FakeDevice::~FakeDevice() {
  try {
    if (failure.empty() && pendingCopies == 0)
      queues.finishAll();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  counters.discarded = queues.discard();
  if (!settings.report.empty())
    writeReport();
}

std::string FakeDevice::describe() const {
  std::string over = inner.describe();
  return fmt::format("fake device, seed {}{}", settings.seed,
                     over.empty() ? "" : ", over " + over);
}

DevicePointer FakeDevice::allocate(int64_t bytes, const char *what) {
  ++counters.allocations;
  counters.lateAllocations += counters.launches + counters.matmuls > 0;
  DevicePointer begin = memory.allocate(bytes, what);
  guards.emplace_back(rank, what, addressOf(begin.opaque()),
                      Memory::reservedBytes(bytes), last);
  return begin;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

char *FakeDevice::allocateHost(int64_t bytes) {
  return inner.allocateHost(bytes);
}

Stream FakeDevice::makeStream(const char *name) {
  streamNames.push_back(name);
  clocks.addStream();
  return {queues.addStream()};
}

Event FakeDevice::makeEvent() {
  ++events;
  clocks.addEvent();
  return {queues.addEvent()};
}

void FakeDevice::record(Event event, Stream stream) {
  checkStream(stream);
  checkEvent(event);
  clocks.record(event.index, stream.index);
  queues.record(event.index, stream.index);
}

void FakeDevice::wait(Stream stream, Event event) {
  checkStream(stream);
  checkEvent(event);
  if (++counters.waits == settings.dropWait)
    return;
  clocks.wait(stream.index, event.index);
  queues.wait(stream.index, event.index);
}

bool FakeDevice::isComplete(Event event) {
  checkEvent(event);
  return queues.isComplete(event.index);
}

void FakeDevice::synchronize(Stream stream) {
  checkStream(stream);
  if (++counters.synchronizations == settings.dropSynchronize ||
      !failure.empty())
    return;
  queues.finish(stream.index);
  clocks.synchronize(stream.index);
  checkSeenSources();
  if (clocks.hostSeesAll())
    accesses.clear();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

FakeDevice::Draft FakeDevice::begin(Stream stream, Kind kind, int index) {
  if (!failure.empty())
    throw runtime::Error(failure);
  checkStream(stream);
  Draft draft;
  draft.operation = {kind, stream.index, clocks.add(stream.index), index};
  last.add(name(draft.operation));
  return draft;
}

DevicePointer FakeDevice::touch(Draft &draft, DevicePointer at, int64_t bytes,
                                const std::string &operand, bool reads,
                                bool writes) {
  if (bytes == 0)
    return memory.find(at, 0);
  DevicePointer storage = memory.find(at, bytes);
  if (!storage)
    fail(fmt::format("{} of {} is not in the device's memory: {} bytes at {}",
                     operand, name(draft.operation), bytes, at.opaque()));
  if (reads)
    draft.accesses.push_back({addressOf(at.opaque()), bytes, false});
  if (writes)
    draft.accesses.push_back({addressOf(at.opaque()), bytes, true});
  return storage;
}

void FakeDevice::enqueue(const Draft &draft, std::function<void()> run) {
  for (const Access &access : draft.accesses) {
    std::optional<Race> race = accesses.add(draft.operation, access, clocks);
    if (!race)
      continue;
    auto does = [](bool writes) { return writes ? "writes" : "reads"; };
    fail(fmt::format(
        "race: {} {} {}, and {} {} them, in no order: an event between the "
        "streams or a synchronize is missing",
        name(race->first), does(race->firstWrites),
        memory.describe(race->begin, race->end), name(race->second),
        does(race->secondWrites)));
  }
  queues.add(draft.operation.stream,
             [this, operation = draft.operation, run = std::move(run)] {
               std::string what = name(operation);
               Running running(rank, what.c_str());
               run();
               inner.synchronize(innerStream);
             });
}

void FakeDevice::enqueueCopy(const Draft &draft, std::function<void()> run) {
  ++pendingCopies;
  enqueue(draft, [this, run = std::move(run)] {
    --pendingCopies;
    run();
  });
}

void FakeDevice::copyIn(Stream stream, DevicePointer to, const void *from,
                        int64_t bytes) {
  Draft draft = begin(stream, Kind::copyIn);
  DevicePointer storage = touch(draft, to, bytes, "the destination", false,
                                /*writes=*/true);
  ++counters.copiesIn;
  counters.bytesIn += bytes;
  if (bytes == 0)
    return;
  auto *data = static_cast<const char *>(from);
  // Where an earlier copy may still write, the memory changes with good reason.
  bool isFixed = !accesses.isWritten(addressOf(from), bytes, clocks);
  draft.accesses.push_back({addressOf(from), bytes, /*writes=*/false});
  auto source = std::make_shared<Source>(
      Source{draft.operation, data, bytes, checksum(data, bytes), isFixed});
  sources.push_back(source);
  enqueueCopy(draft, [=] {
    check(*source);
    inner.copyIn(innerStream, storage, data, bytes);
  });
}

void FakeDevice::copyOut(Stream stream, void *to, DevicePointer from,
                         int64_t bytes) {
  Draft draft = begin(stream, Kind::copyOut);
  DevicePointer storage =
      touch(draft, from, bytes, "the source", /*reads=*/true, false);
  ++counters.copiesOut;
  counters.bytesOut += bytes;
  if (bytes == 0)
    return;
  uintptr_t begin = addressOf(to), end = begin + bytes;
  for (const std::shared_ptr<Source> &source : sources)
    if (addressOf(source->from) < end &&
        begin < addressOf(source->from) + source->bytes)
      source->isFixed = false;
  // Whoever reads the memory too early sees this.
  if (!accesses.isInUse(begin, bytes, clocks))
    std::memset(to, 0xFF, bytes);
  draft.accesses.push_back({begin, bytes, /*writes=*/true});
  enqueueCopy(draft, [=] { inner.copyOut(innerStream, to, storage, bytes); });
}

void FakeDevice::fill(Stream stream, DevicePointer to, uint8_t value,
                      int64_t bytes) {
  Draft draft = begin(stream, Kind::fill);
  DevicePointer storage =
      touch(draft, to, bytes, "the destination", false, /*writes=*/true);
  ++counters.fills;
  if (bytes > 0)
    enqueue(draft, [=] { inner.fill(innerStream, storage, value, bytes); });
}

void FakeDevice::defineKernel(const KernelSpec &kernel) {
  inner.defineKernel(kernel);
  kernels.push_back(kernel);
}

void FakeDevice::defineMatmul(const MatmulSpec &matmul) {
  inner.defineMatmul(matmul);
  matmuls.push_back(matmul);
}

void FakeDevice::launch(Stream stream, int kernel, ppopt_kernel_fn code,
                        void *const *arguments, int64_t tiles) {
  if (kernel < 0 || size_t(kernel) >= kernels.size())
    fail(fmt::format("kernel {} was not defined", kernel));
  const KernelSpec &spec = kernels[kernel];
  Draft draft = begin(stream, Kind::launch, kernel);
  ++counters.launches;
  std::vector<void *> storage;
  auto add = [&](const std::vector<int64_t> &sizes, bool writes) {
    for (int64_t bytes : sizes) {
      size_t number = storage.size();
      storage.push_back(touch(draft, DevicePointer(arguments[number]), bytes,
                              fmt::format("argument {}", number), !writes,
                              writes)
                            .opaque());
    }
  };
  add(spec.ins, false);
  add(spec.outs, true);
  if (tiles > 0)
    enqueue(draft, [=, storage = std::move(storage)] {
      inner.launch(innerStream, kernel, code, storage.data(), tiles);
    });
}

void FakeDevice::matmul(Stream stream, int matmul, DevicePointer a,
                        DevicePointer b, DevicePointer c,
                        DevicePointer workspace) {
  if (matmul < 0 || size_t(matmul) >= matmuls.size())
    fail(fmt::format("matmul {} was not defined", matmul));
  const MatmulSpec &spec = matmuls[matmul];
  const MatmulDescriptor &m = spec.descriptor;
  Draft draft = begin(stream, Kind::matmul, matmul);
  ++counters.matmuls;
  a = touch(draft, a, extent(m, m.a, m.m, m.k, m.type), "A", true, false);
  b = touch(draft, b, extent(m, m.b, m.k, m.n, m.type), "B", true, false);
  c = touch(draft, c, extent(m, m.c, m.m, m.n, m.cType), "C", m.accumulate,
            true);
  workspace = touch(draft, workspace, spec.workspace, "the workspace", false,
                    /*writes=*/true);
  enqueue(draft,
          [=] { inner.matmul(innerStream, matmul, a, b, c, workspace); });
}

device::Communication *FakeDevice::communication() {
  if (!theCommunication) {
    device::Communication *own = inner.communication();
    if (!own)
      return nullptr;
    theCommunication.emplace(*this, *own);
  }
  return &*theCommunication;
}

void FakeDevice::communicate(
    Stream stream, const std::string &what,
    const std::vector<FakeCommunication::Operand> &operands,
    std::function<void(const std::vector<DevicePointer> &)> run) {
  auto known = std::find(exchanges.begin(), exchanges.end(), what);
  int index = int(known - exchanges.begin());
  if (known == exchanges.end())
    exchanges.push_back(what);
  Draft draft = begin(stream, Kind::exchange, index);
  ++counters.exchanges;
  std::vector<DevicePointer> storage;
  for (const FakeCommunication::Operand &operand : operands)
    storage.push_back(
        touch(draft, operand.data, operand.bytes,
              operand.writes ? "what is received" : "what is sent",
              operand.reads, operand.writes));
  // Other ranks may take their time, so the stream waits, not this thread.
  enqueue(draft, [=, run = std::move(run)] {
    run(storage);
    inner.record(exchanged, exchangeStream);
  });
  queues.hold(stream.index, [this] { return inner.isComplete(exchanged); });
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

void FakeDevice::check(const Source &source) {
  if (source.isFixed && checksum(source.from, source.bytes) != source.checksum)
    fail(fmt::format("the host changed the {} bytes that {} reads before it "
                     "synchronized with it",
                     source.bytes, name(source.operation)));
}

void FakeDevice::checkSeenSources() {
  auto isSeen = [&](const std::shared_ptr<Source> &source) {
    return clocks.isSeenByHost(source->operation.stream,
                               source->operation.number);
  };
  for (const std::shared_ptr<Source> &source : sources)
    if (isSeen(source))
      check(*source);
  sources.erase(std::remove_if(sources.begin(), sources.end(), isSeen),
                sources.end());
}

void FakeDevice::checkStream(Stream stream) const {
  if (stream.index < 0 || size_t(stream.index) >= streamNames.size())
    fail(fmt::format("stream {} is not of this device", stream.index));
}

void FakeDevice::checkEvent(Event event) const {
  if (event.index < 0 || event.index >= events)
    fail(fmt::format("event {} is not of this device", event.index));
}

std::string FakeDevice::name(const Operation &operation) const {
  auto what = [&]() -> std::string {
    switch (operation.kind) {
    case Kind::copyIn:
      return "copy in";
    case Kind::copyOut:
      return "copy out";
    case Kind::fill:
      return "fill";
    case Kind::launch:
      return "launch of " + kernels[operation.index].name;
    case Kind::matmul:
      return "matmul " + matmuls[operation.index].name;
    case Kind::exchange:
      return exchanges[operation.index];
    }
    return {};
  };
  return fmt::format("{} (operation {} of stream '{}')", what(),
                     operation.number, streamNames[operation.stream]);
}

/// Appends one line of JSON. Other ranks write to the same file.
void FakeDevice::writeReport() const {
  const Counters &c = counters;
  std::string line = fmt::format(
      "{{\"rank\": {}, \"seed\": {}, \"copies_in\": {}, \"bytes_in\": {}, "
      "\"copies_out\": {}, \"bytes_out\": {}, \"fills\": {}, "
      "\"launches\": {}, \"matmuls\": {}, \"exchanges\": {}, \"waits\": {}, "
      "\"synchronizations\": {}, \"allocations\": {}, "
      "\"late_allocations\": {}, \"discarded\": {}}}\n",
      rank, settings.seed, c.copiesIn, c.bytesIn, c.copiesOut, c.bytesOut,
      c.fills, c.launches, c.matmuls, c.exchanges, c.waits, c.synchronizations,
      c.allocations, c.lateAllocations, c.discarded);
  int file = ::open(settings.report.c_str(),
                    O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  bool written = file >= 0 && ::write(file, line.data(), line.size()) ==
                                  ssize_t(line.size());
  if (!written)
    std::fprintf(stderr, "error: %s (PPOPT_FAKE_REPORT): %s\n",
                 settings.report.c_str(), std::strerror(errno));
  if (file >= 0)
    ::close(file);
}

void FakeDevice::fail(const std::string &message) const {
  failure = fmt::format("fake device, rank {}: {}", rank, message);
  throw runtime::Error(failure);
}

} // namespace ppopt::fake
