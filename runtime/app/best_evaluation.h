//===- best_evaluation.h - Which evaluation was the best so far -----------===//

#ifndef PPOPT_RUNTIME_APP_BEST_EVALUATION_H
#define PPOPT_RUNTIME_APP_BEST_EVALUATION_H

#include "app/job.h"
#include "checkpoint/checkpoint_manifest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::train {

/// Compares evaluations (--keep-best, --stop-after-no-better). Rank 0 decides,
/// since it alone has all numbers, such as the metrics of all trainers.
class BestEvaluation {
public:
  /// A resumed run continues with what its checkpoint says, if that is of the
  /// same number.
  BestEvaluation(const ppopt_rank &rank, const Job &job);

  struct Verdict {
    bool isBest = false; ///< so far: better than all before it
    bool ends = false;   ///< the run
  };
  /// Called by all ranks after an evaluation after `steps` steps, with what it
  /// gave; `metrics` as Program::metrics. Returns the same on all ranks.
  Verdict judge(int64_t steps, double loss, const std::vector<double> &metrics);

  /// Returns, on rank 0, what a checkpoint of `steps` steps records:
  /// evaluations before that of this step, which a resumed run makes again.
  std::optional<BestRecord> recordBefore(int64_t steps) const;
  /// What is known now, on rank 0.
  const std::optional<BestRecord> &record() const { return now_; }

  /// Returns the note that resuming continues with another number; empty if it
  /// does not.
  static std::string describeChange(const Job &job);

private:
  Verdict compare(double value);

  const ppopt_rank &rank_;
  const Options &options_;
  std::optional<int64_t> metric_; ///< which; none: the loss
  std::optional<BestRecord> now_, before_;
  int64_t judged_ = -1; ///< the steps before the last evaluation
};

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_BEST_EVALUATION_H
