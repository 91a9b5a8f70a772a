//===- machine.h - The fake GPUs of this process --------------------------===//
//
// What the fake libraries share. libcuda.so.1 has it; the others call it there.
// One lock is held in each call of a library, so ranks may be threads.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_DEVICE_FAKE_MACHINE_H
#define PPOPT_TEST_DEVICE_FAKE_MACHINE_H

#include "device/cuda/driver_api.h"
#include "fake/memory.h"
#include "fake/operations.h"
#include "fake/settings.h"

#include <chrono>
#include <condition_variable>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#define PPOPT_FAKE_EXPORT __attribute__((visibility("default")))

namespace ppopt::cuda::fake {

/// Ends a call with a code of its library. A message is printed.
struct PPOPT_FAKE_EXPORT Failure {
  int code;
  std::string message;
};

template <typename... Args>
[[noreturn]] void refuse(DriverResult code, fmt::format_string<Args...> format,
                         Args &&...args) {
  throw Failure{int(code), fmt::format(format, std::forward<Args>(args)...)};
}
[[noreturn]] inline void refuse(DriverResult code) {
  throw Failure{int(code), ""};
}

struct Capture;

struct FakeGpu {
  int number = 0; ///< of the machine
  GpuSettings settings;
  Uuid uuid = {};
  std::string uuidText;
  FakeContext *context = nullptr; ///< its primary context, if it is retained
  int retained = 0;
  /// Calls of NCCL outside of groups, and groups with calls.
  int64_t ncclCalls = 0;
};

/// The primary context of a GPU. Those that are released stay, without memory.
struct FakeContext {
  FakeGpu *gpu = nullptr;
  Allocations memory;
  int allocations = 0, streams = 0;
  /// Of the first operation that failed. Later ones do not run.
  int error = 0;
  bool isReleased = false;
  ppopt::fake::LastOperations last;
  std::set<std::string> loaded; ///< code

  std::string name() const { return fmt::format("GPU {}", gpu->number); }
};

struct FakeStream {
  FakeContext *context = nullptr;
  int number = 0;
  int64_t operations = 0;
  /// What the next operation comes after.
  std::vector<OperationRef> tail;
  std::shared_ptr<Capture> capture; ///< while it is captured
  std::vector<int> captureTail;     ///< nodes

  std::string name() const {
    return fmt::format("stream {} of {}", number, context->name());
  }
};

struct FakeEvent {
  FakeContext *context = nullptr;
  bool isTimed = false;
  OperationRef at;                  ///< the last record, or null
  std::shared_ptr<Capture> capture; ///< that has the last record
  std::vector<int> captureAt;       ///< nodes
};

/// Handles of one type. None is given out twice.
template <typename Handle, typename Object> class Handles {
public:
  explicit Handles(uintptr_t first) : next(first) {}

  Handle add(std::unique_ptr<Object> object) {
    auto handle = reinterpret_cast<Handle>(next += 16);
    objects[handle] = std::move(object);
    return handle;
  }
  /// Refuses what is no handle.
  Object &at(Handle handle, const char *type) {
    auto found = objects.find(handle);
    if (found == objects.end())
      refuse(DriverResult::invalidHandle,
             "{} is no {}, or one that is destroyed",
             static_cast<const void *>(handle), type);
    return *found->second;
  }
  std::unique_ptr<Object> remove(Handle handle, const char *type) {
    at(handle, type);
    std::unique_ptr<Object> object = std::move(objects[handle]);
    objects.erase(handle);
    return object;
  }
  std::map<Handle, std::unique_ptr<Object>> objects;

private:
  uintptr_t next;
};

struct FakeModule;
struct FakeFunction;
struct FakeGraph;
struct FakeGraphExec;

struct Counters {
  std::map<std::string, int64_t> calls; ///< by symbol
  /// Calls of matmuls, by GPU and algorithm: "GPU 0 split".
  std::map<std::string, int64_t> algorithms;
  int64_t launches = 0, graphLaunches = 0, matmuls = 0;
  /// Those of NCCL, again in each launch of a graph. Transfers are counted at
  /// the sender; of a collective the bytes are those of the larger buffer.
  int64_t collectives = 0, collectiveBytes = 0;
  int64_t transfers = 0, transferBytes = 0;
  int64_t bytesIn = 0, bytesOut = 0, bytesWithin = 0, hostSynchronizations = 0;
  size_t mostAllocated = 0, mostPinned = 0, pinned = 0;
};

class PPOPT_FAKE_EXPORT Machine {
public:
  /// The only one. It is made by the first call, and never destroyed.
  static Machine &get();

