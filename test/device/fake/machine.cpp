//===- machine.cpp - The fake GPUs of this process ------------------------===//

#include "fake/machine.h"

#include "fake/graphs.h"
#include "fake/modules.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace ppopt::cuda::fake {
namespace {

thread_local FakeContext *current_ = nullptr;
thread_local std::unique_lock<std::mutex> *held = nullptr;

size_t checksum(const HostBytes &bytes) {
  return std::hash<std::string_view>()(
      {static_cast<const char *>(bytes.begin), bytes.bytes});
}

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "error: fake CUDA: %s\n", message.c_str());
  std::fflush(nullptr);
  _exit(ppopt::fake::faultStatus);
}

Settings readSettingsOrDie() {
  try {
    return readSettings();
  } catch (const std::exception &error) {
    die(error.what());
  }
}

} // namespace

FakeContext *&currentContext() { return current_; }

Machine &Machine::get() {
  static Machine *machine = new Machine;
  return *machine;
}

Machine::Machine()
    : settings(readSettingsOrDie()),
      operations(settings.seed,
                 [this](Operation &operation) { perform(operation); }) {
  std::vector<std::string> uuids;
  for (size_t i = 0; i < settings.gpus.size(); ++i) {
    auto &gpu = gpus.emplace_back(std::make_unique<FakeGpu>());
    gpu->number = int(i);
    gpu->settings = settings.gpus[i];
    for (int byte = 0; byte < 16; ++byte)
      gpu->uuid.bytes[byte] = char(byte == 15 ? i : 0xa0 + byte);
    std::string hex;
    for (unsigned char byte : gpu->uuid.bytes)
      hex += fmt::format("{:02x}", byte);
    for (size_t dash : {8, 13, 18, 23})
      hex.insert(dash, "-");
    gpu->uuidText = "GPU-" + hex;
    uuids.push_back(gpu->uuidText);
  }
  for (int number : readVisibleDevices(uuids))
    visible.push_back(gpus[number].get());
  if (!settings.report.empty())
    std::atexit([] { get().writeReport(); });
}

