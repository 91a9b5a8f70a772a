//===- Profiles.h - What a model takes without data parallelism -----------===//

#ifndef PPOPT_LIB_SEARCH_PROFILES_H
#define PPOPT_LIB_SEARCH_PROFILES_H

#include "Workers.h"

#include "ppopt/Analysis/Links.h"
#include "ppopt/Search/PlanSpace.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mlir::pp {

/// What a profile depends on: of a point the sizes of `pp` and `tp`, `shard`,
/// `recompute`, and `schedule` and `chunks`, which decide the stages.
struct ProfileKey {
  PlanPoint point;
  int64_t rows = 1; ///< of the microbatch
  /// Without blocks of rows, of which a whole batch may have too many.
  bool isWhole = false;
  /// Of three layers, however many places there are.
  bool isSketch = false;
  /// Between places, on which their stages depend; zero without a cluster.
  ::ppopt::schema::LinkRates between = {0, 0};

  friend bool operator<(const ProfileKey &a, const ProfileKey &b) {
    auto tie = [](const ProfileKey &key) {
      const PlanPoint &point = key.point;
      return std::tie(point.pp, point.tp, point.shard, point.recompute,
                      point.schedule, point.chunks, key.rows, key.isWhole,
                      key.isSketch, key.between.latency, key.between.rate);
    };
    return tie(a) < tie(b);
  }
  friend bool operator==(const ProfileKey &a, const ProfileKey &b) {
    return !(a < b) && !(b < a);
  }
};

/// What a place takes. Bytes are those of a rank, times in nanoseconds.
struct PlaceProfile {
  int64_t parameters = 0, gradients = 0, optimizer = 0;
  /// Of each of its stages at least, from a microbatch's forward for its
  /// backward.
  int64_t saved = 0;
  /// All but the states above, while a microbatch is in flight: for each stage,
  /// and once. Of a model with equal layers on one place, or of a sketch.
  int64_t inFlight = 0, once = 0;
  double update = 0;
};

/// Of one microbatch on all places, and of their updates.
struct StepTimes {
  double forward = 0, backward = 0, update = 0;
};

/// When the places of a simulated schedule have run their last cell.
struct SimulatedStages {
  double end = 0;            ///< of the last, with transfers
  std::vector<double> ends;  ///< by place
  std::vector<int> inFlight; ///< by place: microbatches at once, at most
};

struct Profile {
  /// On the device itself.
  StepTimes getTimes() const;
  /// Simulates the stages under a point's schedule on its links, once for all
  /// points that differ in neither; null if there is no table.
  const SimulatedStages *simulate(const PlanPoint &point,
                                  const Links &links) const;

  std::string refused; ///< why it can't be compiled, or empty
  int64_t rows = 0;    ///< of a microbatch
  int64_t depth = 0;   ///< the number of equal layers, if it follows from two
  std::vector<PlaceProfile> places;
  ::ppopt::schedule::StageGraph graph;
  /// Of a sketch, the link of all edges.
  std::optional<::ppopt::schema::LinkRates> between;

  /// On a device on which no work of a kind is slower because there is less of
  /// it: what parts of the work take at least is their share of these. Only of
  /// a whole batch, or the row that stands for it.
  StepTimes least;
  /// On that device, the longest time of a matmul with its gradient, which no
  /// cut into stages divides.
  double longestMatmul = 0;

  /// Returns how many schedules have been simulated.
  size_t countSimulations() const { return simulated.size(); }

private:
  /// By schedule, microbatches and how far apart places are; 0 of a sketch.
  mutable std::map<std::tuple<std::string, int64_t, int64_t>,
                   std::optional<SimulatedStages>>
      simulated;
};

/// How many layers a copy of the model has.
enum class Layers { Two, Three, All };

/// Compiles the model under the plan of the space with what the key says, for
/// one microbatch on ranks that do not split the batch, with so many layers. A
/// sketch has three.
Profile compileProfile(ModelCopies &copies, const PlanSpace &space,
                       const ProfileKey &key, Layers layers);

/// Returns the profile of a model of `depth` equal layers on one place, given
/// those with two and with three: each further one adds as much as the third.
Profile extrapolate(const Profile &two, Profile three, int64_t depth);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_PROFILES_H
