//===- TestIterationSpace.cpp - A remark with each op's iteration space ---===//

#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_TESTITERATIONSPACE
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

StringRef getSuffix(LoopKind kind) {
  switch (kind) {
  case LoopKind::Parallel:
    return "";
  case LoopKind::Sum:
    return "(sum)";
  case LoopKind::Max:
    return "(max)";
  case LoopKind::Lookup:
    return "(lookup)";
  case LoopKind::Permute:
    return "(permute)";
  case LoopKind::Replicate:
    return "(replicate)";
  }
  llvm_unreachable("all kinds are listed");
}

void print(raw_ostream &os, ArrayRef<TensorLoops> tensors) {
  llvm::interleaveComma(tensors, os, [&](const TensorLoops &dims) {
    os << "[";
    llvm::interleaveComma(dims, os, [&](const DimLoops &loops) {
      if (loops.empty())
        os << ".";
      for (unsigned loop : loops)
        os << static_cast<char>('a' + loop);
    });
    os << "]";
  });
}

void print(raw_ostream &os, const IterationSpace &space) {
  llvm::interleave(
      llvm::enumerate(space.loops), os,
      [&](auto entry) {
        os << static_cast<char>('a' + entry.index()) << "="
           << entry.value().extent << getSuffix(entry.value().kind);
      },
      " ");
  os << ": ";
  print(os, space.operands);
  os << " -> ";
  print(os, space.results);
}

/// Prints every set of operands that the op is linear in.
void printLinear(raw_ostream &os, IterationSpaceOpInterface op) {
  StringRef separator = "; linear in ";
  for (unsigned bits = 1; bits < (1u << op->getNumOperands()); ++bits) {
    SmallVector<unsigned> operands;
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (bits & (1u << i))
        operands.push_back(i);
    if (!op.isLinearIn(operands))
      continue;
    os << separator << "{";
    llvm::interleaveComma(operands, os);
    os << "}";
    separator = ", ";
  }
}

/// Checks that each tensor has an entry and that its loops cover each
/// dimension.
LogicalResult check(Operation *op, const IterationSpace &space,
                    ValueRange values, ArrayRef<TensorLoops> tensors) {
  if (values.size() != tensors.size())
    return op->emitError("its iteration space has ")
           << tensors.size() << " tensors for " << values.size() << " values";
  for (auto [value, dims] : llvm::zip(values, tensors)) {
    if (getShape(value).size() != dims.size())
      return op->emitError("its iteration space has ")
             << dims.size() << " dimensions for " << value.getType();
    for (auto [size, loops] : llvm::zip(getShape(value), dims)) {
      int64_t extent = 1;
      for (unsigned loop : loops)
        extent *= space.loops[loop].extent;
      if (!loops.empty() && extent != size)
        return op->emitError("loops of extent ")
               << extent << " run over a dimension of size " << size << " of "
               << value.getType();
    }
  }
  return success();
}

struct TestIterationSpace
    : pp::impl::TestIterationSpaceBase<TestIterationSpace> {
  void runOnOperation() override {
    getOperation()->walk([&](IterationSpaceOpInterface op) {
      IterationSpace space = op.getIterationSpace();
      if (failed(check(op, space, op->getOperands(), space.operands)) ||
          failed(check(op, space, op->getResults(), space.results)))
        return signalPassFailure();
      std::string text;
      llvm::raw_string_ostream os(text);
      print(os, space);
      printLinear(os, op);
      if (op.needsRandomKey())
        os << "; needs the random key";
      os << ".";
      op->emitRemark(text);
    });
  }
};

} // namespace
