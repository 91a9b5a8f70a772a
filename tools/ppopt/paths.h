//===- paths.h - Checks the paths of a command ----------------------------===//

#ifndef PPOPT_TOOLS_PATHS_H
#define PPOPT_TOOLS_PATHS_H

#include "flags.h"

namespace ppopt {

/// Returns why the command must not run with these paths: an output is also an
/// input or another output. Empty if there is no conflict.
std::string findPathConflict(const Command &command,
                             const Arguments &arguments);

/// The same for a command with one input and one output.
std::string findPathConflict(llvm::StringRef input, llvm::StringRef output);

/// Returns why an output cannot be written; empty if no reason is found.
std::string findUnwritable(const Command &command, const Arguments &arguments);

} // namespace ppopt

#endif // PPOPT_TOOLS_PATHS_H
