//===- Bounds.h - What a plan takes at least ------------------------------===//

#ifndef PPOPT_LIB_SEARCH_BOUNDS_H
#define PPOPT_LIB_SEARCH_BOUNDS_H

#include "Profiles.h"

#include "ppopt/Analysis/Links.h"

namespace mlir::pp {

/// Returns whether the schedule of a point splits backwards.
bool splitsBackward(const PlanPoint &point);

/// What a plan takes at least: nanoseconds of a step, bytes of a rank.
struct PlanBound {
  double step = 0;
  int64_t memory = 0;
  /// With the stages of a profile, which no limit on memory has changed.
  int64_t memoryAsCut = 0;
};

/// Bounds a plan for a microbatch of `rows` by the profile of the model on one
/// place, which may be of more rows; `cuts` is by how much the plan cuts the
/// model that the profile does not.
///
/// The busiest place has at least its share of the work, and waits until the
/// places before it have passed the first microbatch on (and, with a schedule
/// that does not split backwards, at the end for the last one's gradients). The
/// place of the longest op computes it and its gradient for each microbatch.
/// Collectives over the batch's ranks, by the links of the point's mesh, take
/// as long as if all of them could be hidden.
PlanBound boundByWork(const PlanPoint &point, const Profile &profile,
                      int64_t rows, int64_t cuts, const Links &links);

/// Bounds a plan by the profile of its stages and its microbatch: the simulated
/// schedule without what ranks exchange that split the batch. Its memory holds
/// wherever the model is cut, since a limit on memory may change that.
PlanBound boundByStages(const PlanPoint &point, const Profile &profile,
                        const Links &links);

/// Returns what the profile of a point's stages would be if they were equal
/// parts of that of its microbatch on one place, each sending so many bytes per
/// microbatch to the next, over the slowest link between places.
Profile sketchStages(const PlanPoint &point, const Profile &profile,
                     int64_t bytesBetween, const Links &links);

/// Estimates a plan by a sketch of its stages, as if none of what ranks
/// exchange that split the batch were hidden.
PlanBound estimateByStages(const PlanPoint &point, const Profile &sketch,
                           const Links &links);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_BOUNDS_H
