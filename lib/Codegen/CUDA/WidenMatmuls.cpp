//===- WidenMatmuls.cpp - Computes matmuls of an odd depth in f32 ---------===//
//
// Before: a large matmul in bf16 whose terms are contiguous and no multiple of
// 16 bytes. After: it is added to zeros in f32, and rounded once:
//
//   %z = pp.zeros : tensor<8192x768xf32>
//   %0 = pp.matmul %x, %w : tensor<8192x50257xbf16>, tensor<50257x768xbf16>
//   %1 = pp.cast %0 : tensor<8192x768xbf16> to tensor<8192x768xf32>
//   %2 = pp.accumulate %z, %1 : tensor<8192x768xf32>
//   %3 = pp.cast %2 : tensor<8192x768xf32> to tensor<8192x768xbf16>
//
// The library computes such a matmul fast only in two parts, whose sum it would
// round in between (runtime/device/cuda/split_matmul.h).
//
//===----------------------------------------------------------------------===//

#include "VectorAccess.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Codegen/ForEachTask.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_WIDENCUDAMATMULS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
using ::ppopt::MatmulDescriptor;
using ::ppopt::MatmulType;

/// Returns whether the library would be fast if there were a few terms less.
static bool hasOddDepth(const MatmulDescriptor &matmul, int64_t fewest) {
  bool isContiguous = matmul.a[3] == 1 || matmul.b[2] == 1;
  return matmul.type == MatmulType::bf16 && matmul.cType == MatmulType::bf16 &&
         isContiguous && matmul.k * elementBytes(matmul.type) % kVectorBytes &&
         matmul.flops() / 2 >= fewest;
}

static void widen(LibraryCallOpInterface call) {
  OpBuilder builder(call);
  Location loc = call.getLoc();
  Value narrow = call->getResult(0);
  auto type = cast<RankedTensorType>(narrow.getType());
  RankedTensorType wideType = type.clone(builder.getF32Type());
  Value zeros = ZerosOp::create(builder, loc, wideType);
  builder.setInsertionPointAfter(call);
  auto wide = CastOp::create(builder, loc, wideType, narrow);
  Value sum = AccumulateOp::create(builder, loc, zeros, wide);
  narrow.replaceAllUsesExcept(CastOp::create(builder, loc, type, sum), wide);
}

namespace {

struct WidenCudaMatmulsPass
    : pp::impl::WidenCudaMatmulsBase<WidenCudaMatmulsPass> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    FailureOr<const Target *> target = findTarget(getOperation());
    if (failed(plan) || failed(target))
      return signalPassFailure();
    if (plan->getMatmulSource() != MatmulSource::library)
      return;
    int64_t fewest = getThreshold(getOperation(), Threshold::GpuSplitProducts);
    (void)forEachTask(getOperation(), [&](TaskOp task) {
      for (auto call : llvm::to_vector(
               task.getBody().front().getOps<LibraryCallOpInterface>())) {
        Value failed;
        std::optional<FoldedCall> folded = foldCall(
            call, [](Operation *) { return false; }, /*accumulates=*/false,
            failed);
        if (folded && !getAccumulation(call, **target) &&
            hasOddDepth(folded->call, fewest))
          widen(call);
      }
      return success();
    });
  }
};

} // namespace
