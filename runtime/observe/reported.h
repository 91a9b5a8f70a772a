//===- reported.h - The numbers that a step or an evaluation reports ------===//
//
// One list, which goes to the line for people, to --log and to --tensorboard.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_OBSERVE_REPORTED_H
#define PPOPT_RUNTIME_OBSERVE_REPORTED_H

#include "program/program.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ppopt::train {

struct Reported {
  std::string name; ///< in all three; TensorBoard's tag is "train/" or "eval/"
                    ///< and this
  const char *shown = "{:.4f}";   ///< in the line, for fmt; null: it is not
  const char *logged = "{:.17g}"; ///< in the log, for fmt: parses to the same
  bool hasBits = false;           ///< the log has its bits, too
  bool isMetric = false;          ///< it is in the log's object of metrics
  bool isKnown = true;            ///< else it is in the log only, as null
  double value = 0;
};

/// The unit of throughput: "tok/s" or "samples/s".
struct WorkUnit {
  const char *name; ///< "tok" or "samples"
  int64_t perStep;
};

/// Returns tokens if an input is an integer tensor of rank 2, otherwise rows of
/// the batch.
WorkUnit workUnitOf(const runtime::Program &program);

/// Returns the numbers of a step: loss, norm, metrics, learning rate and, last,
/// throughput.
std::vector<Reported> numbersOfStep(const runtime::Program &program);

/// Returns the numbers of an evaluation: loss and metrics.
std::vector<Reported> numbersOfEvaluation(const runtime::Program &program);

/// Sets the metrics among the numbers; `values` may be none.
void setMetrics(std::vector<Reported> &numbers,
                const std::vector<double> &values);

/// Returns the number of this name that is no metric.
Reported &numberOf(std::vector<Reported> &numbers, std::string_view name);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_OBSERVE_REPORTED_H
