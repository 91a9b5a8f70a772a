//===- Profiles.h - What a model takes without data parallelism -----------===//

#ifndef PPOPT_LIB_SEARCH_PROFILES_H
#define PPOPT_LIB_SEARCH_PROFILES_H

#include "Workers.h"

#include "ppopt/Schedule/EdgeLinks.h"
#include "ppopt/Search/PlanSpace.h"

#include <string>
#include <tuple>
#include <vector>

namespace mlir::pp {

/// What a profile depends on.
struct ProfileKey {
  int64_t pp = 1, tp = 1;
  int64_t rows = 1; ///< of the microbatch
  Recompute recompute = Recompute::cheap;
  std::string schedule = "1f1b"; ///< which decides the stages
  int64_t chunks = 1;
  std::string shard;
  /// Without blocks of rows, of which a whole batch may have too many.
  bool isWhole = false;

  friend bool operator<(const ProfileKey &a, const ProfileKey &b) {
    auto tie = [](const ProfileKey &key) {
      return std::tie(key.pp, key.tp, key.rows, key.recompute, key.schedule,
                      key.chunks, key.shard, key.isWhole);
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
  double update = 0;
};

/// Of one microbatch on all places, and of their updates.
struct StepTimes {
  double forward = 0, backward = 0, update = 0;
};

struct Profile {
  std::string refused; ///< why it can't be compiled, or empty
  int64_t rows = 0;    ///< of a microbatch
  std::vector<PlaceProfile> places;
  ::ppopt::schedule::StageGraph graph;
  ::ppopt::schedule::EdgeLinks links; ///< of the graph
  StepTimes times;

  /// On a device on which no work of a kind is slower because there is less of
  /// it: what parts of the work take at least is their share of these.
  StepTimes least;
  /// On that device, the longest time of an op with its gradient, which no cut
  /// into stages divides.
  double longestOp = 0;
};

/// Compiles the model under the plan of the space with what the key says, for
/// one microbatch on ranks that do not split the batch. For one place, a model
/// of equal layers is compiled with two and three of them: each further one
/// adds as much as the third.
Profile makeProfile(ModelCopies &copies, const PlanSpace &space,
                    const ProfileKey &key);

} // namespace mlir::pp

#endif // PPOPT_LIB_SEARCH_PROFILES_H
