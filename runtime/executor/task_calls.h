//===- task_calls.h - Calls of tasks, and what they call back -------------===//
//
// A rank calls its tasks here, and here are the functions that they call
// through the C ABI (ppopt/runtime.h). Exceptions must not pass through
// compiled code: the first failure inside a task is kept, calls do nothing
// after it, and whoever has called the task gets it.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_TASK_CALLS_H
#define PPOPT_RUNTIME_EXECUTOR_TASK_CALLS_H

#include "device/device.h"
#include "executor/step_profile.h"
#include "executor/step_trace.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <cstdint>
#include <exception>
#include <vector>

namespace ppopt::runtime {

/// Counted since the rank was made.
struct Counters {
  int64_t launches = 0; ///< ppopt_launch and ppopt_matmul calls
  int64_t flops = 0;    ///< of matmuls, including those in kernels
};

/// A call of ppopt_matmul.
struct MatmulCall {
  int32_t matmul;
  device::DevicePointer a, b, c, workspace;
};

class TaskCalls {
public:
  /// `tasks` is the executable's. The rank has its places.
  TaskCalls(ppopt_rank &rank, const ppopt_task_fn *tasks);

  /// Calls the task of a run. Throws what has failed in it.
  void run(const Action &action);
  /// Calls a task whose launches are no part of the step that is computed: they
  /// are not counted, measured or traced, and do not progress the background.
  /// If a launch of the step runs, they run on this thread alone.
  void runAside(int64_t task, void *const *args, char *temps);
  /// Returns the matmuls that the tasks of these actions launch. Nothing runs.
  std::vector<MatmulCall> listMatmuls(const std::vector<Action> &actions);

  const Counters &counters() const { return counted; }
  void setCounters(const Counters &counters) { counted = counters; }
  /// Whether to overwrite what tasks release.
  void setPoison(bool isOn) { poison = isOn; }
  /// Nothing of what has failed has run.
  void forgetFailure() { failure = nullptr; }

  // For the functions of the ABI.
  void launch(int32_t kernel, ppopt_kernel_fn fn, void *const *args,
              int64_t tiles);
  void matmul(const MatmulCall &call);
  bool poisons() const { return poison; }
  /// Calls `call`, unless a call has failed or nothing runs. Keeps its failure.
  template <typename Call> void guard(const Call &call) {
    if (failure || mode == Mode::List)
      return;
    try {
      call();
    } catch (...) {
      failure = std::current_exception();
    }
  }

private:
  enum class Mode {
    Step,
    Aside,             ///< between launches
    AsideWithinLaunch, ///< the rank's other threads are busy
    List               ///< matmuls, and nothing runs
  };
  class ProgressInside;

  void call(const Action &action);
  template <typename Launch>
  void perform(TracedCall::Kind kind, int32_t number, ProfileLine *line,
               int64_t flops, const Launch &launch);
  template <typename Launch>
  void trace(TracedCall::Kind kind, int32_t number, ProfileLine *line,
             const Launch &launch);
  template <typename Launch>
  void measure(ProfileLine *line, const Launch &launch);
  void progress();

  ppopt_rank &rank;
  const ppopt_task_fn *const tasks;
  std::vector<void *> arguments; ///< of the running task; sized once
  Mode mode = Mode::Step;
  std::vector<MatmulCall> listed;
  bool poison = false;
  Counters counted;
  std::exception_ptr failure;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_TASK_CALLS_H
