//===- Json.h - The JSON of reports ---------------------------------------===//

#ifndef PPOPT_LIB_REPORT_JSON_H
#define PPOPT_LIB_REPORT_JSON_H

#include "ppopt/Schedule/Table.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace ppopt::schedule {

/// Keeps the order of keys.
using Json = nlohmann::ordered_json;

/// Returns the text. Bytes that are not UTF-8 are replaced.
std::string spell(const Json &json);

/// Returns the number with at most three decimals: an integer without any.
Json roundNumber(double number);

template <typename... T> void append(Json &list, const T &...values) {
  (list.push_back(values), ...);
}

/// Returns names of edges for a caller without names: "s0>s1".
std::vector<std::string> nameEdges(const StageGraph &graph,
                                   const std::vector<std::string> &names);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_REPORT_JSON_H
