//===- executor.h - Runs a rank's actions ---------------------------------===//
//
// One step of training is the rank's `actions`, one evaluation batch its
// `eval_actions` (docs/program.md). All ranks of a job call these functions the
// same number of times in the same order, each from the thread that made its
// ppopt_rank. Before a call the rank's inputs lie in the arena
// (ppopt_rank::inputs). Nothing is allocated unless there is something to
// report.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_EXECUTOR_H
#define PPOPT_RUNTIME_EXECUTOR_EXECUTOR_H

#include <cstdint>
#include <string>

struct ppopt_rank;

namespace ppopt::runtime {

class StepTrace;
struct Action;

/// What the actions of one step depend on besides the arena; goes into the
/// ppopt_step_state. Adam's bias corrections follow from beta1, beta2 and
/// updates.
struct StepSettings {
  double learningRate = 0; ///< of this step: warm-up and decay applied
  double weightDecay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0;
  double clip = 0;  ///< largest global gradient norm; 0: gradients stay as is
  int64_t seed = 0; ///< of dropout
  int64_t updates = 0; ///< optimizer steps finished before this one
  int64_t step = 0;    ///< in training, from 0: names it in messages and traces
};

struct ExecutorOptions {
  /// Compare the counters of every step that was not skipped with the program's
  /// "predicted", and throw Error where they differ. (Bytes are compared with
  /// the built-in collectives only.)
  bool checkPredicted = false;
  /// Overwrite what an action leaves dead with bytes 0xFF.
  bool poison = false;
  /// Where to record what ran when in steps; null: nowhere.
  StepTrace *trace = nullptr;
};

struct StepResult {
  /// Of the global batch, exact: an f32 loss is the double that equals it, so
  /// that "%a" of it names the bits. NaN if the step was skipped before its
  /// loss was known (see `skipped`).
  double loss = 0;
  /// Global, before clipping; NaN if the step has no action "norm" or was
  /// skipped before it.
  double gradNorm = 0;
  /// Empty if the parameters were updated, else why not: a sentence for the
  /// log. The same on all ranks.
  std::string skipped;
  /// It was skipped because the loss or the norm is infinite or NaN.
  bool isBad = false;
  // Of this rank in this step.
  int64_t launches = 0, flops = 0, bytesSent = 0;
  double seconds = 0, waitedSeconds = 0; ///< in all, and in waits of it
};

struct EvalResult {
  double loss = 0;     ///< of the evaluation batch; NaN if skipped
  std::string skipped; ///< empty, or why there is no loss
  bool isBad = false;  ///< skipped because of an id that is out of range
};

/// One step. Where the loss or the gradient norm is not finite no rank updates
/// anything. Throws Error for counters that differ from the prediction.
StepResult runStep(ppopt_rank &rank, const StepSettings &settings,
                   const ExecutorOptions &options);

/// Chooses what of a step is run again, and looks at it.
class StepObserver {
public:
  virtual ~StepObserver() = default;
  /// All ranks leave out both ends of a transfer, and all parts of a sum.
  virtual bool leavesOut(const Action &action) = 0;
  virtual void performed(const Action &action) = 0;
};

/// The actions of the last step once more, on the same inputs, called by all
/// ranks. They compute the same as long as the observer leaves out the updates
/// and nothing was updated in that step.
void replayStep(ppopt_rank &rank, const StepSettings &settings,
                StepObserver &observer);

/// One evaluation batch: dropout off, parameters and optimizer untouched. Only
/// `settings.seed` and `settings.updates` matter. A non-finite loss is returned
/// as it is.
EvalResult runEvaluation(ppopt_rank &rank, const StepSettings &settings,
                         const ExecutorOptions &options);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_EXECUTOR_H