  Settings settings;
  bool isInitialized = false; ///< cuInit was called
  std::vector<std::unique_ptr<FakeGpu>> gpus;
  std::vector<FakeGpu *> visible;
  std::vector<std::unique_ptr<FakeContext>> contexts;
  PinnedMemory pinned;
  Handles<Stream, FakeStream> streams{0x51000000};
  Handles<Event, FakeEvent> events{0x52000000};
  Handles<Module, FakeModule> modules{0x53000000};
  Handles<Function, FakeFunction> functions{0x54000000};
  Handles<Graph, FakeGraph> graphs{0x55000000};
  Handles<GraphExec, FakeGraphExec> graphExecs{0x56000000};
  Operations operations;
  Counters counters;

  /// Runs the body of a call with the lock; returns `success` (0) or the code
  /// of its Failure.
  int call(const char *symbol, const std::function<void()> &body);
  /// The context of the calling thread; refuses if there is none.
  FakeContext &current();
  /// As current(), and returns the error of an operation that failed.
  FakeContext &working();
  FakeStream &stream(Stream handle);
  /// Returns the storage of bytes of a GPU; refuses what is not in one
  /// allocation. `operand`: "the destination".
  char *storage(FakeContext &context, DeviceMemory at, size_t bytes,
                const char *operand, const std::string &operation);

  /// Adds work to a stream, or to the graph that is captured.
  void enqueue(FakeStream &stream, WorkRef work);
  /// Adds works, one after the other, after all that the streams have; what
  /// the streams get later comes after them. All streams are captured in one
  /// graph, or none is.
  void enqueue(const std::vector<FakeStream *> &joined,
               const std::vector<WorkRef> &works);
  /// Adds an operation that comes after others.
  OperationRef enqueue(FakeContext &context, WorkRef work, std::string where,
                       std::vector<OperationRef> after);
  /// Runs operations until these are done, and returns an error of the context.
  /// The host knows then that they are.
  void synchronize(FakeContext &context,
                   const std::vector<OperationRef> &wanted);
  /// Runs operations until these are done. `what`: who waits for them.
  void runUntil(const std::vector<OperationRef> &wanted,
                const std::string &what = "");
  /// Runs operations until no operation of the context is left.
  void drain(FakeContext &context, const std::string &what = "");
  /// Says that an operation of the context failed.
  void fail(FakeContext &context, DriverResult code,
            const std::string &message);
  /// Lets an operation run for which something else was a blocker.
  void unblock(const OperationRef &operation);

  /// The driver loads code that an operation of the context needs, when it is
  /// first enqueued. If other threads of the process have GPUs, it waits for
  /// all that this GPU was given, and they wait for the driver. `code`: whose
  /// it is.
  void loadCode(FakeContext &context, const std::string &code);

  /// Something changed for which threads may wait.
  void notify();
  /// Lets others call until something changes. Ends the process with a message
  /// if nothing can change any more, or does within the patience. `what`: who
  /// waits for what; empty where pending operations say it.
  void wait(const std::string &what);
  /// Ends the process where the calling thread would wait for what it alone
  /// could do.
  [[noreturn]] void waitForever(const std::string &what);
  /// As wait(); returns false if nothing changed until then. Such a thread does
  /// not count as one that waits for others that are known.
  bool waitUntil(std::chrono::steady_clock::time_point deadline);
  /// How long to wait for others.
  std::chrono::milliseconds patience() const {
    return std::chrono::milliseconds(int64_t(1000 * settings.patience));
  }
  /// The threads in wait() since the last change, and what they wait for.
  std::map<int64_t, std::string> waiting;
  /// Returns whether all threads that could change something are waiting.
  std::function<bool()> isStuck;

  /// Runs the body with the lock, outside of the calls of a library.
  void deliver(const std::function<void()> &body);
  /// Called when the process ends, with its status and without the lock.
  /// Returns false if it has printed an error.
  std::vector<std::function<bool(int status)>> atEnd;

  void say(const std::string &message);
  /// Says what each stream waits for.
  std::string describePending() const;

  /// Returns whether a plant is for the call with that number, counted for a
  /// GPU or, without one, for all.
  bool isPlanted(Plant::Kind kind, int64_t number, int gpu = -1) const;
  /// Returns whether a call is to be ignored.
  bool isDropped(Plant::Kind kind, const char *symbol);
  /// Returns whether launches of a kernel are to be ignored.
  bool isDropped(const std::string &kernel, const FakeGpu &gpu) const;

private:
  class Held;
  Machine();
  void end(int status);
  void writeReport() const;
  void perform(Operation &operation);
  void see(Operation &operation);
  void awaitDriver();

  std::mutex lock;
  std::condition_variable changed;
  int64_t loader = 0;     ///< the thread in loadCode(), or 0
  bool isChanged = false; ///< and nobody has been told
  int64_t changes = 0;    ///< that were told
};

/// A number of the calling thread that no other thread gets.
PPOPT_FAKE_EXPORT int64_t threadNumber();

/// The context that is current in the calling thread, or null.
PPOPT_FAKE_EXPORT FakeContext *&currentContext();

} // namespace ppopt::cuda::fake

#endif // PPOPT_TEST_DEVICE_FAKE_MACHINE_H
