//===- metric_sums.h - Metrics of parts of an evaluation --------*- C++ -*-===//

#ifndef PPOPT_RUNTIME_EXECUTOR_METRIC_SUMS_H
#define PPOPT_RUNTIME_EXECUTOR_METRIC_SUMS_H

#include "program/program.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ppopt::runtime {

/// The metrics of some batches, each a sum to be divided by a count: that of a
/// ratio, else the number of parts of which it is the mean. One entry per
/// Program::metrics.
struct MetricSums {
  std::vector<double> values, counts;

  /// Adds those of other batches. `isMean`: what is no ratio will be the mean
  /// over the parts, not their sum.
  void add(const MetricSums &part, const std::vector<schema::Metric> &metrics,
           bool isMean) {
    values.resize(part.values.size());
    counts.resize(part.counts.size());
    for (size_t i = 0; i < part.values.size(); ++i) {
      values[i] += part.values[i];
      counts[i] = isMean || metrics[i].isRatio
                      ? counts[i] + part.counts[i]
                      : std::max(counts[i], part.counts[i]);
    }
  }

  /// Returns the metrics; NaN where a count is 0.
  std::vector<double> divided() const {
    std::vector<double> quotients;
    for (size_t i = 0; i < values.size(); ++i)
      quotients.push_back(values[i] / counts[i]);
    return quotients;
  }
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_METRIC_SUMS_H
