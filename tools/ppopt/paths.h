//===- paths.h - What a command reads and writes --------------------------===//

#ifndef PPOPT_TOOLS_PATHS_H
#define PPOPT_TOOLS_PATHS_H

#include "flags.h"

namespace ppopt {

/// Why the command must not run with these paths: an output is an input, or
/// another output. Empty where it may.
std::string findPathConflict(const Command &command,
                             const Arguments &arguments);

/// The same of a command with one input and one output.
std::string findPathConflict(llvm::StringRef input, llvm::StringRef output);

/// Why an output cannot be written; empty where nothing speaks against it.
std::string findUnwritable(const Command &command, const Arguments &arguments);

} // namespace ppopt

#endif // PPOPT_TOOLS_PATHS_H
