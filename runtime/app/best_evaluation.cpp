//===- best_evaluation.cpp - Which evaluation was the best so far ---------===//

#include "app/best_evaluation.h"

#include "executor/messages.h"
#include "executor/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ppopt::train {
namespace {

const std::optional<BestRecord> &savedIn(const Job &job) {
  static const std::optional<BestRecord> none;
  return job.resumed ? job.resumed->manifest().best : none;
}

} // namespace

BestEvaluation::BestEvaluation(const ppopt_rank &rank, const Job &job)
    : rank_(rank), options_(job.options), now_(savedIn(job)) {
  const BestBy &by = options_.best;
  if (!by.isGiven())
    return;
  if (!now_ || now_->of != by.spell()) {
    now_.emplace();
    now_->of = by.spell();
  }
  const auto &metrics = job.program.metrics;
  auto found =
      std::find_if(metrics.begin(), metrics.end(),
                   [&](const auto &metric) { return metric.name == by.name; });
  if (found != metrics.end())
    metric_ = found - metrics.begin();
}

std::string BestEvaluation::describeChange(const Job &job) {
  const auto &saved = savedIn(job);
  const BestBy &by = job.options.best;
  if (!saved || !by.isGiven() || saved->of == by.spell())
    return "";
  return fmt::format("resume: --keep-best was {}, is {}: the next evaluation "
                     "is the first that counts",
                     saved->of, by.spell());
}

/// A value that is not finite is not better than any.
BestEvaluation::Verdict BestEvaluation::compare(double value) {
  bool isBest =
      std::isfinite(value) &&
      (!now_->value ||
       (options_.best.isLeast ? value < *now_->value : value > *now_->value));
  if (isBest) {
    now_->value = value;
    now_->step = judged_;
    now_->since = 0;
  } else {
    ++now_->since;
  }
  return {isBest, options_.stopAfterNoBetter > 0 &&
                      now_->since >= options_.stopAfterNoBetter};
}

BestEvaluation::Verdict
BestEvaluation::judge(int64_t steps, double loss,
                      const std::vector<double> &metrics) {
  if (!options_.best.isGiven())
    return {};
  Verdict verdict;
  if (rank_.index == 0) {
    before_ = now_;
    judged_ = steps;
    double value = loss;
    if (metric_) // none if no sample counts
      value = metrics.empty() ? std::nan("") : metrics[size_t(*metric_)];
    verdict = compare(value);
  }
  if (rank_.transport)
    Messages(rank_).broadcast(&verdict, sizeof verdict);
  return verdict;
}

std::optional<BestRecord> BestEvaluation::recordBefore(int64_t steps) const {
  return steps == judged_ ? before_ : now_;
}

} // namespace ppopt::train
