//===- PlanKernels.cpp - Decides tiles and lanes of kernels for a CPU -----===//
//
// Before: kernels with a form, a space and sweeps. After: the same with tiles,
// and reductions over rows with lanes, which emitters follow:
//
//   pp.kernel @k(...) attributes {form = #pp.form<rows 7x33>,
//                                 tiles = #pp.tiles<7 of 1 rows>} {
//     pp.reduce sum %x [1] {pp.lanes = 32 : i64, pp.sweep = 0 : i64}
//
//===----------------------------------------------------------------------===//

#include "CpuForm.h"

#include "ppopt/Codegen/CPU/Passes.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANKERNELS
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct PlanKernelsPass : pp::impl::PlanKernelsBase<PlanKernelsPass> {
  using PlanKernelsBase::PlanKernelsBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getFormAttr()) {
      kernel.emitOpError("has no form; run --pp-form-kernels first");
      return signalPassFailure();
    }
    kernel.setTilesAttr(findForm<CpuForm>(kernel).plan(kernel, vectorBytes));
  }
};

} // namespace