void Machine::say(const std::string &message) {
  std::fprintf(stderr, "error: fake CUDA: %s\n", message.c_str());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

int Machine::call(const char *symbol, const std::function<void()> &body) {
  std::unique_lock<std::mutex> own(lock);
  held = &own;
  int64_t number = ++counters.calls[symbol];
  for (const Plant &plant : settings.plants)
    if (plant.kind == Plant::Kind::fail && plant.symbol == symbol &&
        plant.number == number)
      return plant.code;
  try {
    body();
  } catch (const Failure &failure) {
    if (!failure.message.empty())
      say(fmt::format("{}: {}", symbol, failure.message));
    return failure.code;
  } catch (const std::bad_alloc &) {
    say(fmt::format("{}: this machine has not enough memory", symbol));
    return int(DriverResult::outOfMemory);
  }
  return 0;
}

bool Machine::isDropped(Plant::Kind kind, const char *symbol) {
  for (const Plant &plant : settings.plants)
    if (plant.kind == kind && plant.number == counters.calls[symbol])
      return true;
  return false;
}

FakeContext &Machine::current() {
  if (!isInitialized)
    refuse(DriverResult::notInitialized);
  if (!current_)
    refuse(DriverResult::invalidContext,
           "no context is current in this thread: cuCtxSetCurrent");
  if (current_->isReleased)
    refuse(DriverResult(709), "the context of {} was released",
           current_->name());
  return *current_;
}

FakeContext &Machine::working() {
  FakeContext &context = current();
  if (context.error)
    throw Failure{context.error, ""};
  return context;
}

FakeStream &Machine::stream(Stream handle) {
  if (!handle)
    refuse(DriverResult::invalidHandle,
           "the default stream, which orders itself with others: use streams "
           "that cuStreamCreate made");
  FakeStream &stream = streams.at(handle, "stream");
  if (stream.context != current_)
    refuse(DriverResult::invalidHandle,
           "{} is used while the context of {} is current", stream.name(),
           current_ ? current_->name() : "no GPU");
  return stream;
}

char *Machine::storage(FakeContext &context, DeviceMemory at, size_t bytes,
                       const char *operand, const std::string &operation) {
  if (char *found = context.memory.find(at, bytes))
    return found;
  refuse(DriverResult::invalidValue, "{} of {} is {}", operand, operation,
         context.memory.describe(at, bytes));
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Machine::enqueue(FakeStream &stream, WorkRef work) {
  ++stream.operations;
  std::string where =
      fmt::format("operation {} of {}", stream.operations, stream.name());
  if (stream.capture) {
    stream.captureTail = {stream.capture->add(std::move(work), std::move(where),
                                              std::move(stream.captureTail))};
    return;
  }
  stream.tail = {enqueue(*stream.context, std::move(work), std::move(where),
                         std::move(stream.tail))};
  operations.runSome();
}

OperationRef Machine::enqueue(FakeContext &context, WorkRef work,
                              std::string where,
                              std::vector<OperationRef> after) {
  auto operation = std::make_shared<Operation>();
  operation->context = &context;
  operation->where = std::move(where);
  operation->after = std::move(after);
  operation->work = std::move(work);
  if (operation->work->run)
    context.last.add(operation->describe());
  const HostBytes &reads = operation->work->reads,
                  &writes = operation->work->writes;
  if (reads.bytes)
    operation->checksum = checksum(reads);
  if (writes.bytes) {
    auto begin = static_cast<char *>(writes.begin);
    bool isInUse = false;
    for (const OperationRef &other : operations.pending()) {
      for (const HostBytes &used : {other->work->reads, other->work->writes}) {
        auto first = static_cast<char *>(used.begin);
        isInUse |= used.bytes && first < begin + writes.bytes &&
                   begin < first + used.bytes;
      }
    }
    // What it holds until the copy ran is nothing that anyone may rely on.
    if (!isInUse)
      std::fill(begin, begin + writes.bytes, char(poison));
  }
  if (operation->work->onEnqueue)
    operation->work->onEnqueue(operation);
  operations.add(operation);
  return operation;
}

/// What operations before this one have read of the host may change from here
/// on, where this one writes it.
static void reuse(const Operation &writer) {
  const HostBytes &writes = writer.work->writes;
  auto begin = static_cast<char *>(writes.begin);
  std::vector<OperationRef> work(writer.after);
  std::set<Operation *> visited;
  while (!work.empty()) {
    OperationRef earlier = std::move(work.back());
    work.pop_back();
    if (!visited.insert(earlier.get()).second)
      continue;
    const HostBytes &reads = earlier->work->reads;
    auto first = static_cast<char *>(reads.begin);
    earlier->isReused |= reads.bytes && first < begin + writes.bytes &&
                         begin < first + reads.bytes;
    work.insert(work.end(), earlier->after.begin(), earlier->after.end());
  }
}

void Machine::perform(Operation &operation) {
  FakeContext &context = *operation.context;
  lastProgress = 0;
  if (context.error || context.isReleased || !operation.work->run)
    return;
  std::string what = operation.describe();
  ppopt::fake::Running running(-1, what.c_str());
  try {
    if (operation.work->reads.bytes &&
        checksum(operation.work->reads) != operation.checksum)
      refuse(DriverResult::illegalAddress,
             "the host changed the {} bytes that it reads before it ran",
             operation.work->reads.bytes);
    operation.work->run();
    if (operation.work->writes.bytes)
      reuse(operation);
  } catch (const Failure &failure) {
    fail(context, DriverResult(failure.code), what + ": " + failure.message);
  }
}

void Machine::fail(FakeContext &context, DriverResult code,
                   const std::string &message) {
  if (context.error)
    return;
  context.error = int(code);
  say(message);
}

/// The host knows that an operation is done, and all before it.
void Machine::see(Operation &first) {
  std::vector<OperationRef> work(first.after);
  auto visit = [&](Operation &operation) {
    if (operation.isSeen)
      return;
    operation.isSeen = true;
    const HostBytes &reads = operation.work->reads;
    bool isPart = false;
    if (reads.bytes && !operation.isReused && !operation.context->error &&
        pinned.holds(reads.begin, reads.bytes, isPart) &&
        checksum(reads) != operation.checksum)
      fail(*operation.context, DriverResult::illegalAddress,
           fmt::format("{}: the host changed the {} bytes that it reads before "
                       "it synchronized with it",
                       operation.describe(), reads.bytes));
    for (OperationRef &earlier : std::exchange(operation.after, {}))
      work.push_back(std::move(earlier));
  };
  visit(first);
  while (!work.empty()) {
    OperationRef operation = std::move(work.back());
    work.pop_back();
    visit(*operation);
  }
}

void Machine::runUntil(const std::vector<OperationRef> &wanted) {
  auto isDone = [&] {
    return std::all_of(wanted.begin(), wanted.end(),
                       [](const OperationRef &each) { return each->isDone; });
  };
  bool isProgress = false;
  while (!isDone()) {
    if (operations.runOne()) {
      isProgress = true;
      continue;
    }
    if (std::exchange(isProgress, false))
      changed.notify_all();
    wait("");
  }
  if (isProgress)
    changed.notify_all();
}

void Machine::synchronize(FakeContext &context,
                          const std::vector<OperationRef> &wanted) {
  ++counters.hostSynchronizations;
  std::vector<OperationRef> operationsWanted = wanted;
  runUntil(operationsWanted);
  for (const OperationRef &operation : operationsWanted)
    see(*operation);
  if (context.error)
    throw Failure{context.error, ""};
}

void Machine::drain(FakeContext &context) {
  std::vector<OperationRef> own;
  for (const OperationRef &operation : operations.pending())
    if (operation->context == &context)
      own.push_back(operation);
  runUntil(own);
}

//===----------------------------------------------------------------------===//
// Waiting for other threads
//===----------------------------------------------------------------------===//

std::string Machine::describePending() const {
  std::string text;
  for (const OperationRef &operation : operations.pending()) {
    bool isFirst = std::all_of(
        operation->after.begin(), operation->after.end(),
        [](const OperationRef &earlier) { return earlier->isDone; });
    if (isFirst)
      text += "\n  " + operation->describe() + " waits for others";
  }
  return text;
}

void Machine::wait(const std::string &what) {
  ++waitingThreads;
  if (rankThreads > 0 && waitingThreads >= rankThreads)
    die("deadlock: all ranks wait, and nothing can run:" + describePending());
  auto since = std::chrono::steady_clock::now();
  bool isChanged =
      changed.wait_for(*held,
                       std::chrono::duration<double>(settings.patience)) ==
      std::cv_status::no_timeout;
  if (!isChanged)
    die(fmt::format("nothing can run for {} seconds:{}",
                    std::chrono::duration_cast<std::chrono::seconds>(
                        std::chrono::steady_clock::now() - since)
                        .count(),
                    describePending()));
  --waitingThreads;
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

void Machine::writeReport() const {
  std::string calls;
  for (const auto &[symbol, count] : counters.calls)
    calls +=
        fmt::format("{}\"{}\": {}", calls.empty() ? "" : ", ", symbol, count);
  int64_t discarded = 0;
  for (const OperationRef &operation : operations.pending())
    discarded += bool(operation->work->run);
  std::string line = fmt::format(
      "{{\"calls\": {{{}}}, \"launches\": {}, \"graph launches\": {}, "
      "\"matmuls\": {}, \"collectives\": {}, \"bytes in\": {}, \"bytes out\": "
      "{}, \"bytes within\": {}, \"host synchronizations\": {}, \"most bytes "
      "allocated\": {}, \"most bytes pinned\": {}, \"never ran\": {}}}\n",
      calls, counters.launches, counters.graphLaunches, counters.matmuls,
      counters.collectives, counters.bytesIn, counters.bytesOut,
      counters.bytesWithin, counters.hostSynchronizations,
      counters.mostAllocated, counters.mostPinned, discarded);
  if (std::FILE *file = std::fopen(settings.report.c_str(), "a")) {
    std::fputs(line.c_str(), file);
    std::fclose(file);
  } else {
    std::perror(settings.report.c_str());
  }
}

} // namespace ppopt::cuda::fake
