//===- non_finite_step.h - Finds the origin of infinities and NaNs --------===//
//
// Sums over ranks make every gradient non-finite, and transfers every place. So
// the step runs again without what ranks add up, and each rank inspects its own
// numbers: where the first non-finite one left the rank or came in.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_RUNTIME_EXECUTOR_NON_FINITE_STEP_H
#define PPOPT_RUNTIME_EXECUTOR_NON_FINITE_STEP_H

#include "program/program.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

struct ppopt_rank;

namespace ppopt::runtime {

struct StepSettings;

/// Returns "inf", "-inf" or "nan": the sign of a NaN has no meaning.
const char *spellNonFinite(double value);

struct NonFiniteElement {
  int64_t element; ///< its index
  double value;    ///< infinite or NaN
};

/// Returns the first element that is not finite; integers always are.
std::optional<NonFiniteElement>
findNonFiniteElement(const char *data, int64_t elements, ElementType type);

/// Returns, for example, "inf at [5, 17]". `firstRow` is the row of the whole
/// tensor that contains element 0.
std::string describeNonFinite(const NonFiniteElement &bad,
                              const std::vector<int64_t> &shape,
                              int64_t firstRow = 0);

/// Returns the same of an element of a rank's tile of a parameter or of its
/// gradient, with the element's index in the whole parameter: "inf at [5, 17]
/// (the tile of tp 1)".
std::string describeNonFinite(const NonFiniteElement &bad,
                              const Parameter &parameter, const Plan &plan,
                              int64_t rank);

/// What a place of a rank found in its own numbers. Trivially copyable: ranks
/// exchange it as bytes.
struct NonFiniteFindings {
  struct Tensor {
    int64_t index = -1; ///< of Program::parameters, inputs, transfers or
                        ///< collectives
    NonFiniteElement at{};
    bool isBad() const { return index >= 0; }
  };
  /// The first in the program's order: a parameter that was non-finite before
  /// the step, a non-finite input, a parameter with a non-finite gradient from
  /// this rank's rows.
  Tensor parameter, input, gradient;
  /// The same of a gradient that tasks sum over the ranks that shard it, so
  /// that it may have become non-finite on any of them.
  Tensor gradientSum;
  /// The first in the order of the actions: what a transfer sends or receives,
  /// or what goes into a collective of a task or comes out of it. At most one.
  Tensor transfer, collective;
  /// The first of the place's checks that stored an id: an index of
  /// Program::checks.
  int64_t check = -1;
  int64_t id = 0;
  /// Whether the transfer was received, or what went into the collective here
  /// is finite.
  bool isReceived = false;
  int64_t microbatch = 0; ///< of the transfer or the collective
  double loss = 0;        ///< the part from this rank's rows

  /// A task computed an id that is out of range; its loss is NaN.
  bool hasBadId() const { return check >= 0; }
  /// Non-finite numbers were computed here from finite ones.
  bool isOrigin() const {
    return hasBadId() ? true
           : transfer.isBad() || collective.isBad()
               ? !isReceived
               : gradient.isBad() || !std::isfinite(loss);
  }
};

/// Returns the first non-finite parameter, in the program's order, of those
/// that are updated; looks at the elements that the rank has.
NonFiniteFindings::Tensor findNonFiniteParameter(const ppopt_rank &rank);

/// Returns the ids that each place of this rank stored in the last run, and
/// nothing else.
std::vector<NonFiniteFindings> findBadIds(const ppopt_rank &rank);

/// Returns, for example, "id 16 is out of range, 0 to 12 (pp.embedding at
/// model.mlir:3:8)".
std::string describeBadId(const Program &program,
                          const NonFiniteFindings &found);

/// Called by all ranks after a step that was skipped because it is not finite,
/// on the same inputs. Returns the findings of each place that this rank holds,
/// in order. At least one rank finds an origin, unless all that is not finite
/// are sums over ranks (or that of the gradient's squares).
std::vector<NonFiniteFindings> findNonFinite(ppopt_rank &rank,
                                             const StepSettings &settings);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_NON_FINITE_STEP_H
