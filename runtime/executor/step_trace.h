//===- step_trace.h - A timeline of the last steps ------------------------===//
//
// Records when each run, wait, transfer and sum of a rank's steps began and
// ended and, if asked for, each launch inside the runs. The memory is allocated
// before the first step, so recording allocates nothing. When it is full, the
// oldest step is overwritten.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STEP_TRACE_H
#define PPOPT_RUNTIME_EXECUTOR_STEP_TRACE_H

#include "comm/channels.h"
#include "program/program.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace ppopt::runtime {

using Clock = std::chrono::steady_clock;

struct Span {
  Clock::time_point begin, end;
};

struct TracedAction : Span {
  const Action *action; ///< a run or a wait; or the start of an operation
  /// If set, this is no action but what happened to a collective inside the run
  /// `action`: it was in flight or, with `isWait`, the task waited for it.
  const TaskCollective *collective = nullptr;
  bool isWait = false;
};

/// What a task called inside a run.
struct TracedCall : Span {
  enum Kind { kernel, matmul, start } kind;
  int64_t number; ///< of the program's kernels, matmuls or collectives
  const Action *run;
};

struct TracedStep : Span {
  int64_t number = 0;                ///< from 1; 0: empty
  std::vector<TracedAction> actions; ///< in the order of their ends or starts
  std::vector<TracedCall> calls;     ///< in the order of time
};

class StepTrace final : public comm::OperationObserver {
public:
  /// Keeps the last `steps` steps of these actions of the program. Records what
  /// tasks call if `launches`, the number of launches of a step, is given.
  StepTrace(const Program &program, const std::vector<Action> &actions,
            int64_t steps, std::optional<int64_t> launches = std::nullopt);

  bool recordsCalls() const { return wantsCalls; }

  void beginStep(int64_t number);
  void endStep();
  /// Records an action of the rank's own thread.
  void record(const Action &action, Clock::time_point begin,
              Clock::time_point end);
  /// Records what a run waited for one of its collectives.
  void recordWait(const Action &run, const TaskCollective &collective,
                  Clock::time_point begin, Clock::time_point end);
  /// The calls and collectives from now on are those of this run.
  void enterRun(const Action &newRun) { run = &newRun; }
  /// Records a call of the run; only if recordsCalls().
  void recordCall(TracedCall::Kind kind, int64_t number,
                  Clock::time_point begin, Clock::time_point end);
  /// Record the start of an operation, and when it is known to be complete,
  /// also if its step has ended by then. What begins between steps is ignored,
  /// and so is its end: evaluations use the same communicator.
  void began(int operation) override;
  void ended(int operation) override;
  bool hasOperationsInFlight() const { return operationsInFlight > 0; }

  /// Returns the steps from the oldest to the newest.
  std::vector<const TracedStep *> steps() const;
  /// Returns the action that starts an operation of these actions.
  const Action &startOf(int64_t operation) const { return *starts[operation]; }

private:
  /// Where the start of an operation is recorded.
  struct Begun {
    TracedStep *step = nullptr; ///< null: it is not in flight
    int64_t number = 0;         ///< another one if the step was overwritten
    size_t action = 0;
  };

  const bool wantsCalls;
  bool isInStep = false;
  const Action *run = nullptr;
  std::vector<TracedStep> ring;
  size_t current = 0;
  // By operation; null: it is not of that kind.
  std::vector<const Action *> starts;
  std::vector<const TaskCollective *> collectives;
  std::vector<Begun> begun; ///< by operation
  int operationsInFlight = 0;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STEP_TRACE_H
