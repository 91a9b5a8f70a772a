//===- PlaceProgram.h - A place's part of the program ---------------------===//

#ifndef PPOPT_PROGRAM_PLACEPROGRAM_H
#define PPOPT_PROGRAM_PLACEPROGRAM_H

#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Program/Places.h"
#include "ppopt/Program/ProgramTables.h"
#include "ppopt/Program/SchemaWords.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

namespace mlir::pp {

/// Symbols that the parts of a program look up, each found once.
struct ProgramIndex {
  explicit ProgramIndex(ModuleOp module)
      : tables(module), buffers(module), step(module),
        scalars(findScalars(module)), outputs(findOutputs(module)) {}

  ProgramTables tables;
  BufferIndex buffers;
  StepIndex step;
  llvm::MapVector<RoleAttr, ShapedType> scalars;
  SmallVector<TaskOutput> outputs;
};

/// Returns the program's entry of a place: the arena and its layout, the
/// actions and their predicted counts. `layouts` has one entry per place, by
/// number.
FailureOr<schema::Place> describePlace(ModuleOp module, PlanOp plan,
                                       const PlaceContents &contents,
                                       const ProgramIndex &index,
                                       ArrayRef<ArenaLayout> layouts);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PLACEPROGRAM_H
