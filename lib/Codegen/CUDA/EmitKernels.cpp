//===- EmitKernels.cpp - Emits each kernel as code of a GPU's threads -----===//
//
//   module @device attributes {dlti.dl_spec = #dlti.dl_spec<index = 32>} {
//     llvm.func @k(%in: !llvm.ptr {llvm.noalias, llvm.align}, ..., %out)
//         attributes {nvvm.kernel, nvvm.reqntid = [256]}
//   }
//   llvm.func @k_tiles(...) { llvm.intr.trap }
//
// The buffers are the kernel's arguments, then its results; a result in place
// of an argument has that argument's address, and its own parameter is unused.
//
//===----------------------------------------------------------------------===//

#include "CudaForm.h"
#include "DeviceModules.h"

#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Codegen/KernelUses.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_EMITCUDAKERNELS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Checks that what emitters follow is decided.
static LogicalResult checkPlan(KernelOp kernel) {
  if (!kernel.getTilesAttr() || !kernel.getThreadsAttr())
    return kernel.emitOpError("has no tiles or threads; run "
                              "--pp-plan-cuda-kernels first");
  return findForm<CudaForm>(kernel).check(kernel);
}

/// Returns whether all offsets into a kernel's buffers are below 2^31.
static bool hasSmallBuffers(KernelOp kernel) {
  constexpr int64_t kMost = int64_t(1) << 31;
  SmallVector<Type> types(kernel.getArgumentTypes());
  types.append(kernel.getResultTypes().begin(), kernel.getResultTypes().end());
  for (auto [i, type] : llvm::enumerate(types))
    if (countWithPadding(cast<RankedTensorType>(type).getShape(),
                         kernel.getPitch(i)) >= kMost)
      return false;
  return kernel.getFormAttr().getNumElements() < kMost;
}

/// Returns whether indices of 32 bits suffice: the position in a global tensor
/// and indices that 64-bit integers say may be longer.
static bool isNarrow(KernelOp kernel, LLVM::LLVMFuncOp function) {
  if (!hasSmallBuffers(kernel))
    return false;
  for (Operation &op : kernel.getBody().front())
    if (auto interface = dyn_cast<IterationSpaceOpInterface>(op))
      if (interface.needsRandomKey())
        return false;
  WalkResult result = function.walk([](Operation *op) {
    bool readsLong = isa<arith::IndexCastOp, arith::IndexCastUIOp>(op) &&
                     op->getOperand(0).getType().isInteger(64);
    return readsLong ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

namespace {

struct EmitCudaKernelsPass
    : pp::impl::EmitCudaKernelsBase<EmitCudaKernelsPass> {
  void runOnOperation() override {
    auto uses = findKernelUses(getOperation());
    if (failed(uses))
      return signalPassFailure();
    OpBuilder builder(&getContext());
    ModuleOp narrow = getDeviceModule(getOperation(), /*isWide=*/false);
    ModuleOp wide = getDeviceModule(getOperation(), /*isWide=*/true);
    for (auto &[kernel, use] : *uses) {
      if (failed(checkPlan(kernel)) ||
          failed(checkOverwritten(kernel, use.inplace)))
        return signalPassFailure();
      LLVM::LLVMFuncOp function = emit(builder, wide, kernel, use);
      if (isNarrow(kernel, function))
        moveTo(narrow, function);
      emitTrap(builder, kernel);
    }
    for (ModuleOp module : {narrow, wide})
      if (module.getOps<LLVM::LLVMFuncOp>().empty())
        module.erase();
      else
        eraseUnusedTables(module);
  }

private:
  /// With its shared memory and its tables.
  void moveTo(ModuleOp module, LLVM::LLVMFuncOp function) {
    auto from = function->getParentOfType<ModuleOp>();
    llvm::SetVector<StringAttr> names;
    function.walk([&](Operation *op) {
      if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
        names.insert(address.getGlobalNameAttr().getAttr());
      else if (auto table = dyn_cast<memref::GetGlobalOp>(op))
        names.insert(table.getNameAttr().getAttr());
    });
    Block *body = module.getBody();
    for (StringAttr name : names) {
      if (module.lookupSymbol(name))
        continue;
      Operation *global = from.lookupSymbol(name);
      // What a launch gives and tables may be of kernels in both modules.
      auto memory = dyn_cast<LLVM::GlobalOp>(global);
      if (memory && memory.getLinkage() != LLVM::Linkage::External)
        global->moveBefore(body, body->end());
      else
        body->push_front(global->clone());
    }
    function->moveBefore(body, body->end());
  }

  static void eraseUnusedTables(ModuleOp module) {
    llvm::SmallPtrSet<Attribute, 8> used;
    module.walk([&](memref::GetGlobalOp table) {
      used.insert(table.getNameAttr().getAttr());
    });
    for (auto table :
         llvm::make_early_inc_range(module.getOps<memref::GlobalOp>()))
      if (!used.contains(table.getSymNameAttr()))
        table.erase();
  }

  LLVM::LLVMFuncOp emit(OpBuilder &builder, ModuleOp module, KernelOp kernel,
                        const KernelUse &use) {
    Location loc = kernel.getLoc();
    unsigned numArguments = kernel.getNumArguments();
    unsigned pointers = numArguments + kernel.getNumResults();
    const CudaForm &form = findForm<CudaForm>(kernel);
    LLVM::LLVMFuncOp function =
        addKernel(builder, module, loc, kernel.getSymName(),
                  kernel.getThreadsAttr().getCount(), form.getResidentThreads(),
                  pointers);
    for (unsigned i = 0; i < pointers; ++i)
      function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                          builder.getI64IntegerAttr(use.alignments[i]));
    SmallVector<Value> buffers(function.getArguments());
    for (auto [i, argument] : llvm::enumerate(use.inplace))
      if (argument >= 0)
        buffers[numArguments + i] = buffers[argument];
    form.emit(builder, kernel, buffers);
    LLVM::ReturnOp::create(builder, loc, ValueRange());
    return function;
  }

  /// What tasks name when they launch the kernel, of the runtime's type
  /// ppopt_kernel_fn.
  void emitTrap(OpBuilder &builder, KernelOp kernel) {
    Location loc = kernel.getLoc();
    builder.setInsertionPoint(kernel);
    Type pointer = LLVM::LLVMPointerType::get(&getContext());
    Type i64 = builder.getI64Type();
    auto function = LLVM::LLVMFuncOp::create(
        builder, loc, (kernel.getSymName() + "_tiles").str(),
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(&getContext()),
                                    {pointer, i64, i64}));
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    LLVM::Trap::create(builder, loc);
    LLVM::UnreachableOp::create(builder, loc);
  }
};

} // namespace
