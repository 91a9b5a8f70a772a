//===- PlanKernels.cpp - Decides tiles, threads and lanes for a GPU -------===//
//
// Before: kernels with a form, a space and sweeps. After: the same with tiles
// and threads, and reductions over rows with lanes, which emitters follow:
//
//   pp.kernel @k(...) attributes {form = #pp.form<rows 9x768>,
//                                 threads = #pp.threads<256, 32 per row, 8
//                                 each>, tiles = #pp.tiles<2 of 8 rows>} {
//     pp.reduce sum %x [1] {pp.lanes = 256 : i64, pp.sweep = 0 : i64}
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "Shuffle.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANCUDAKERNELS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

void pp::setTiles(KernelOp kernel, int64_t tiles, int64_t size, TileUnit unit,
                  int64_t threads, int64_t perRow, int64_t each,
                  int64_t block) {
  MLIRContext *context = kernel.getContext();
  kernel.setTilesAttr(TilesAttr::get(context, tiles, size, unit, block));
  kernel.setThreadsAttr(
      ThreadsAttr::get(context, threads, perRow, each, /*shared=*/0));
}

int64_t pp::countThreads(KernelOp kernel, int64_t work, int64_t times) {
  int64_t most = llvm::bit_floor(uint64_t(std::min(
      times * getThreshold(kernel, Threshold::GpuThreads), kMostThreads)));
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(work), kWarp, most);
}

int64_t pp::getMostEach(KernelOp kernel) {
  return llvm::bit_floor(uint64_t(getThreshold(kernel, Threshold::GpuEach)));
}

int64_t pp::countEach(KernelOp kernel, int64_t columns) {
  int64_t each = getMostEach(kernel);
  while (columns % each != 0)
    each /= 2;
  return each;
}

namespace {

struct PlanCudaKernelsPass
    : pp::impl::PlanCudaKernelsBase<PlanCudaKernelsPass> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getFormAttr()) {
      kernel.emitOpError("has no form; run --pp-form-kernels first");
      return signalPassFailure();
    }
    if (failed(findForm<CudaForm>(kernel).plan(kernel)))
      signalPassFailure();
  }
};

} // namespace
