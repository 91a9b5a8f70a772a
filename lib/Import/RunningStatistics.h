//===- RunningStatistics.h - Buffers that batch norms update --------------===//

#ifndef PPOPT_LIB_IMPORT_RUNNINGSTATISTICS_H
#define PPOPT_LIB_IMPORT_RUNNINGSTATISTICS_H

#include "ExportedProgram.h"

#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::pp::pt2 {

/// What the batch norms of a graph update that was exported in training.
struct RunningStatistics {
  struct Buffer {
    InitKind reset;      ///< what PyTorch resets it to
    std::string updated; ///< the result that is its new value, if one is
  };
  /// By names in the graph. What another op reads too is left out.
  llvm::StringMap<Buffer> buffers;
  /// num_batches_tracked in the graph, before and after additions to it.
  llvm::StringSet<> counters;
};

RunningStatistics findRunningStatistics(const ExportedProgram &program);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_RUNNINGSTATISTICS_H
