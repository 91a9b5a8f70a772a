//===- PlanSearch.h - The fastest plan of a space that fits ---------------===//
//
// Best first: each point has a lower bound of its step, which gets tighter the
// more is known of it, until it is compiled and its step predicted as `ppopt
// plan` does. The point with the least bound is looked at next, until no bound
// is much less than the fastest step.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_SEARCH_PLANSEARCH_H
#define PPOPT_SEARCH_PLANSEARCH_H

#include "ppopt/Driver/Compilation.h"
#include "ppopt/Search/PlanSpace.h"

#include <string>
#include <vector>

namespace mlir::pp {

/// What a compiled plan is predicted to take. Times are of the place that
/// computes longest, in nanoseconds.
struct PlanFigures {
  double step = 0;
  double computing = 0; ///< runs of stages, without waits
  double waiting = 0;   ///< for collectives inside tasks
  double summing = 0;   ///< for collectives after the last stage
  double updating = 0;
  int64_t memory = 0; ///< bytes of the place that has most
  int64_t sent = 0;   ///< bytes per step of the rank that sends most

  /// Returns how long the place has nothing to do.
  double getIdle() const {
    return step - computing - waiting - summing - updating;
  }
};

/// What the search knows of a point.
struct FoundPlan {
  PlanPoint point;
  /// The least that a step takes; figures.step if it is compiled.
  double bound = 0;
  std::optional<PlanFigures> figures;
  std::string refused; ///< why it can't be compiled, or empty
};

/// A plan that people would try, and how it compares.
struct ObviousPlan {
  std::string title; ///< "data parallel"
  FoundPlan plan;
};

struct PlanSearchResult {
  int64_t rows = 0;     ///< of the batch
  int64_t points = 0;   ///< of the space
  int64_t compiled = 0; ///< of them
  int64_t refused = 0;
  /// What was compiled and simulated to bound and to estimate them.
  int64_t profiles = 0, sketches = 0, simulations = 0;
  /// By how much of its step the fastest plan of the space may at most be
  /// faster than the first of `best`.
  double gap = 0;
  /// After how many compilations of the whole model the search was ended; 0: it
  /// came to its end.
  int64_t endedAfter = 0;
  /// Of those that are compiled, fastest first. Empty if none fits.
  std::vector<FoundPlan> best;
  std::vector<ObviousPlan> obvious;
  /// If none fits: the one that needs least, and the least number of ranks at
  /// which one fits, or 0.
  std::optional<FoundPlan> smallest;
  /// Why the first plan is refused, if all are, without the limit on memory if
  /// none compiles with more, either.
  std::string why;
  int64_t ranksNeeded = 0;
};

/// How many plans a search returns.
inline constexpr size_t kPlansShown = 5;

/// A search ends when no plan can be faster than the one that it has found by
/// more than this part of its step.
inline constexpr double kTolerance = 0.02;

/// Returns the space without what the model does not let it choose.
PlanSpace fitToModel(PlanSpace space, ModuleOp model);

/// Searches the space of a model that has been parsed, whose compilation has
/// the plan `space.base`. The result depends on nothing else. Fails, with an
/// error, if the model compiles under no plan.
FailureOr<PlanSearchResult> searchPlans(Compilation &compilation,
                                        const PlanSpace &space);

} // namespace mlir::pp

#endif // PPOPT_SEARCH_PLANSEARCH_H
