//===- stage_formation_test.cpp - Stages against an exhaustive search -----===//

#include "ppopt/Transforms/Placement/StageFormation.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir::pp;

namespace {

/// Expects that stages are of one group and that no edge goes back.
void expectLegal(const GroupedGraph &graph, const Stages &stages) {
  ASSERT_EQ(stages.stageOf.size(), graph.groupOf.size());
  std::vector<bool> filled(stages.groupOf.size());
  for (size_t node = 0; node < graph.groupOf.size(); ++node) {
    ASSERT_EQ(stages.groupOf[stages.stageOf[node]], graph.groupOf[node]);
    filled[stages.stageOf[node]] = true;
  }
  for (auto [from, to] : graph.edges)
    ASSERT_LE(stages.stageOf[from], stages.stageOf[to]);
  for (bool isFilled : filled)
    ASSERT_TRUE(isFilled);
}

/// Whether the stages of some assignment of nodes to `count` stages, each of
/// one group, form no cycle. All assignments are tried: nothing of the theory
/// that the search uses is used here.
bool canHaveStages(const GroupedGraph &graph, int count) {
  std::vector<int> stageOf(graph.groupOf.size());
  std::vector<int> groupOf(count, -1);
  auto isAcyclic = [&] {
    std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
    for (auto [from, to] : graph.edges)
      if (stageOf[from] != stageOf[to])
        reaches[stageOf[from]][stageOf[to]] = true;
    for (int via = 0; via < count; ++via)
      for (int from = 0; from < count; ++from)
        for (int to = 0; to < count; ++to)
          if (reaches[from][via] && reaches[via][to])
            reaches[from][to] = true;
    for (int stage = 0; stage < count; ++stage)
      if (reaches[stage][stage])
        return false;
    return true;
  };
  auto assign = [&](auto &self, size_t node) -> bool {
    if (node == graph.groupOf.size())
      return isAcyclic();
    for (int stage = 0; stage < count; ++stage) {
      int before = groupOf[stage];
      if (before != -1 && before != graph.groupOf[node])
        continue;
      groupOf[stage] = graph.groupOf[node];
      stageOf[node] = stage;
      if (self(self, node + 1))
        return true;
      groupOf[stage] = before;
      // Stages without nodes are alike.
      if (before == -1)
        break;
    }
    return false;
  };
  return assign(assign, 0);
}

int countFewest(const GroupedGraph &graph) {
  int count = 1;
  while (!canHaveStages(graph, count))
    ++count;
  return count;
}

GroupedGraph makeRandom(std::mt19937 &random, int maxNodes, int groups) {
  auto below = [&](int end) { return static_cast<int>(random() % end); };
  GroupedGraph graph;
  int nodes = 1 + below(maxNodes), percent = 10 + below(60);
  for (int node = 0; node < nodes; ++node) {
    graph.groupOf.push_back(below(groups));
    for (int from = 0; from < node; ++from)
      if (below(100) < percent)
        graph.edges.push_back({from, node});
  }
  return graph;
}

TEST(StageFormation, AgreesWithExhaustiveSearch) {
  std::mt19937 random(1);
  int numSplit = 0;
  for (int i = 0; i < 1000; ++i) {
    GroupedGraph graph = makeRandom(random, /*maxNodes=*/12, 2 + i % 3);
    Stages stages = formStages(graph);
    ASSERT_NO_FATAL_FAILURE(expectLegal(graph, stages)) << "graph " << i;
    ASSERT_TRUE(stages.isFewest);
    int fewest = countFewest(graph);
    ASSERT_EQ(static_cast<int>(stages.groupOf.size()), fewest) << "graph " << i;
    numSplit += fewest > 2 + i % 3;
  }
  // The test means something only if groups have to be split.
  EXPECT_GT(numSplit, 100);
}

TEST(StageFormation, GreedyIsLegalAndNearTheFewest) {
  std::mt19937 random(2);
  int numMore = 0, total = 0;
  for (int i = 0; i < 200; ++i) {
    GroupedGraph graph = makeRandom(random, /*maxNodes=*/24, 4);
    Stages exact = formStages(graph), greedy = formStages(graph, 0);
    ASSERT_NO_FATAL_FAILURE(expectLegal(graph, greedy)) << "graph " << i;
    ASSERT_TRUE(exact.isFewest);
    ASSERT_GE(greedy.groupOf.size(), exact.groupOf.size());
    numMore += greedy.groupOf.size() - exact.groupOf.size();
    total += exact.groupOf.size();
  }
  EXPECT_LT(numMore, total / 20);
}

TEST(StageFormation, ChainVisitsPlacesInOrder) {
  GroupedGraph graph{{0, 0, 1, 1, 0, 2},
                     {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}}};
  EXPECT_EQ(formStages(graph).groupOf, (std::vector<int>{0, 1, 0, 2}));
}

TEST(StageFormation, PiecesOfALongChainStay) {
  GroupedGraph graph;
  for (int node = 0; node < 6400; ++node) {
    graph.groupOf.push_back(node / 100);
    if (node > 0)
      graph.edges.push_back({node - 1, node});
  }
  Stages stages = formStages(graph);
  EXPECT_EQ(stages.groupOf.size(), 64u);
  EXPECT_EQ(stages.stageOf, graph.groupOf);
}

} // namespace
