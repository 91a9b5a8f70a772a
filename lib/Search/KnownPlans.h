//===- KnownPlans.h - What is known of the points of a space --------------===//

#ifndef PPOPT_LIB_SEARCH_KNOWNPLANS_H
#define PPOPT_LIB_SEARCH_KNOWNPLANS_H

#include "Bounds.h"
#include "ShardingTree.h"
#include "Workers.h"

#include "ppopt/Search/PlanSearch.h"

#include <map>

namespace mlir::pp {

/// What the bound of a point follows from. Each is tighter than the one before,
/// and takes longer to know.
enum class Known {
  Nothing,
  Work,   ///< the model's work on one rank, divided by the ranks
  Cut,    ///< the work where `tp` has cut it
  Rows,   ///< a microbatch of as many rows on one place
  Stages, ///< the plan's stages, for a microbatch of as many rows
  Step,   ///< the plan is compiled
};

/// A point of the space.
struct KnownPlan : FoundPlan {
  Known known = Known::Nothing;
  bool looksBad = false; ///< by an estimate: it does not fit, say
};

/// What compiling a plan has told.
struct TriedPlan {
  std::optional<PlanFigures> figures;
  std::string refused; ///< why there are none
};

/// The points of a space, their bounds, and the profiles that these follow
/// from.
class KnownPlans {
public:
  KnownPlans(Compilation &compilation, const PlanSpace &space)
      : compilation(compilation), space(space), workers(compilation) {}

  /// Finds how large the model and its batch are.
  LogicalResult readModel();
  /// Enumerates the space of the model.
  void enumerate();

  size_t size() const { return plans.size(); }
  KnownPlan &operator[](size_t point) { return plans[point]; }
  std::vector<KnownPlan>::iterator begin() { return plans.begin(); }
  std::vector<KnownPlan>::iterator end() { return plans.end(); }

  /// Returns the rows of the batch.
  int64_t getRows() const { return rows; }
  /// Returns the rows of a microbatch on a rank.
  int64_t getRows(const PlanPoint &point) const {
    return rows / (point.getBatchParts() * point.microbatches);
  }
  /// Returns the links of a point's mesh, which know the spreads of groups that
  /// were asked for.
  const Links &getLinks(const PlanPoint &point) const;
  /// Returns whether plans can be estimated well, since a model of few equal
  /// layers tells what one of many takes.
  bool haveLayers() const { return workers.haveLayers(); }
  /// Returns how many ops the model has.
  int64_t getNumOps() const { return numOps; }
  /// Returns how often the whole model has been compiled, how many points have
  /// been, and how many are refused.
  int64_t getWholeCompiled() const { return wholeCompiled; }
  int64_t getCompiled() const { return compiled; }
  int64_t getRefused() const { return refused; }
  /// Returns how many profiles were compiled, how many stages were sketched,
  /// and how many schedules of these and of profiles were simulated.
  int64_t countProfiles() const {
    return static_cast<int64_t>(profiles.size());
  }
  int64_t countSketches() const {
    return static_cast<int64_t>(sketches.size());
  }
  int64_t countSimulations() const;

  /// Returns which profile a bound follows from, if it compiles.
  ProfileKey getKey(const PlanPoint &point, Known known) const;
  /// Returns the profile that an estimate needs beside that of a microbatch.
  ProfileKey getBoundaryKey(const PlanPoint &point) const;
  bool hasProfile(const ProfileKey &key) const { return profiles.count(key); }
  void makeProfiles(ArrayRef<ProfileKey> keys);
  /// Returns the profile that a bound follows from. The work of fewer rows is
  /// bounded by that of the batch, or of one row if that does not compile.
  const Profile &getProfile(const PlanPoint &point, Known known);

  /// For each point the ways to cut the model over its tp; nothing where what
  /// the model annotates can't be.
  std::vector<std::optional<ShardingTree>>
  findShardings(ArrayRef<PlanPoint> points);
  /// Estimates a plan with one place; nothing if it does not compile.
  std::optional<PlanBound> estimateOnOnePlace(const PlanPoint &point);

  /// Bounds a plan by the profile of what is `known`, which is not refused.
  PlanBound bound(const PlanPoint &point, Known known,
                  const Profile &profile) const;
  /// Tightens a plan's bound by what is `known`, or refuses it.
  void tighten(KnownPlan &plan, Known known);
  /// Estimates plans of which the profile of a microbatch on one place is
  /// known, and notes which look bad: for these it returns nothing.
  std::vector<std::optional<PlanBound>> estimate(ArrayRef<size_t> points);
  void compile(ArrayRef<KnownPlan *> chosen);
  std::vector<TriedPlan> tryPlans(ArrayRef<PlanOptions> options,
                                  Checks checks = Checks::WithoutProofs);

private:
  const Profile &getProfile(const ProfileKey &key);
  bool fits(int64_t memory) const {
    return memory <= space.base.deviceMemory.value_or(memory);
  }
  std::optional<PlanBound> estimate(const PlanPoint &point);
  void refuse(KnownPlan &plan, std::string why);

  Compilation &compilation;
  const PlanSpace &space;
  Workers workers;
  std::vector<KnownPlan> plans;
  std::map<ProfileKey, Profile> profiles;
  std::map<ProfileKey, Profile> sketches; ///< by the key of stages
  /// By the sizes of axes, and their order.
  mutable std::map<std::array<int64_t, 5>, Links> links;
  int64_t rows = 0, numOps = 0;
  int64_t wholeCompiled = 0, compiled = 0, refused = 0;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_KNOWNPLANS_H
