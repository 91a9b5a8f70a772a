//===- MatmulDescriptors.cpp - Matmuls as libraries see them --------------===//

#include "ppopt/Analysis/MatmulDescriptors.h"

using namespace mlir;
using namespace mlir::pp;

::ppopt::MatmulType pp::getMatmulType(Type type) {
  if (type.isF64())
    return ::ppopt::MatmulType::f64;
  return type.isBF16() ? ::ppopt::MatmulType::bf16 : ::ppopt::MatmulType::f32;
}

::ppopt::MatmulDescriptor pp::describeMatmul(GemmOp op) {
  ::ppopt::MatmulDescriptor matmul;
  matmul.type = getMatmulType(getElementTypeOrSelf(op.getA()));
  matmul.cType = getMatmulType(getElementTypeOrSelf(op.getC()));
  matmul.accumulate = op.getAccumulate();
  matmul.m = op.getM();
  matmul.n = op.getN();
  matmul.k = op.getK();
  llvm::copy(op.getBatch(), matmul.batch.begin());
  llvm::copy(op.getAStrides(), matmul.a.begin());
  llvm::copy(op.getBStrides(), matmul.b.begin());
  llvm::copy(op.getCStrides(), matmul.c.begin());
  return matmul;
}
