//===- PlaceProgram.h - A place's part of the JSON document ---------------===//

#ifndef PPOPT_PROGRAM_PLACEPROGRAM_H
#define PPOPT_PROGRAM_PLACEPROGRAM_H

#include "ppopt/Program/ArenaLayout.h"
#include "ppopt/Program/Places.h"
#include "ppopt/Program/ProgramTables.h"
#include "ppopt/Transforms/Scheduling/SlotUses.h"

#include "llvm/Support/JSON.h"

namespace mlir::pp {

/// Symbols that the parts of a program look up, each found once.
struct ProgramIndex {
  explicit ProgramIndex(ModuleOp module)
      : tables(module), summed(findSummedBuffers(module)), uses(module) {}

  ProgramTables tables;
  DenseMap<Attribute, SummedBuffer> summed;
  SlotUses uses;
};

/// Returns an entry of "places" in the document that docs/program.md describes:
/// the arena and its layout, the actions and their predicted counts. `layouts`
/// has one entry per place, by number.
FailureOr<llvm::json::Object> describePlace(ModuleOp module, PlanOp plan,
                                            const PlaceContents &contents,
                                            const ProgramIndex &index,
                                            ArrayRef<ArenaLayout> layouts);

/// Returns "f32", "memref<4xf32>": the type as MLIR prints it.
std::string spell(Type type);

} // namespace mlir::pp

#endif // PPOPT_PROGRAM_PLACEPROGRAM_H
