//===- EmitMatmuls.cpp - Emits each matmul as code of a GPU's threads -----===//
//
//   module @device attributes {dlti.dl_spec = #dlti.dl_spec<index = 32>} {
//     llvm.func @matmul_64x64x64_f32(%a: !llvm.ptr {llvm.noalias}, %b, %c)
//         attributes {nvvm.kernel, nvvm.reqntid = [128]}
//   }
//
//===----------------------------------------------------------------------===//

#include "DeviceModules.h"
#include "MatmulThread.h"

#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace mlir::pp {
#define GEN_PASS_DEF_EMITCUDAMATMULS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether an offset into an operand may reach 2^31. Sizes are those of
/// whole tiles: what lies outside is masked, but its offset is computed.
static bool isWide(GemmOp op) {
  ArrayRef<int64_t> batch = op.getBatch(), tile = op.getKernelAttr().getTile();
  auto reaches = [&](ArrayRef<int64_t> strides, int64_t rows,
                     int64_t rowsOfTile, int64_t columns,
                     int64_t columnsOfTile) {
    return (batch[0] - 1) * strides[0] + (batch[1] - 1) * strides[1] +
               llvm::alignTo(rows, rowsOfTile) * strides[2] +
               llvm::alignTo(columns, columnsOfTile) * strides[3] >=
           int64_t(1) << 31;
  };
  return reaches(op.getAStrides(), op.getM(), tile[0], op.getK(), tile[2]) ||
         reaches(op.getBStrides(), op.getK(), tile[2], op.getN(), tile[1]) ||
         reaches(op.getCStrides(), op.getM(), tile[0], op.getN(), tile[1]);
}

namespace {

struct EmitCudaMatmulsPass
    : pp::impl::EmitCudaMatmulsBase<EmitCudaMatmulsPass> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    DenseSet<StringAttr> emitted;
    getOperation().walk([&](GemmOp op) {
      MatmulKernelAttr kernel = op.getKernelAttr();
      if (kernel && emitted.insert(kernel.getName().getAttr()).second)
        emit(builder, op, kernel);
    });
  }

private:
  void emit(OpBuilder &builder, GemmOp op, MatmulKernelAttr kernel) {
    Location loc = op.getLoc();
    LLVM::LLVMFuncOp function = addKernel(
        builder, getDeviceModule(getOperation(), isWide(op)), loc,
        kernel.getName().getValue(), kernel.getThreads(), kResidentSummers,
        /*pointers=*/3);
    ValueRange pointers = function.getArguments();
    (usesTensorCores(op) ? createTensorMatmul(builder, op, pointers)
                         : createPlainMatmul(builder, op, pointers))
        ->emit();
    LLVM::ReturnOp::create(builder, loc, ValueRange());
  }
};

} // namespace
