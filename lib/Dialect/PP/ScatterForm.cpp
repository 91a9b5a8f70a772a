//===- ScatterForm.cpp - Kernels that add rows to a table -----------------===//

#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

KernelForm EmbeddingGradOp::getKernelForm() { return KernelForm::Scatter; }

/// The rows that are added; the columns are those of the table.
SmallVector<int64_t> EmbeddingGradOp::getKernelSpace() {
  SmallVector<int64_t> sizes(getShape(getDy()));
  llvm::erase(sizes, 1);
  if (getShape(getResult()).back() == 1)
    sizes.push_back(1);
  return sizes;
}

std::optional<int64_t> EmbeddingGradOp::countTiles(TilesAttr tiles) {
  if (tiles.getUnit() != TileUnit::Columns)
    return std::nullopt;
  ArrayRef<int64_t> table = getShape(getResult());
  int64_t block = tiles.getBlock();
  return llvm::divideCeil(table.back(), tiles.getSize()) *
         (block ? llvm::divideCeil(table.front(), block) : 1);
}

bool EmbeddingGradOp::usesStrides() { return false; }
