//===- non_finite_steps.h - Steps whose loss or gradient is not finite ----===//

#ifndef PPOPT_RUNTIME_APP_NON_FINITE_STEPS_H
#define PPOPT_RUNTIME_APP_NON_FINITE_STEPS_H

#include "data/sampler.h"
#include "executor/executor.h"
#include "executor/non_finite_step.h"
#include "executor/rank.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// Ends the run after a non-finite step, or after too many in a row. No rank
/// updates anything in such a step, so earlier checkpoints stay valid.
class NonFiniteSteps {
public:
  /// `allowed` is the limit in a row; 0: the first ends the run. `sampler` has
  /// the samples of steps; null: it is not said where they come from.
  NonFiniteSteps(ppopt_rank &rank, int64_t allowed,
                 const Sampler *sampler = nullptr);

  /// Called after every step, before the inputs change, by all ranks or, with
  /// asynchronous training, by those of the trainer. `result` is that of step
  /// `step` (from 0) with these settings. If it is not finite, the first of
  /// them stores the origin in `result.skipped`, or throws Error with it; the
  /// others then see that it failed.
  void look(int64_t step, const runtime::StepSettings &settings,
            runtime::StepResult &result);

  /// Called by all ranks after every batch of an evaluation, and after metrics
  /// of a step's batch; `what` was evaluated. If a task computed an id that is
  /// out of range, skips the batch, or throws Error on rank 0.
  void look(const std::string &what, runtime::EvalResult &result);

  /// Called by all ranks after every batch of predictions, the rows `rows`. If
  /// a task computed an id that is out of range, throws Error on rank 0.
  void lookAtIds(const std::string &rows) const;

private:
  std::vector<runtime::NonFiniteFindings>
  gather(std::vector<runtime::NonFiniteFindings> held,
         const std::vector<int> &among) const;

  ppopt_rank &rank_;
  const Sampler *const sampler_;
  std::vector<int> all_;    ///< ranks, in order
  std::vector<int> inStep_; ///< those that run a step together
  const int64_t allowed_;
  int64_t inARow_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_NON_FINITE_STEPS_H
