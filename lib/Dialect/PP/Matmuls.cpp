//===- Matmuls.cpp - Matmuls on buffers, and their kernels ----------------===//

#include "ppopt/Dialect/PP/KernelOps.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::pp;

std::string GemmOp::makeName() {
  std::string name = "matmul_";
  llvm::raw_string_ostream os(name);
  if (int64_t batch = llvm::product_of(getBatch()); batch != 1)
    os << batch << "x";
  os << getM() << "x" << getN() << "x" << getK() << "_"
     << getA().getType().getElementType();
  if (getAccumulate())
    os << "_acc";
  return name;
}

LogicalResult GemmOp::verify() {
  MatmulKernelAttr kernel = getKernelAttr();
  if (!kernel)
    return success();
  ArrayRef<int64_t> tile = kernel.getTile();
  int64_t blocks = llvm::product_of(getBatch()) *
                   llvm::divideCeil(getM(), tile[0]) *
                   llvm::divideCeil(getN(), tile[1]);
  if (kernel.getBlocks() != blocks)
    return emitOpError("has a kernel of ")
           << kernel.getBlocks() << " blocks, and its C has " << blocks
           << " tiles";
  return success();
}

LogicalResult MatmulKernelAttr::verify(
    function_ref<InFlightDiagnostic()> emitError, FlatSymbolRefAttr name,
    int64_t blocks, int64_t threads, ArrayRef<int64_t> tile,
    ArrayRef<int64_t> part, int64_t aWidth, MatmulDim aAlong, int64_t bWidth,
    MatmulDim bAlong, int64_t cWidth, int64_t shared, int64_t sum) {
  if (tile.size() != 3 || part.size() != 2)
    return emitError() << "a tile is of m, n and k, a part of m and n";
  auto isSize = [](int64_t n) { return llvm::isPowerOf2_64(n); };
  if (blocks < 1 || threads < 1 || shared < 0 || sum < 0 ||
      !llvm::all_of(tile, isSize) || !llvm::all_of(part, isSize) ||
      !isSize(aWidth) || !isSize(bWidth) || !isSize(cWidth))
    return emitError() << "has a size below 1, or one of a tile that is no "
                          "power of two";
  if (tile[0] % part[0] != 0 || tile[1] % part[1] != 0 || sum % tile[2] != 0)
    return emitError() << "has parts that do not divide a tile";
  if (aAlong == MatmulDim::N || bAlong == MatmulDim::M)
    return emitError() << "loads an operand along a dimension that it has not";
  return success();
}
