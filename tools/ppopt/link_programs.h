//===- link_programs.h - Makes an executable of compiled programs ---------===//

#ifndef PPOPT_TOOLS_LINK_PROGRAMS_H
#define PPOPT_TOOLS_LINK_PROGRAMS_H

#include "driver.h"
#include "temporary_folder.h"

#include "ppopt/Program/PlanOptions.h"

#include "mlir/IR/BuiltinOps.h"

namespace ppopt {

/// Makes an executable of the program that trains and the one that generates,
/// both of phase native, by the plan's target. Other files that this needs are
/// written to `folder`. On an error, prints it.
llvm::LogicalResult
linkPrograms(mlir::ModuleOp training, mlir::ModuleOp generation,
             const mlir::pp::PlanOptions &plan, const DriverSetup &setup,
             const TemporaryFolder &folder, llvm::StringRef executable);

} // namespace ppopt

#endif // PPOPT_TOOLS_LINK_PROGRAMS_H
