//===- executor.h - Runs a rank's actions ---------------------------------===//
//
// One training step runs the rank's `actions`, one evaluation batch its
// `eval_actions` (docs/program.md). All ranks of a job call these functions the
// same number of times in the same order, each from the thread that made its
// ppopt_rank. The rank's inputs must be in the arena before a call
// (ppopt_rank::inputs). Allocates only to report something.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_EXECUTOR_H
#define PPOPT_RUNTIME_EXECUTOR_EXECUTOR_H

#include "device/device.h"
#include "executor/metric_sums.h"
#include "ppopt/runtime.h"
#include "program/program.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::runtime {

class StepTrace;

/// The inputs of a step besides the arena; stored in the ppopt_step_state.
/// Adam's bias corrections follow from beta1, beta2 and updates.
struct StepSettings {
  double learningRate = 0; ///< of this step, after warm-up and decay
  double weightDecay = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  double momentum = 0;
  double averageDecay = 0; ///< of the average of the parameters, per update
  double clip = 0;         ///< largest global gradient norm; 0: no clipping
  int64_t seed = 0;        ///< of dropout
  int64_t updates = 0;     ///< optimizer steps finished before this one
  int64_t step = 0;        ///< from 0, in training; for messages and traces
};

/// Returns the step state as the host writes it: what a step decides is NaN.
ppopt_step_state stepStateOf(const StepSettings &settings);

struct ExecutorOptions {
  /// Compare the counters of every step that was not skipped with the program's
  /// "predicted", and throw Error if they differ. (Compares bytes only with the
  /// built-in collectives.)
  bool checkPredicted = false;
  /// Fill what is dead after an action with bytes 0xFF.
  bool poison = false;
  /// Where to record the timeline of steps; null: nowhere. It must live until
  /// finishSteps() if steps leave operations in flight.
  StepTrace *trace = nullptr;
};

struct StepResult {
  /// The loss of the global batch, exact: an f32 loss is converted to the equal
  /// double, so that "%a" prints its bits. NaN if a count of the batch is zero
  /// (see `skipped`).
  double loss = std::numeric_limits<double>::quiet_NaN();
  /// The global norm before clipping. NaN if nothing learns, or a count is
  /// zero.
  double gradNorm = std::numeric_limits<double>::quiet_NaN();
  /// Empty if the parameters were updated, else the reason in words, for the
  /// log. The same on all ranks.
  std::string skipped;
  /// The step was skipped because the loss or the norm is infinite or NaN.
  bool isBad = false;
  // Of this rank in this step. Bytes are those of the operations that it
  // started, also of those that it left in flight.
  int64_t launches = 0, flops = 0, bytesSent = 0;
  double seconds = 0, waitedSeconds = 0; ///< the whole step, and its waits
};

/// A batch of an evaluation, or a trainer's part of one.
struct EvaluatedBatch {
  int64_t batch, part;
  int64_t rows; ///< that count: its first ones
};

/// Batches that somebody else holds.
struct EvaluatedBatches {
  const EvaluatedBatch *data;
  size_t size;
};

/// Whose rows an evaluation is over.
struct Evaluation {
  /// Batches whose sums of inputs this rank adds up, and those of which it
  /// computes the loss.
  EvaluatedBatches summed, computed;
  int64_t rows;    ///< of all batches, whoever computes them
  int64_t batches; ///< of all trainers
  /// Fills the inputs; `next` (may be null) is filled after it.
  std::function<void(const EvaluatedBatch &batch, const EvaluatedBatch *next)>
      fill;
  /// Asked by all ranks together before each batch that is computed.
  std::function<bool()> stops;
};

struct EvalResult {
  /// Of the evaluation; NaN if skipped.
  double loss = std::numeric_limits<double>::quiet_NaN();
  MetricSums metrics;  ///< empty if skipped
  std::string skipped; ///< empty, or why there is no loss
  bool isBad = false;  ///< skipped because of an id that is out of range
};

/// Runs one step. If the loss or the gradient norm is not finite, or a count is
/// zero, no rank updates anything. Throws Error if counters differ from the
/// prediction.
StepResult runStep(ppopt_rank &rank, const StepSettings &settings,
                   const ExecutorOptions &options);

/// Exchanges the parameters with their averages, if the program has some.
/// Called by all ranks, between steps: before an evaluation and after it.
void exchangeAverages(ppopt_rank &rank, const ExecutorOptions &options);

/// Waits for the operations that steps have left in flight, so that the host
/// may read and write the parameters. Called by all ranks, between steps, and
/// before they end.
void finishSteps(ppopt_rank &rank);

/// Selects the actions of a replayed step and inspects their results.
class StepObserver {
public:
  virtual ~StepObserver() = default;
  /// Returns whether to skip the action. All ranks must skip both ends of a
  /// transfer, all parts of a sum, and the same runs of tasks with collectives.
  virtual bool leavesOut(const Action &action) = 0;
  virtual void performed(const Action &action) = 0;
  /// A run starts a collective: `own` has the `elements` elements that this
  /// rank puts into it.
  virtual void collectiveStarts(const Action &run,
                                const TaskCollective &collective,
                                device::DevicePointer own, int64_t elements) {}
  /// A run has waited for a collective: `result` has what came out.
  virtual void collectiveEnded(const Action &run,
                               const TaskCollective &collective,
                               device::DevicePointer result, int64_t elements) {
  }
};

/// Runs the actions of the last step again on the same inputs, and leaves
/// nothing in flight. Called by all ranks. Computes the same values if the
/// observer skips the updates and that step updated nothing.
void replayStep(ppopt_rank &rank, const StepSettings &settings,
                StepObserver &observer);

/// Evaluates: without dropout, and without changing parameters or optimizer
/// states. All batches add to the sums of inputs before the first forward. Uses
/// only `settings.seed` and `settings.updates`. Returns a non-finite loss
/// unchanged, and nothing if it was stopped.
std::optional<EvalResult> runEvaluation(ppopt_rank &rank,
                                        const StepSettings &settings,
                                        const ExecutorOptions &options,
                                        const Evaluation &evaluation);

/// Evaluates one batch, whose inputs are there.
EvalResult runEvaluation(ppopt_rank &rank, const StepSettings &settings,
                         const ExecutorOptions &options);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_EXECUTOR_H
