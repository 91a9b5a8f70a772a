//===- PlanSpace.h - The plans that a search chooses among ----------------===//

#ifndef PPOPT_SEARCH_PLANSPACE_H
#define PPOPT_SEARCH_PLANSPACE_H

#include "ppopt/Driver/PlanOptions.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir::pp {

/// Returns the divisors of a number, least first.
SmallVector<int64_t> getDivisors(int64_t number);

/// What a search chooses: a plan but for what all plans of a search share.
struct PlanPoint {
  int64_t pp = 1, dp = 1, fsdp = 1, tp = 1;
  /// How many of the axes `dp` and `fsdp` are outside of `pp`: neighbours on
  /// the axis exchange microbatches, those on the batch's sum gradients.
  int64_t batchAxesOutside = 0;
  int64_t microbatches = 1, zero = 0;
  Recompute recompute = Recompute::cheap;
  std::string schedule = "1f1b";
  int64_t chunks = 1; ///< stages per place
  std::string shard;  ///< --shard, in place of the base's; empty: the base's
  /// With stage 3, tasks gather what they read: once per microbatch.
  bool gathersInTasks = false;

  /// Returns the number of parts of the batch.
  int64_t getBatchParts() const { return dp * fsdp; }
  /// Returns the number of ranks that --zero shards over.
  int64_t getShards() const { return fsdp > 1 ? fsdp : dp; }
  /// Returns the mesh, major to minor. Ranks of a place that exchange most,
  /// over `tp`, are neighbours.
  ::ppopt::geometry::Mesh getMesh() const;
  /// Returns the flags of `ppopt compile`, "--mesh fsdp=2,tp=4 --zero 3 …",
  /// with values quoted for a shell, and for the file that --plan takes.
  std::string spell(StringRef separator = " ") const;
};

/// The most ranks that an axis of a mesh has.
constexpr int64_t kLargestAxis = 65536;

/// The plans of so many ranks for a model.
struct PlanSpace {
  /// Complete but for the mesh. What is not chosen is as it says.
  PlanOptions base;
  int64_t ranks = 1;
  /// Axes whose sizes are given, of those that a point has.
  std::vector<::ppopt::geometry::Axis> kept;
  /// By the size of tp, what --shard says in points; none: as the base's.
  std::map<int64_t, std::string> shards;
  /// With a schedule that is chosen, how many stages a place has; nothing: that
  /// is chosen, too.
  std::optional<int64_t> chunks;
  /// How often the whole model is compiled at most, once there is a plan;
  /// nothing: as suits its size.
  std::optional<int64_t> mostCompiled;
  bool choosesMicrobatches = true, choosesZero = true, choosesRecompute = true,
       choosesSchedule = true, choosesShards = true;

  /// Returns the given size of an axis; nothing if it is chosen.
  std::optional<int64_t> getKept(StringRef axis) const;
  /// Returns the plan of a point: a copy of `base` with what the point says.
  PlanOptions getPlan(const PlanPoint &point) const;
  /// Calls `visit` with every point for a batch of so many rows, always in the
  /// same order. Of plans that are the same under two names one is visited. If
  /// the batch does not divide by the ranks that split it, there is none.
  void forEach(int64_t rows,
               llvm::function_ref<void(const PlanPoint &)> visit) const;
};

} // namespace mlir::pp

#endif // PPOPT_SEARCH_PLANSPACE_H
