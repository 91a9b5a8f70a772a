//===- commands.h - The subcommands, one file each ------------------------===//

#ifndef PPOPT_TOOLS_COMMANDS_H
#define PPOPT_TOOLS_COMMANDS_H

#include "command_line.h"

namespace ppopt {

extern const Command importCommand;
extern const Command compileCommand;
extern const Command planCommand;
extern const Command machineCommand;
extern const Command plotCommand;
extern const Command modelGptCommand;
extern const Command modelMlpCommand;
extern const Command modelLlamaCommand;
extern const Command modelQwenCommand;
extern const Command modelMistralCommand;
extern const Command modelMixtralCommand;
extern const Command modelBertCommand;

/// `ppopt opt`: MLIR's own driver, with its own flags.
int runOpt(int argc, char **argv);

} // namespace ppopt

#endif // PPOPT_TOOLS_COMMANDS_H
