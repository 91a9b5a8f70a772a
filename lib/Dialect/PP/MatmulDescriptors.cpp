//===- MatmulDescriptors.cpp - Matmuls as libraries see them --------------===//

#include "ppopt/Dialect/PP/MatmulDescriptors.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

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

//===----------------------------------------------------------------------===//
// pp.matmul
//===----------------------------------------------------------------------===//

namespace {
/// A loop over batches: the stride of each operand.
struct BatchLoop {
  int64_t size, a, b, c;
};
} // namespace

/// Merges neighbours if all three operands allow it, and the last into the rows
/// if B does not move.
static void mergeBatchLoops(SmallVectorImpl<BatchLoop> &loops,
                            ::ppopt::MatmulDescriptor &call) {
  llvm::erase_if(loops, [](const BatchLoop &loop) { return loop.size == 1; });
  while (!loops.empty()) {
    const BatchLoop &last = loops.back();
    if (call.m == 1 && last.b == 0) {
      call.a[2] = last.a;
      call.c[2] = last.c;
    }
    if (last.b != 0 || last.a != call.m * call.a[2] ||
        last.c != call.m * call.c[2])
      break;
    call.m *= last.size;
    loops.pop_back();
  }
  for (size_t i = loops.size(); i-- > 1;) {
    BatchLoop &outer = loops[i - 1], inner = loops[i];
    if (outer.a == inner.a * inner.size && outer.b == inner.b * inner.size &&
        outer.c == inner.c * inner.size) {
      outer = {outer.size * inner.size, inner.a, inner.b, inner.c};
      loops.erase(loops.begin() + i);
    }
  }
}

/// Nothing if more than two batch dimensions remain.
std::optional<::ppopt::MatmulDescriptor>
MatmulOp::describeCall(ArrayRef<Layout> operands,
                       ArrayRef<int64_t> resultStrides, bool accumulates) {
  const Layout &a = operands[0], &b = operands[1];
  unsigned rank = a.sizes.size(), bRank = b.sizes.size();
  bool aFlag = getTransposeLhs(), bFlag = getTransposeRhs();
  unsigned aRow = rank - (aFlag ? 1 : 2), aCol = rank - (aFlag ? 2 : 1);
  unsigned bRow = bRank - (bFlag ? 1 : 2), bCol = bRank - (bFlag ? 2 : 1);

  ::ppopt::MatmulDescriptor call;
  call.type = getMatmulType(getElementTypeOrSelf(getLhs()));
  call.cType = getMatmulType(getElementTypeOrSelf(getResult()));
  call.accumulate = accumulates;
  call.m = a.sizes[aRow];
  call.n = b.sizes[bCol];
  call.k = a.sizes[aCol];
  call.a = {0, 0, a.strides[aRow], a.strides[aCol]};
  call.b = {0, 0, b.strides[bRow], b.strides[bCol]};
  call.c = {0, 0, resultStrides[rank - 2], resultStrides[rank - 1]};
  SmallVector<BatchLoop> loops;
  for (unsigned i = 0; i + 2 < rank; ++i)
    loops.push_back({a.sizes[i], a.strides[i], bRank > 2 ? b.strides[i] : 0,
                     resultStrides[i]});
  mergeBatchLoops(loops, call);
  if (loops.size() > 2)
    return std::nullopt; // contiguous operands merge
  for (unsigned i = 0; i < loops.size(); ++i) {
    unsigned at = 2 - loops.size() + i;
    call.batch[at] = loops[i].size;
    call.a[at] = loops[i].a;
    call.b[at] = loops[i].b;
    call.c[at] = loops[i].c;
  }
  return call;
}

::ppopt::MatmulDescriptor MatmulOp::describeAccumulation(Type element) {
  ::ppopt::MatmulDescriptor call;
  call.type = getMatmulType(getElementTypeOrSelf(getLhs()));
  call.cType = getMatmulType(element);
  call.accumulate = true;
  return call;
}

void MatmulOp::createCall(OpBuilder &builder,
                          const ::ppopt::MatmulDescriptor &call,
                          ValueRange operands, ArrayRef<int64_t> offsets,
                          Value result, Value workspace) {
  GemmOp::create(builder, getLoc(), operands[0], operands[1], result, workspace,
                 call.m, call.n, call.k, call.batch, call.a, call.b, call.c,
                 offsets[0], offsets[1], /*c_offset=*/0, call.accumulate,
                 /*kernel=*/nullptr);
}
