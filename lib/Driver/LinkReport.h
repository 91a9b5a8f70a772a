//===- LinkReport.h - Which links a plan uses -------------------*- C++ -*-===//

#ifndef PPOPT_LIB_DRIVER_LINKREPORT_H
#define PPOPT_LIB_DRIVER_LINKREPORT_H

#include "ppopt/Driver/PlanReport.h"

namespace mlir::pp {

/// Adds which levels of the module's cluster the transfers and collectives of a
/// module of phase kernels cross; nothing without a cluster.
void addLinks(ModuleOp module, PlanReport &report);

} // namespace mlir::pp

#endif // PPOPT_LIB_DRIVER_LINKREPORT_H
