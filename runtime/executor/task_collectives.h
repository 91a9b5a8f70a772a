//===- task_collectives.h - Collectives that tasks start and wait for -----===//
//
// What ppopt_start and ppopt_wait do.
//
// A task starts its collectives in the order of the program's entries, each
// once, and waits for them before it ends. So each is in flight at most once.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_TASK_COLLECTIVES_H
#define PPOPT_RUNTIME_EXECUTOR_TASK_COLLECTIVES_H

#include "device/device.h"
#include "program/program.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::runtime {

class PhaseBoard;
class StepObserver;
class StepTrace;

class TaskCollectives {
public:
  using Clock = std::chrono::steady_clock;

  explicit TaskCollectives(ppopt_rank &rank) : rank(rank) {}

  /// Defines the collectives of the rank's tasks. Called once, after those of
  /// its actions are defined.
  void define();

  /// In the runs from now on, records in the trace, publishes on the board, and
  /// shows the observer what goes in and comes out; null: nowhere.
  void observe(StepTrace *newTrace, PhaseBoard *newBoard,
               StepObserver *newObserver = nullptr) {
    trace = newTrace;
    board = newBoard;
    observer = newObserver;
  }

  /// Call around each run of a task. endTask() throws Error if the task has not
  /// started or not waited for one of its collectives.
  void beginTask(const Action &newRun);
  void endTask() const;

  // Called by the running task. Throw Error if the collective is not the next
  // one of the task, or not in flight; RankFailure if a rank has failed.
  void start(int64_t number, device::DevicePointer in,
             device::DevicePointer out, device::DevicePointer scratch);
  void wait(int64_t number);

  /// Returns how long tasks have waited since the rank was made.
  Clock::duration waited() const { return waitedTime; }

private:
  struct Entry {
    int operation = -1;     ///< of the communicator; -1: of another place
    int64_t chunkBytes = 0; ///< of this rank
    bool isInFlight = false;
    device::DevicePointer result; ///< of what is in flight
  };
  /// The entries of a task.
  struct Range {
    size_t begin = 0, end = 0;
  };
  const std::string &taskName() const;
  void checkNext(int64_t number) const;
  void define(size_t number);
  void block(const TaskCollective &collective, int operation);

  ppopt_rank &rank;
  std::vector<Entry> entries; ///< as Program::collectives
  std::vector<Range> ofTask;
  StepTrace *trace = nullptr;
  PhaseBoard *board = nullptr;
  StepObserver *observer = nullptr;
  const Action *run = nullptr; ///< of the task that runs
  size_t next = 0;             ///< the entry that it starts next
  int inFlight = 0;
  Clock::duration waitedTime{};
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_TASK_COLLECTIVES_H
