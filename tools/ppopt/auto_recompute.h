//===- auto_recompute.h - Chooses --recompute under --device-memory -------===//

#ifndef PPOPT_TOOLS_AUTO_RECOMPUTE_H
#define PPOPT_TOOLS_AUTO_RECOMPUTE_H

#include "compilation.h"
#include "flags.h"

namespace ppopt {

/// With --device-memory and without --recompute, sets it to the cheapest choice
/// with which some schedule of the plan fits; if none fits, to the choice that
/// needs least. Writes one line to `notes` with the choice and what each choice
/// tried before would need. Leaves other plans unchanged.
void chooseRecompute(Compilation &compilation, const Arguments &arguments,
                     mlir::pp::PlanOptions &plan, llvm::raw_ostream &notes);

} // namespace ppopt

#endif // PPOPT_TOOLS_AUTO_RECOMPUTE_H
