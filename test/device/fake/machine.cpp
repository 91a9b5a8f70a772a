//===- machine.cpp - The fake GPUs of this process ------------------------===//

#include "fake/machine.h"

#include "fake/graphs.h"
#include "fake/modules.h"

#include <algorithm>
#include <atomic>
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

int64_t threadNumber() {
  static std::atomic<int64_t> last{0};
  thread_local int64_t own = ++last;
  return own;
}

Machine &Machine::get() {
  static Machine *machine = new Machine;
  return *machine;
}

Machine::Machine()
    : settings(readSettingsOrDie()),
      operations(settings.seed,
                 [this](Operation &operation) { perform(operation); }) {
  operations.countsTime = !settings.matmulMicroseconds.empty();
  std::vector<std::string> uuids;
  for (size_t i = 0; i < settings.gpus.size(); ++i) {
    auto &gpu = gpus.emplace_back(std::make_unique<FakeGpu>());
    gpu->number = int(i);
    gpu->settings = settings.gpus[i];
    for (int byte = 0; byte < 16; ++byte)
      gpu->uuid.bytes[byte] =
          char(byte < 15                ? 0xa0 + byte
               : gpu->settings.uuid < 0 ? int(i)
                                        : gpu->settings.uuid);
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
  on_exit([](int status, void *) { get().end(status); }, nullptr);
}

void Machine::say(const std::string &message) {
  std::fprintf(stderr, "error: fake CUDA: %s\n", message.c_str());
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Has the lock; at the end, threads that wait learn of what changed.
class Machine::Held {
public:
  explicit Held(Machine &machine)
      : machine(machine), own(machine.lock), outer(std::exchange(held, &own)) {}
  ~Held() {
    if (machine.isChanged)
      machine.notify();
    held = outer;
  }
  Held(const Held &) = delete;
  Held &operator=(const Held &) = delete;

private:
  Machine &machine;
  std::unique_lock<std::mutex> own, *outer;
};

int Machine::call(const char *symbol, const std::function<void()> &body) {
  Held own(*this);
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

bool Machine::isPlanted(Plant::Kind kind, int64_t number, int gpu) const {
  return std::any_of(
      settings.plants.begin(), settings.plants.end(), [&](const Plant &plant) {
        return plant.kind == kind && plant.number == number && plant.gpu == gpu;
      });
}

bool Machine::isDropped(Plant::Kind kind, const char *symbol) {
  return isPlanted(kind, counters.calls[symbol]);
}

bool Machine::isDropped(const std::string &kernel, const FakeGpu &gpu) const {
  return std::any_of(settings.plants.begin(), settings.plants.end(),
                     [&](const Plant &plant) {
                       return plant.kind == Plant::Kind::dropLaunch &&
                              plant.symbol == kernel && plant.gpu == gpu.number;
                     });
}

void Machine::deliver(const std::function<void()> &body) {
  Held own(*this);
  body();
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
  enqueue({&stream}, {std::move(work)});
}

void Machine::loadCode(FakeContext &context, const std::string &code) {
  if (!context.loaded.insert(code).second)
    return;
  bool isShared =
      std::count_if(contexts.begin(), contexts.end(),
                    [](const auto &each) { return !each->isReleased; }) > 1;
  if (!isShared)
    return;
  awaitDriver();
  loader = threadNumber();
  drain(context, fmt::format("thread {} has the driver, which loads the code "
                             "of {} once all that {} was given is done",
                             loader, code, context.name()));
  loader = 0;
  notify();
}

/// Waits until no other thread has the driver.
void Machine::awaitDriver() {
  while (loader && loader != threadNumber())
    wait(fmt::format("thread {} waits for the driver, which thread {} has",
                     threadNumber(), loader));
}

void Machine::enqueue(const std::vector<FakeStream *> &joined,
                      const std::vector<WorkRef> &works) {
  awaitDriver();
  std::string where;
  std::vector<OperationRef> tail;
  std::vector<int> captureTail;
  for (FakeStream *stream : joined) {
    where += fmt::format("{}operation {} of {}", where.empty() ? "" : ", ",
                         ++stream->operations, stream->name());
    tail.insert(tail.end(), stream->tail.begin(), stream->tail.end());
    captureTail.insert(captureTail.end(), stream->captureTail.begin(),
                       stream->captureTail.end());
  }
  Capture *capture = joined.front()->capture.get();
  for (const WorkRef &work : works)
    if (capture)
      captureTail = {capture->add(work, where, std::move(captureTail))};
    else
      tail = {enqueue(*joined.front()->context, work, where, std::move(tail))};
  for (FakeStream *stream : joined)
    if (capture)
      stream->captureTail = captureTail;
    else
      stream->tail = tail;
  if (!capture)
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
  isChanged = true;
  return operation;
}

void Machine::unblock(const OperationRef &operation) {
  operations.unblock(operation);
  isChanged = true;
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
  isChanged = true;
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

void Machine::runUntil(const std::vector<OperationRef> &wanted,
                       const std::string &what) {
  auto isDone = [&] {
    return std::all_of(wanted.begin(), wanted.end(),
                       [](const OperationRef &each) { return each->isDone; });
  };
  while (!isDone())
    if (!operations.runOne())
      wait(what);
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

void Machine::drain(FakeContext &context, const std::string &what) {
  std::vector<OperationRef> own;
  for (const OperationRef &operation : operations.pending())
    if (operation->context == &context)
      own.push_back(operation);
  runUntil(own, what);
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
      text += "\n  " + operation->describe() + " waits for " +
              (operation->waitsFor ? operation->waitsFor() : "others");
  }
  for (const auto &[thread, what] : waiting)
    if (!what.empty())
      text += "\n  " + what;
  return text;
}

// Who waits has seen all changes before, so the threads that wait since the
// last change have all found that they can't go on.
void Machine::notify() {
  isChanged = false;
  ++changes;
  waiting.clear();
  changed.notify_all();
}

void Machine::wait(const std::string &what) {
  if (isChanged)
    notify();
  waiting[threadNumber()] = what;
  if (isStuck && isStuck())
    die("deadlock: all ranks wait, and nothing can run:" + describePending());
  int64_t seen = changes;
  if (!changed.wait_for(*held, patience(), [&] { return changes != seen; }))
    die(fmt::format("nothing can run for {} seconds:{}", settings.patience,
                    describePending()));
}

void Machine::waitForever(const std::string &what) { die("deadlock: " + what); }

bool Machine::waitUntil(std::chrono::steady_clock::time_point deadline) {
  if (isChanged)
    notify();
  int64_t seen = changes;
  return changed.wait_until(*held, deadline, [&] { return changes != seen; });
}

//===----------------------------------------------------------------------===//
// The end of the process
//===----------------------------------------------------------------------===//

void Machine::end(int status) {
  bool isRight = true;
  for (const auto &check : atEnd)
    isRight &= check(status);
  deliver([&] {
    if (!settings.report.empty())
      writeReport();
  });
  if (isRight)
    return;
  std::fflush(nullptr);
  _exit(ppopt::fake::faultStatus);
}

void Machine::writeReport() const {
  std::string calls;
  for (const auto &[symbol, count] : counters.calls)
    calls +=
        fmt::format("{}\"{}\": {}", calls.empty() ? "" : ", ", symbol, count);
  std::string algorithms;
  for (const auto &[name, count] : counters.algorithms)
    algorithms += fmt::format("{}\"{}\": {}", algorithms.empty() ? "" : ", ",
                              name, count);
  int64_t discarded = 0;
  for (const OperationRef &operation : operations.pending())
    discarded += bool(operation->work->run);
  std::string line = fmt::format(
      "{{\"calls\": {{{}}}, \"algorithms\": {{{}}}, \"launches\": {}, \"graph "
      "launches\": {}, "
      "\"matmuls\": {}, \"collectives\": {}, \"collective bytes\": {}, "
      "\"transfers\": {}, \"transfer bytes\": {}, \"bytes in\": {}, \"bytes "
      "out\": {}, \"bytes within\": {}, \"host synchronizations\": {}, \"most "
      "bytes allocated\": {}, \"most bytes pinned\": {}, \"never ran\": "
      "{}}}\n",
      calls, algorithms, counters.launches, counters.graphLaunches,
      counters.matmuls, counters.collectives, counters.collectiveBytes,
      counters.transfers, counters.transferBytes, counters.bytesIn,
      counters.bytesOut, counters.bytesWithin, counters.hostSynchronizations,
      counters.mostAllocated, counters.mostPinned, discarded);
  if (std::FILE *file = std::fopen(settings.report.c_str(), "a")) {
    std::fputs(line.c_str(), file);
    std::fclose(file);
  } else {
    std::perror(settings.report.c_str());
  }
}

} // namespace ppopt::cuda::fake
