//===- flag_hints.h - What an unknown flag may have meant -----------------===//

#ifndef PPOPT_RUNTIME_APP_FLAG_HINTS_H
#define PPOPT_RUNTIME_APP_FLAG_HINTS_H

#include <string>
#include <vector>

namespace ppopt::train {

/// Returns what to do about an unknown flag, as "; did you mean '--lr'?"; empty
/// if nothing would help. `known` are the executable's flags.
std::string hintForFlag(const std::string &flag,
                        const std::vector<std::string> &known);

} // namespace ppopt::train

#endif // PPOPT_RUNTIME_APP_FLAG_HINTS_H
