//===- TensorCores.cpp - Products of matrices by a warp -------------------===//

#include "TensorCores.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the members of a structure.
static SmallVector<Value> split(OpBuilder &builder, Location loc,
                                Value structure, unsigned count) {
  SmallVector<Value> members;
  for (int64_t i = 0; i < count; ++i)
    members.push_back(LLVM::ExtractValueOp::create(builder, loc, structure, i));
  return members;
}

SmallVector<Value> pp::emitProduct(OpBuilder &builder, Location loc,
                                   ValueRange a, ValueRange b, ValueRange c) {
  assert(a.size() == 4 && b.size() == 2 && c.size() == 4);
  auto result = LLVM::LLVMStructType::getLiteral(
      builder.getContext(), SmallVector<Type>(4, builder.getF32Type()));
  Value product = NVVM::MmaOp::create(
      builder, loc, result, a, b, c,
      ArrayRef<int64_t>{kProductRows, kProductColumns, kProductDepth},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{NVVM::MMATypes::bf16, NVVM::MMATypes::bf16},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  return split(builder, loc, product, 4);
}

SmallVector<Value> pp::emitLoadMatrices(OpBuilder &builder, Location loc,
                                        Value row, unsigned count,
                                        bool isTransposed) {
  Type word = builder.getI32Type(), result = word;
  if (count > 1)
    result = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                              SmallVector<Type>(count, word));
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, result, row, count,
      isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(builder.getContext(), kMatrix, kMatrix),
      NVVM::LdStMatrixEltType::B16);
  if (count == 1)
    return {loaded};
  return split(builder, loc, loaded, count);
}

Value pp::emitPack(OpBuilder &builder, Location loc, Value first,
                   Value second) {
  Value pair = LLVM::PoisonOp::create(
      builder, loc, VectorType::get({2}, builder.getF32Type()));
  for (auto [i, element] : llvm::enumerate(std::array{first, second}))
    pair = LLVM::InsertElementOp::create(
        builder, loc, pair, element,
        LLVM::ConstantOp::create(builder, loc, builder.getI32Type(),
                                 int64_t(i)));
  Value rounded = arith::TruncFOp::create(
      builder, loc, VectorType::get({2}, builder.getBF16Type()), pair);
  return LLVM::BitcastOp::create(builder, loc, builder.getI32Type(), rounded);
}
