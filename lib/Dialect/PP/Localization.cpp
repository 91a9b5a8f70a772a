//===- Localization.cpp - What ops record of their cuts -------------------===//

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

Localization::Localization(Operation *op)
    : space(cast<IterationSpaceOpInterface>(op).getIterationSpace()),
      loops(space.loops.size()) {
  auto copyShape = [](Value value) {
    return SmallVector<int64_t>(getShape(value));
  };
  operandShapes = llvm::map_to_vector(op->getOperands(), copyShape);
  resultShapes = llvm::map_to_vector(op->getResults(), copyShape);
}

int64_t pp::countParts(ArrayRef<AxisCut> cuts) {
  int64_t parts = 1;
  for (const AxisCut &cut : cuts)
    parts *= cut.parts;
  return parts;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

AxisCuts TileAttr::getCuts(int64_t dim) const {
  AxisCuts cuts;
  for (TileCutAttr cut : getCuts())
    if (cut.getDim() == dim)
      cuts.push_back(cut.getCut());
  return cuts;
}

/// Returns the tile of a tensor, null if nothing cuts it.
static TileAttr makeTile(MLIRContext *context, const Localization &localization,
                         const TensorLoops &tensor, ArrayRef<int64_t> shape) {
  SmallVector<TileCutAttr> cuts;
  for (auto [dim, loops] : llvm::enumerate(tensor))
    for (const AxisCut &cut : localization.getCuts(loops))
      cuts.push_back(TileCutAttr::get(context, dim, cut.axis, cut.at, cut.parts,
                                      cut.period));
  return cuts.empty() ? TileAttr() : TileAttr::get(context, cuts, shape);
}

/// Returns the tile of a tensor, null if nothing cuts dimension `dim`.
static TileAttr makeTileAlong(MLIRContext *context, int64_t dim,
                              const Localization &localization,
                              const TensorLoops &tensor,
                              ArrayRef<int64_t> shape) {
  if (localization.getCuts(tensor[dim]).empty())
    return TileAttr();
  return makeTile(context, localization, tensor, shape);
}

void DropoutOp::localize(const Localization &localization) {
  setTileAttr(makeTile(getContext(), localization,
                       localization.space.results[0],
                       localization.resultShapes[0]));
}
bool DropoutOp::needsRandomKey() { return true; }

void RandomOp::localize(const Localization &localization) {
  setTileAttr(makeTile(getContext(), localization,
                       localization.space.results[0],
                       localization.resultShapes[0]));
}
bool RandomOp::needsRandomKey() { return true; }

/// Cuts of other dimensions leave the elements as they are.
void IotaOp::localize(const Localization &localization) {
  setTileAttr(makeTileAlong(getContext(), getDim(), localization,
                            localization.space.results[0],
                            localization.resultShapes[0]));
}
bool IotaOp::needsRandomKey() { return getTileAttr() != nullptr; }

void MaskRowsOp::localize(const Localization &localization) {
  setTileAttr(makeTileAlong(getContext(), getDim(), localization,
                            localization.space.results[0],
                            localization.resultShapes[0]));
}
bool MaskRowsOp::needsRandomKey() { return true; }

void EvaluationShareOp::localize(const Localization &) {}
bool EvaluationShareOp::needsRandomKey() { return true; }

void OwnPartOp::localize(const Localization &) {}
bool OwnPartOp::needsRandomKey() { return true; }

/// A cut of columns needs no tile.
void EmbeddingOp::localize(const Localization &localization) {
  setTileAttr(makeTileAlong(getContext(), 0, localization,
                            localization.space.operands[0],
                            localization.operandShapes[0]));
}
bool EmbeddingOp::needsRandomKey() { return getTileAttr() != nullptr; }

void EmbeddingGradOp::localize(const Localization &localization) {
  setTileAttr(makeTileAlong(getContext(), 0, localization,
                            localization.space.results[0],
                            localization.resultShapes[0]));
}
bool EmbeddingGradOp::needsRandomKey() { return getTileAttr() != nullptr; }

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Divides the offset along each permuted loop by the parts of its cuts. An
/// offset is a multiple of the loop's extent.
static SmallVector<int64_t> getLocalOffsets(ArrayRef<int64_t> offsets,
                                            const Localization &localization) {
  SmallVector<int64_t> local(offsets);
  for (auto [offset, loops] : llvm::zip(local, localization.space.operands[0]))
    for (unsigned loop : loops)
      if (localization.space.loops[loop].kind == LoopKind::Permute)
        offset /= countParts(localization.loops[loop]);
  return local;
}

void SliceOp::localize(const Localization &localization) {
  setOffsets(getLocalOffsets(getOffsets(), localization));
}

void PadOp::localize(const Localization &localization) {
  setOffsets(getLocalOffsets(getOffsets(), localization));
}
