//===- StageGraph.h - What schedules know of a model ----------------------===//
//
// The library `lib/Schedule` is plain C++ on these structs: no MLIR in it. The
// compiler fills them from the tasks of phase `partitioned`; tests by hand.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_SCHEDULE_STAGEGRAPH_H
#define PPOPT_SCHEDULE_STAGEGRAPH_H

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::schedule {

/// A piece of the model on one place. Times are in one unit, whatever it is
/// (the compiler's are nanoseconds).
struct Stage {
  int place = 0;
  /// A stage in front of which everything is frozen or detached has none.
  bool hasBackward = true;
  /// Of one microbatch. A full backward takes the sum of the last two.
  double forwardTime = 1, inputTime = 1, weightTime = 1;
};

/// A value that goes from one stage to another. If the stages are on two
/// places it is transferred once for each place, to the first stage there that
/// reads it.
struct Edge {
  int from = 0, to = 0;
  /// It is a gradient: from the backward of `from` to the backward of `to`.
  bool isGradient = false;
  int64_t bytes = 0;
  /// Other stages of the place of `to` that read it once it is there.
  std::vector<int> alsoTo = {};

  /// `to` and the others.
  std::vector<int> getReaders() const;
};

/// Stages are in topological order of the forward edges: from < to; gradient
/// edges go the other way.
struct StageGraph {
  int places = 1;
  std::vector<Stage> stages;
  std::vector<Edge> edges;
};

/// Holds that every place has a stage, that edges go as said, and that
/// gradients go only between stages that have backwards. Empty, or one line
/// that says what is wrong. Everything below takes graphs that pass.
std::string check(const StageGraph &graph);

/// How long a transfer takes: latency + bytes / bandwidth, in the unit of the
/// stages' times.
struct Link {
  double latency = 0;
  double bytesPerUnit = 0; ///< 0: infinitely fast
};

/// A chain of `stages` equal stages, stage s on placeOf[s], each but the last
/// handing `bytes` on and, if it is not the first, a gradient of as many back.
StageGraph makeChain(const std::vector<int> &placeOf, double forwardTime = 1,
                     double inputTime = 1, double weightTime = 1,
                     int64_t bytes = 0);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_STAGEGRAPH_H
