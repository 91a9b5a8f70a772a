//===- LowerDeviceCode.cpp - The conversions of device code to LLVM -------===//

#include "ppopt/Codegen/CUDA/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_LOWERDEVICECODE
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct LowerDeviceCodePass
    : pp::impl::LowerDeviceCodeBase<LowerDeviceCodePass> {
  void runOnOperation() override {
    DataLayout layout(getOperation());
    unsigned indexBits =
        layout.getTypeSizeInBits(IndexType::get(&getContext()));
    OpPassManager manager(ModuleOp::getOperationName());
    addPasses(manager, indexBits);
    if (failed(runPipeline(manager, getOperation())))
      signalPassFailure();
  }

private:
  static void addPasses(OpPassManager &manager, unsigned indexBits) {
    manager.addPass(createLowerDeviceMath());
    OpPassManager &kernels = manager.nest<LLVM::LLVMFuncOp>();
    kernels.addPass(createCanonicalizerPass());
    kernels.addPass(createCSEPass());
    kernels.addPass(createSCFToControlFlowPass());
    ConvertMathToLLVMPassOptions math;
    math.approximateLog1p = false;
    kernels.addPass(createConvertMathToLLVMPass(math));
    ArithToLLVMConversionPassOptions arith;
    arith.indexBitwidth = indexBits;
    kernels.addPass(createArithToLLVMConversionPass(arith));
    // Tables of constants.
    FinalizeMemRefToLLVMConversionPassOptions memory;
    memory.indexBitwidth = indexBits;
    manager.addPass(createFinalizeMemRefToLLVMConversionPass(memory));
    ConvertControlFlowToLLVMPassOptions branches;
    branches.indexBitwidth = indexBits;
    manager.addPass(createConvertControlFlowToLLVMPass(branches));
    manager.addPass(createReconcileUnrealizedCastsPass());
  }
};

} // namespace
