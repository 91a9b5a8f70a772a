//===- StageGraph.cpp - The stages of a model, for schedules --------------===//

#include "ppopt/Schedule/StageGraph.h"

#include <algorithm>

using namespace ppopt::schedule;

std::vector<int> Edge::getReaders() const {
  std::vector<int> readers = alsoTo;
  readers.insert(readers.begin(), to);
  return readers;
}

StageGraph ppopt::schedule::makeChain(const std::vector<int> &placeOf,
                                      double forwardTime, double inputTime,
                                      double weightTime, int64_t bytes) {
  StageGraph graph;
  graph.places = 0;
  int count = static_cast<int>(placeOf.size());
  for (int stage = 0; stage < count; ++stage) {
    int place = placeOf[stage];
    if (place >= graph.places)
      graph.places = place + 1;
    graph.stages.push_back(
        {place, /*hasBackward=*/true, forwardTime, inputTime, weightTime});
    if (stage == 0)
      continue;
    graph.edges.push_back({stage - 1, stage, /*isGradient=*/false, bytes});
    graph.edges.push_back({stage, stage - 1, /*isGradient=*/true, bytes});
  }
  return graph;
}

static std::string checkEdge(const Edge &edge, int to,
                             const StageGraph &graph) {
  int stages = static_cast<int>(graph.stages.size());
  std::string text =
      std::string(edge.isGradient ? "the gradient edge" : "the edge") +
      " from stage " + std::to_string(edge.from) + " to stage " +
      std::to_string(to);
  int early = edge.isGradient ? to : edge.from;
  int late = edge.isGradient ? edge.from : to;
  if (early < 0 || late >= stages || early >= late)
    return text + ": stages are numbered 0 to " + std::to_string(stages - 1) +
           ", values go to later ones and gradients to earlier ones";
  if (edge.isGradient &&
      !(graph.stages[early].hasBackward && graph.stages[late].hasBackward))
    return text + ": both must have a backward";
  if (graph.stages[to].place != graph.stages[edge.to].place)
    return text + ": its value is sent to place " +
           std::to_string(graph.stages[edge.to].place) + ", of stage " +
           std::to_string(edge.to);
  return "";
}

std::string ppopt::schedule::check(const StageGraph &graph) {
  std::vector<bool> isUsed(graph.places, false);
  for (size_t index = 0; index < graph.stages.size(); ++index) {
    int place = graph.stages[index].place;
    if (place < 0 || place >= graph.places)
      return "stage " + std::to_string(index) + " is on place " +
             std::to_string(place) + ", and there are " +
             std::to_string(graph.places) + " places, numbered from 0";
    isUsed[place] = true;
  }
  auto unused = std::find(isUsed.begin(), isUsed.end(), false);
  if (unused != isUsed.end())
    return "place " + std::to_string(unused - isUsed.begin()) +
           " has no stage; use fewer places or put a part of the model there";
  for (const Edge &edge : graph.edges) {
    for (int reader : edge.getReaders()) {
      std::string wrong = checkEdge(edge, reader, graph);
      if (!wrong.empty())
        return wrong;
    }
  }
  return "";
}
