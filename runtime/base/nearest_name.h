//===- nearest_name.h - Suggests a name for a misspelled one --------------===//

#ifndef PPOPT_RUNTIME_BASE_NEAREST_NAME_H
#define PPOPT_RUNTIME_BASE_NEAREST_NAME_H

#include <string>
#include <vector>

namespace ppopt::train {

/// Returns the known name with the smallest edit distance to `name`, whatever
/// their case and dashes; the first of several. Returns an empty string if none
/// is close enough to help.
std::string nearestName(const std::string &name,
                        const std::vector<std::string> &known);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_BASE_NEAREST_NAME_H
