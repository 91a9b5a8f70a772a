//===- StageGraph.h - The stages of a model, for schedules ----------------===//
//
// The library `lib/Schedule` is plain C++ on these structs, without MLIR. The
// compiler fills them from the tasks of phase `partitioned`; tests fill them by
// hand.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_SCHEDULE_STAGEGRAPH_H
#define PPOPT_SCHEDULE_STAGEGRAPH_H

#include <cstdint>
#include <string>
#include <vector>

namespace ppopt::schedule {

/// A collective inside the runs of a stage. Times are from the beginning of a
/// run.
struct StageCollective {
  // As traces have them (docs/trace.md).
  std::string name;  ///< "all-gather dp b0"
  std::string kind;  ///< "all-gather"
  std::string group; ///< "dp"
  std::string value; ///< "b0", or the op that makes it
  std::string task;  ///< "s0_F"
  int64_t channel = 0, bytes = 0;

  bool isOfBucket = true; ///< otherwise of a value of the model
  int64_t bytesSent = 0;  ///< by the first rank of the place, in a run

  double start = 0, end = 0; ///< it is in flight
  double waitStart = 0, waitEnd = 0;
  double hidden = 0; ///< while it is in flight, the stage computes

  /// Returns what waits are named for: "dp b0".
  std::string getSubject() const { return group + " " + value; }
  /// Returns how long the stage waits for it.
  double getExposed() const { return waitEnd - waitStart; }
};

/// A piece of the model on one place. Times are in any one unit (the compiler's
/// are nanoseconds).
struct Stage {
  int place = 0;
  /// False for a stage if everything before it is frozen or detached.
  bool hasBackward = true;
  /// Times per microbatch, with waits. A full backward takes the sum of the
  /// last two.
  double forwardTime = 1, inputTime = 1, weightTime = 1;
  /// In the order of their starts.
  std::vector<StageCollective> inForward = {}, inBackward = {}, inInput = {},
                               inWeight = {};
};

/// A value that goes from one stage to another. If the stages are on two places
/// it is transferred once per place, to the first stage there that reads it.
struct Edge {
  int from = 0, to = 0;
  /// Whether it is a gradient: from the backward of `from` to the backward of
  /// `to`.
  bool isGradient = false;
  int64_t bytes = 0;
  /// Other stages on the place of `to` that read it once it has arrived.
  std::vector<int> alsoTo = {};

  /// Returns `to` and the others.
  std::vector<int> getReaders() const;
};

/// The stages, in topological order of the forward edges: from < to; gradient
/// edges go the other way.
struct StageGraph {
  int places = 1;
  std::vector<Stage> stages;
  std::vector<Edge> edges;
};

/// Checks that every place has a stage, that edges go in the directions above,
/// and that gradients go only between stages with backwards. Returns an empty
/// string, or one line that says what is wrong. All functions below take graphs
/// that pass.
std::string check(const StageGraph &graph);

/// The time of a transfer: latency + bytes / bandwidth, in the unit of the
/// stages' times.
struct Link {
  double latency = 0;
  double bytesPerUnit = 0; ///< 0: infinitely fast
};

/// Returns a chain of `stages` equal stages, stage s on placeOf[s]. Each stage
/// but the last sends `bytes` to the next, which returns a gradient of the same
/// size.
StageGraph makeChain(const std::vector<int> &placeOf, double forwardTime = 1,
                     double inputTime = 1, double weightTime = 1,
                     int64_t bytes = 0);

} // namespace ppopt::schedule

#endif // PPOPT_SCHEDULE_STAGEGRAPH_H
