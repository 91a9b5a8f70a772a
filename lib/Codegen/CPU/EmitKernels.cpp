//===- EmitKernels.cpp - Emits each kernel as loops over its buffers ------===//
//
//   llvm.func internal @k_loops(%in: !llvm.ptr {llvm.noalias}, ..., %out,
//                               %begin: i64, %end: i64)
//   llvm.func @k_tiles(%args: !llvm.ptr, %begin: i64, %end: i64)
//
// The second, of the runtime's type ppopt_kernel_fn, reads the buffers from the
// argument list of the launch (arguments, then results) and calls the first. A
// result in place of an argument is one buffer of @k_loops: no two buffers
// overlap. Each is aligned, unless it is a microbatch's part of an input.
//
//===----------------------------------------------------------------------===//

#include "CpuForm.h"

#include "ppopt/Codegen/CPU/Passes.h"
#include "ppopt/Codegen/KernelUses.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_EMITKERNELS
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

class KernelEmitter {
public:
  KernelEmitter(KernelOp kernel, const KernelUse &use, int64_t vectorBytes)
      : kernel(kernel), inplace(use.inplace), alignments(use.alignments),
        vectorBytes(vectorBytes), builder(kernel.getContext()),
        pointer(LLVM::LLVMPointerType::get(kernel.getContext())),
        i64(builder.getI64Type()) {}

  void emit();

private:
  LLVM::LLVMFuncOp createFunction(const Twine &name, unsigned numPointers);
  void emitLoops(LLVM::LLVMFuncOp function);
  void emitWrapper(LLVM::LLVMFuncOp function, LLVM::LLVMFuncOp loops);
  unsigned countBuffers() {
    return kernel.getNumArguments() + llvm::count(inplace, -1);
  }

  KernelOp kernel;
  ArrayRef<int64_t> inplace;
  ArrayRef<int64_t> alignments; ///< of arguments, then of results
  int64_t vectorBytes;
  OpBuilder builder;
  Type pointer, i64;
};

LLVM::LLVMFuncOp KernelEmitter::createFunction(const Twine &name,
                                               unsigned numPointers) {
  SmallVector<Type> arguments(numPointers, pointer);
  arguments.append(2, i64);
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()), arguments);
  return LLVM::LLVMFuncOp::create(builder, kernel.getLoc(), name.str(), type);
}

/// Checks that what emitters follow is decided, and is what they can emit.
static LogicalResult checkPlan(KernelOp kernel, int64_t vectorBytes) {
  TilesAttr tiles = kernel.getTilesAttr();
  if (!tiles)
    return kernel.emitOpError("has no tiles; run --pp-plan-kernels first");
  bool isWhole =
      tiles.getUnit() == TileUnit::Rows || tiles.getUnit() == TileUnit::Heads;
  if (isWhole && tiles.getSize() != 1)
    return kernel.emitOpError("has tiles of ")
           << tiles.getSize() << " " << stringifyTileUnit(tiles.getUnit())
           << "; on a CPU they are of one";
  return findForm<CpuForm>(kernel).check(kernel, vectorBytes);
}

void KernelEmitter::emitLoops(LLVM::LLVMFuncOp function) {
  Location loc = kernel.getLoc();
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<int64_t> own(alignments.take_front(kernel.getNumArguments()));
  for (auto [i, argument] : llvm::enumerate(inplace))
    if (argument < 0)
      own.push_back(alignments[kernel.getNumArguments() + i]);
  for (auto [i, alignment] : llvm::enumerate(own)) {
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        builder.getI64IntegerAttr(alignment));
  }
  ValueRange arguments = entry->getArguments();
  SmallVector<Value> buffers(arguments.take_front(kernel.getNumArguments()));
  unsigned next = kernel.getNumArguments();
  for (int64_t argument : inplace)
    buffers.push_back(arguments[argument < 0 ? next++ : argument]);
  auto bound = [&](unsigned fromEnd) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      arguments[arguments.size() - fromEnd]);
  };
  Value begin = bound(2), end = bound(1);
  findForm<CpuForm>(kernel).emit(builder, kernel, buffers, vectorBytes, begin,
                                 end);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void KernelEmitter::emitWrapper(LLVM::LLVMFuncOp function,
                                LLVM::LLVMFuncOp loops) {
  Location loc = kernel.getLoc();
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  SmallVector<Value> arguments;
  auto add = [&](unsigned position) {
    Value address = LLVM::GEPOp::create(
        builder, loc, pointer, pointer, entry->getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(position)});
    arguments.push_back(LLVM::LoadOp::create(builder, loc, pointer, address));
  };
  unsigned numArguments = kernel.getNumArguments();
  for (unsigned i = 0; i < numArguments; ++i)
    add(i);
  for (auto [i, argument] : llvm::enumerate(inplace))
    if (argument < 0)
      add(numArguments + i);
  arguments.push_back(entry->getArgument(1));
  arguments.push_back(entry->getArgument(2));
  LLVM::CallOp::create(builder, loc, loops, arguments);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
}

void KernelEmitter::emit() {
  builder.setInsertionPointAfter(kernel);
  LLVM::LLVMFuncOp loops =
      createFunction(kernel.getSymName() + "_loops", countBuffers());
  loops.setLinkage(LLVM::Linkage::Internal);
  LLVM::LLVMFuncOp wrapper = createFunction(kernel.getSymName() + "_tiles", 1);
  emitWrapper(wrapper, loops);
  emitLoops(loops);
}

struct EmitKernelsPass : pp::impl::EmitKernelsBase<EmitKernelsPass> {
  using EmitKernelsBase::EmitKernelsBase;

  void runOnOperation() override {
    auto uses = findKernelUses(getOperation());
    if (failed(uses))
      return signalPassFailure();
    for (auto &[kernel, use] : *uses) {
      if (failed(checkPlan(kernel, vectorBytes)) ||
          failed(checkOverwritten(kernel, use.inplace)))
        return signalPassFailure();
      KernelEmitter(kernel, use, vectorBytes).emit();
    }
  }
};

} // namespace
