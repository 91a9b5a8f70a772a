//===- Json.h - Writes strings and numbers as JSON ------------------------===//

#ifndef PPOPT_LIB_REPORT_JSON_H
#define PPOPT_LIB_REPORT_JSON_H

#include "ppopt/Schedule/Table.h"

#include <string>
#include <string_view>
#include <vector>

namespace ppopt::schedule {

/// Returns the text in quotes. `<` is escaped as well, so that a script of a
/// page may contain the string.
std::string quote(std::string_view text);

/// Returns the number with at most three decimals and without exponent.
std::string spellNumber(double number);

/// Returns names of edges for a caller without names: "s0>s1".
std::vector<std::string> nameEdges(const StageGraph &graph,
                                   const std::vector<std::string> &names);

} // namespace ppopt::schedule

#endif // PPOPT_LIB_REPORT_JSON_H
