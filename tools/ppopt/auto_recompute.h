//===- auto_recompute.h - What to compute again where memory is short -----===//

#ifndef PPOPT_TOOLS_AUTO_RECOMPUTE_H
#define PPOPT_TOOLS_AUTO_RECOMPUTE_H

#include "compilation.h"
#include "flags.h"

namespace ppopt {

/// Under --device-memory, and unless the user gave --recompute: sets it to the
/// cheapest choice with which some schedule of the plan fits, or where none
/// does to the one that needs least. Writes one line to `notes`: what was
/// taken, and what each choice before it would need. Other plans stay as they
/// are.
void chooseRecompute(Compilation &compilation, const Arguments &arguments,
                     mlir::pp::PlanOptions &plan, llvm::raw_ostream &notes);

} // namespace ppopt

#endif // PPOPT_TOOLS_AUTO_RECOMPUTE_H
