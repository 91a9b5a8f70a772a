//===- nearest_name.h - What the user may have meant ----------------------===//

#ifndef PPOPT_RUNTIME_BASE_NEAREST_NAME_H
#define PPOPT_RUNTIME_BASE_NEAREST_NAME_H

#include <string>
#include <vector>

namespace ppopt::train {

/// The known name with the fewest insertions, deletions and replacements from
/// `name`; the first of several. Empty where none is known or all are so far
/// that naming one would not help.
std::string nearestName(const std::string &name,
                        const std::vector<std::string> &known);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_NEAREST_NAME_H
