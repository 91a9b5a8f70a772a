//===- auto_memory.h - Options chosen under --device-memory ---------------===//

#ifndef PPOPT_TOOLS_AUTO_MEMORY_H
#define PPOPT_TOOLS_AUTO_MEMORY_H

#include "compilation.h"
#include "flags.h"

namespace ppopt {

/// With --device-memory, sets --recompute and, where tasks gather parameters,
/// --prefetch, unless they are given, to the fastest choice with which some
/// schedule of the plan fits; if none fits, to the one that needs least. Writes
/// one line to `notes` with the choice and what each choice tried before would
/// need. Leaves other plans unchanged.
void chooseWithinMemory(Compilation &compilation, const Arguments &arguments,
                        mlir::pp::PlanOptions &plan, llvm::raw_ostream &notes);

} // namespace ppopt

#endif // PPOPT_TOOLS_AUTO_MEMORY_H
