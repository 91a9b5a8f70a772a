//===- SetKernelPitches.cpp - Gives kernels the pitches of their buffers --===//
//
// Before: launches and matmuls say which of their results have padded rows.
// After: so do the kernels' arguments and results:
//
//   pp.launch @relu ins(%0 : tensor<9x33xf32>) ...
//   pp.kernel @relu(%x: tensor<9x33xf32> {pp.pitch = 36 : i64}) -> ...
//
//===----------------------------------------------------------------------===//

#include "ppopt/Codegen/PaddedRows.h"
#include "ppopt/Codegen/Passes.h"
#include "ppopt/Dialect/PP/KernelOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SETKERNELPITCHES
#include "ppopt/Codegen/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Returns the pitches of a launch's buffers: 0 where rows are dense.
SmallVector<int64_t> getPitches(LaunchOp launch) {
  SmallVector<int64_t> pitches;
  for (Value input : launch.getIns())
    pitches.push_back(getPitch(input).value_or(0));
  for (Value result : launch.getResults())
    pitches.push_back(getPitch(result).value_or(0));
  return pitches;
}

struct SetKernelPitchesPass
    : pp::impl::SetKernelPitchesBase<SetKernelPitchesPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    /// The kernels by that of form-kernels and the pitches of their buffers.
    std::map<std::pair<Operation *, SmallVector<int64_t>>, KernelOp> kernels;
    DenseSet<Operation *> taken;
    getOperation().walk([&](LaunchOp launch) {
      auto kernel = symbols.lookup<KernelOp>(launch.getKernel());
      SmallVector<int64_t> pitches = getPitches(launch);
      KernelOp &own = kernels[{kernel, pitches}];
      if (!own) {
        own = kernel;
        if (!taken.insert(kernel).second) {
          own = kernel.clone();
          symbols.insert(own, std::next(Block::iterator(kernel)));
        }
        for (auto [i, pitch] : llvm::enumerate(pitches))
          own.setPitch(i, pitch ? Pitch(pitch) : std::nullopt);
      }
      launch.setKernel(own.getSymName());
    });
  }
};

} // namespace
