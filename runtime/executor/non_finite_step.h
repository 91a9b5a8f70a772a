//===- non_finite_step.h - Who made a loss or a gradient infinite or NaN --===//
//
// Behind the sums over ranks every gradient is bad, and behind transfers every
// place. So the step is run again with what ranks add up left out, and each
// looks at its own numbers: where a bad one first left the rank, or came in.
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

/// "inf", "-inf" or "nan": the sign of a NaN means nothing.
const char *spellNonFinite(double value);

struct NonFiniteElement {
  int64_t element; ///< its number
  double value;    ///< infinite or NaN
};

/// The first element that is not finite; integers are.
std::optional<NonFiniteElement>
findNonFiniteElement(const char *data, int64_t elements, ElementType type);

/// "inf at [5, 17]". `firstRow`: of the whole tensor's rows, the one that
/// element 0 is in.
std::string describeNonFinite(const NonFiniteElement &bad,
                              const std::vector<int64_t> &shape,
                              int64_t firstRow = 0);

/// What a place of a rank found in its own numbers. Ranks tell it each other as
/// bytes.
struct NonFiniteFindings {
  struct Tensor {
    int64_t index = -1; ///< of Program::parameters, inputs or transfers
    NonFiniteElement at{};
    bool isBad() const { return index >= 0; }
  };
  /// In the program's order: the first parameter that was bad before the step,
  /// the first non-finite input, the first parameter whose gradient is bad.
  Tensor parameter, input, gradient;
  /// The first in the order of the actions.
  Tensor transfer;
  /// The first of the place's checks that noted an id, of Program::checks.
  int64_t check = -1;
  int64_t id = 0;
  bool isReceived = false; ///< the transfer
  int64_t microbatch = 0;  ///< of the transfer
  double loss = 0;         ///< the part of these rows

  /// A task computed an id that is out of range: then its loss is NaN.
  bool hasBadId() const { return check >= 0; }
  /// Bad numbers were computed here from finite ones.
  bool isOrigin() const {
    return hasBadId()         ? true
           : transfer.isBad() ? !isReceived
                              : gradient.isBad() || !std::isfinite(loss);
  }
};

/// The first parameter of those that the rank holds and that learn, in the
/// program's order, that is bad.
NonFiniteFindings::Tensor findNonFiniteParameter(const ppopt_rank &rank);

/// What each place that this rank holds has noted of ids in the last run, and
/// nothing else.
std::vector<NonFiniteFindings> findBadIds(const ppopt_rank &rank);

/// "id 16 is out of range, 0 to 12 (pp.embedding at model.mlir:3:8)".
std::string describeBadId(const Program &program,
                          const NonFiniteFindings &found);

/// Called by all ranks after a step that was skipped because it is bad, on the
/// same inputs: the findings of each place that this rank holds, in their
/// order. At least one rank's has an origin, unless it was a sum over ranks (or
/// the gradient's squares) that exceeded what its type holds.
std::vector<NonFiniteFindings> findNonFinite(ppopt_rank &rank,
                                             const StepSettings &settings);

} // namespace ppopt::runtime

#endif // PPOPT_RUNTIME_EXECUTOR_NON_FINITE_STEP_H
