//===- Json.h - What is written as JSON -----------------------------------===//

#ifndef PPOPT_LIB_REPORT_JSON_H
#define PPOPT_LIB_REPORT_JSON_H

#include "ppopt/Schedule/Table.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppopt::schedule {

/// With its quotes. `<` is escaped as well, so that a string may stand in a
/// script of a page.
std::string quote(std::string_view text);

/// With at most three decimals; without an exponent.
std::string spellNumber(double number);

/// Names of edges where the caller has none: "s0>s1".
std::vector<std::string> nameEdges(const StageGraph &graph,
                                   const std::vector<std::string> &names);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_REPORT_JSON_H
