//===- DecomposeKernels.cpp - Replaces composites -------------------------===//
//
// Before: tasks on local shapes contain composites. After: element ops, sums,
// maxima, matmuls, and attention, which has a kernel of its own.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Codegen/Passes.h"
#include "ppopt/Transforms/Model/Decompose.h"

namespace mlir::pp {
#define GEN_PASS_DEF_DECOMPOSEKERNELS
#include "ppopt/Codegen/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct DecomposeKernels : pp::impl::DecomposeKernelsBase<DecomposeKernels> {
  void runOnOperation() override {
    if (failed(decomposeAll(getOperation(), DecomposeAt::Kernel)))
      signalPassFailure();
  }
};

} // namespace
