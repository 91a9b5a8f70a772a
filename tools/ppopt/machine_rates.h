//===- machine_rates.h - Measures this machine ----------------------------===//

#ifndef PPOPT_TOOLS_MACHINE_RATES_H
#define PPOPT_TOOLS_MACHINE_RATES_H

#include "driver.h"
#include "temporary_folder.h"

#include "ppopt/Analysis/Cluster.h"
#include "ppopt/Analysis/Device.h"

namespace ppopt {

/// Measures what a rank with so many threads computes and sends on this
/// machine, everything so many rounds in turn, with programs that it compiles
/// in `folder`. Leaves the name empty. Prints what fails.
llvm::FailureOr<mlir::pp::Device>
measureMachine(int64_t threads, int64_t rounds, const TemporaryFolder &folder,
               const mlir::pp::CompilationSetup &setup);

/// Measures what so many ranks of this machine send to each other: the level of
/// a cluster that has one machine. Prints what fails.
llvm::FailureOr<schema::Level>
measureLevel(int64_t ranks, int64_t threads, const TemporaryFolder &folder,
             const mlir::pp::CompilationSetup &setup);

} // namespace ppopt

#endif // PPOPT_TOOLS_MACHINE_RATES_H
