//===- non_finite_steps.h - Steps whose loss or gradient is not finite ----===//

#ifndef PPOPT_RUNTIME_APP_NON_FINITE_STEPS_H
#define PPOPT_RUNTIME_APP_NON_FINITE_STEPS_H

#include "executor/executor.h"
#include "executor/non_finite_step.h"
#include "executor/rank.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::train {

/// Ends the run after a non-finite step, or lets it go on until there are too
/// many in a row. No rank has updated anything in such a step, so what was
/// saved before it stays good.
class NonFiniteSteps {
public:
  /// `allowed` in a row; 0: the first ends the run.
  NonFiniteSteps(ppopt_rank &rank, int64_t allowed)
      : rank_(rank), allowed_(allowed) {}

  /// Called by all ranks after every step, before the inputs change: `result`
  /// is that of step `step` (from 0) with these settings. Where it is bad rank
  /// 0 says in `result.skipped` who began it, or throws Error with that, and
  /// the others see that rank 0 failed.
  void look(int64_t step, const runtime::StepSettings &settings,
            runtime::StepResult &result);

  /// Called by all ranks after every batch of an evaluation. Where a task
  /// computed an id that is out of range the batch is skipped, or rank 0 throws
  /// Error.
  void look(int64_t batch, runtime::EvalResult &result);

private:
  std::vector<runtime::NonFiniteFindings>
  gather(std::vector<runtime::NonFiniteFindings> held);

  ppopt_rank &rank_;
  const int64_t allowed_;
  int64_t inARow_ = 0;
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_NON_FINITE_STEPS_H
