//===- StageFormation.h - The fewest stages that leave no cycle -----------===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_STAGEFORMATION_H
#define PPOPT_TRANSFORMS_PLACEMENT_STAGEFORMATION_H

#include <cstddef>
#include <utility>
#include <vector>

namespace mlir::pp {

/// Nodes of an acyclic graph, each in one group (a place, or a chunk of one).
struct GroupedGraph {
  /// In topological order: an edge goes from a smaller node to a larger one.
  std::vector<int> groupOf;
  std::vector<std::pair<int, int>> edges;
};

struct Stages {
  std::vector<int> stageOf; ///< the stage of each node
  std::vector<int> groupOf; ///< the group of each stage, in topological order
  /// Whether no smaller number of stages exists. False if the search was
  /// stopped.
  bool isFewest = true;
};

/// Cuts the groups into stages so that every edge goes from a stage to itself
/// or a later one. The number of stages is the smallest possible if `maxStates`
/// states of the search suffice to prove it, else that of a greedy choice.
/// Among equally many stages, lower groups come first.
Stages formStages(const GroupedGraph &graph, size_t maxStates = 20000);

} // namespace mlir::pp

#endif // PPOPT_TRANSFORMS_PLACEMENT_STAGEFORMATION_H
