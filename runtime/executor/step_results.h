//===- step_results.h - The numbers of a step that the host reads ---------===//
//
// Loss, norm, counts, and what the places' tasks have decided. They are copied
// to the host after the last action of a step, and read when the device is
// synchronized: one round trip, whatever their number.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_STEP_RESULTS_H
#define PPOPT_RUNTIME_EXECUTOR_STEP_RESULTS_H

#include "device/device.h"
#include "executor/metric_sums.h"
#include "program/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::runtime {

class StepResults {
public:
  /// `rank` has its memory.
  explicit StepResults(ppopt_rank &rank);

  /// Copies them to the host, after what is enqueued for tasks.
  void enqueue();
  /// The same of what an evaluation computes besides the loss.
  void enqueueMetrics();

  // After ppopt_rank::synchronize(). Sums have the same bits on all ranks.

  /// The loss of the batch, exact.
  double loss() const;
  /// The norm of the gradients before clipping; NaN if nothing learns.
  double gradNorm() const;
  /// Returns what the batch has none of, in words; empty if no count is zero.
  std::string missing() const;
  /// Those of the batches that an evaluation was over.
  MetricSums metrics() const;
  /// Returns, in words, the decision about updates that is not `holds`, and who
  /// made it; empty if all places of the rank have decided so.
  std::string wrongDecision(bool holds) const;

private:
  struct Number {
    device::DevicePointer data;
    ElementType type;
    char *host; ///< where it lies, or its copy
  };
  /// What a task of a place has decided.
  struct Decision {
    std::string task;
    Number hold;
  };
  Number add(device::DevicePointer data, ElementType type) const;
  void copy(const Number &number);

  ppopt_rank &rank;
  const Number theLoss;
  std::optional<Number> norm;
  std::vector<Number> counts; ///< as Program::counts
  struct Metric {
    Number sum;
    std::optional<Number> count;
  };
  std::vector<Metric> metricNumbers; ///< as Program::metrics
  std::vector<Decision> decisions;
};

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_STEP_RESULTS_H
