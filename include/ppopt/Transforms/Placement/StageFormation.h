//===- StageFormation.h - The fewest stages that leave no cycle -----------===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_STAGEFORMATION_H
#define PPOPT_TRANSFORMS_PLACEMENT_STAGEFORMATION_H

#include <cstddef>
#include <utility>
#include <vector>

namespace mlir::pp {

/// Nodes of an acyclic graph, each of one group (a place, or a chunk of one).
struct GroupedGraph {
  /// In topological order: an edge goes from a smaller node to a larger one.
  std::vector<int> groupOf;
  std::vector<std::pair<int, int>> edges;
};

struct Stages {
  std::vector<int> stageOf; ///< of each node
  std::vector<int> groupOf; ///< of each stage, in topological order
  /// No number of stages is smaller. False where the search was given up.
  bool isFewest = true;
};

/// Cuts the groups into stages: all edges go from a stage to itself or a later
/// one. Their number is the smallest there is, if `maxStates` states of the
/// search suffice to know it; else that of a greedy choice. Of equally many,
/// lower groups stand first.
Stages formStages(const GroupedGraph &graph, size_t maxStates = 20000);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_STAGEFORMATION_H
