//===- Json.cpp - The JSON of reports -------------------------------------===//

#include "Json.h"

#include <cmath>

using namespace ppopt::schedule;

std::string ppopt::schedule::spell(const Json &json) {
  return json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

Json ppopt::schedule::roundNumber(double number) {
  double rounded = std::round(number * 1000) / 1000;
  bool isWhole = std::trunc(rounded) == rounded && std::fabs(rounded) < 1e15;
  return isWhole ? Json(static_cast<int64_t>(rounded)) : Json(rounded);
}

std::vector<std::string>
ppopt::schedule::nameEdges(const StageGraph &graph,
                           const std::vector<std::string> &names) {
  std::vector<std::string> all = names;
  all.resize(graph.edges.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].empty())
      all[i] = "s" + std::to_string(graph.edges[i].from) + ">s" +
               std::to_string(graph.edges[i].to);
  return all;
}
