//===- MatmulTile.cpp - How a block of a GPU computes a matmul ------------===//

#include "MatmulTile.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

MatmulOperand MatmulOperand::getA(GemmOp op) {
  ArrayRef<int64_t> strides = op.getAStrides();
  return {op.getA(),
          op.getM(),
          op.getK(),
          strides[2],
          strides[3],
          {strides[0], strides[1]},
          static_cast<int64_t>(op.getAOffset())};
}

MatmulOperand MatmulOperand::getB(GemmOp op) {
  ArrayRef<int64_t> strides = op.getBStrides();
  return {op.getB(),
          op.getN(),
          op.getK(),
          strides[3],
          strides[2],
          {strides[0], strides[1]},
          static_cast<int64_t>(op.getBOffset())};
}

bool pp::usesTensorCores(GemmOp op) {
  return getElementTypeOrSelf(op.getA()).isBF16();
}

static StagedTile stage(GemmOp op, int64_t rows, int64_t depth,
                        bool isAlongDepth) {
  int64_t bytes = getElementBytes(getElementTypeOrSelf(op.getA()));
  if (usesTensorCores(op) && isAlongDepth)
    return {rows, depth, bytes, true};
  return {depth, rows, bytes, false};
}

StagedTile pp::getStagedA(GemmOp op, MatmulKernelAttr kernel) {
  ArrayRef<int64_t> tile = kernel.getTile();
  return stage(op, tile[0], tile[2], kernel.getAAlong() == MatmulDim::K);
}

StagedTile pp::getStagedB(GemmOp op, MatmulKernelAttr kernel) {
  ArrayRef<int64_t> tile = kernel.getTile();
  return stage(op, tile[1], tile[2], kernel.getBAlong() == MatmulDim::K);
}
