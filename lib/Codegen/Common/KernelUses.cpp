//===- KernelUses.cpp - How launches use the buffers of a kernel ----------===//

#include "ppopt/Codegen/KernelUses.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::pp;

bool pp::isPartOfInput(Value buffer) {
  while (auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>())
    buffer = view.getSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  auto task = argument ? dyn_cast<TaskOp>(argument.getOwner()->getParentOp())
                       : TaskOp();
  return task &&
         task.getArgRole(argument.getArgNumber()).getKind() == RoleKind::Input;
}

FailureOr<SmallVector<std::pair<KernelOp, KernelUse>>>
pp::findKernelUses(ModuleOp module) {
  DenseMap<StringAttr, DenseI64ArrayAttr> inplace;
  DenseMap<StringAttr, DenseSet<unsigned>> unaligned;
  WalkResult result = module.walk([&](LaunchOp launch) {
    StringAttr name = launch.getKernelAttr().getAttr();
    for (auto [i, buffer] : llvm::enumerate(launch.getIns()))
      if (isPartOfInput(buffer))
        unaligned[name].insert(i);
    auto [it, isNew] = inplace.try_emplace(name, launch.getInplaceAttr());
    if (isNew || it->second == launch.getInplaceAttr())
      return WalkResult::advance();
    launch.emitOpError("writes other arguments of ")
        << launch.getKernelAttr() << " in place than an earlier launch";
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();

  SmallVector<std::pair<KernelOp, KernelUse>> uses;
  for (auto kernel : module.getOps<KernelOp>()) {
    KernelUse use;
    if (DenseI64ArrayAttr launched = inplace.lookup(kernel.getSymNameAttr()))
      use.inplace = llvm::to_vector(launched.asArrayRef());
    else
      use.inplace.assign(kernel.getNumResults(), -1);
    use.unaligned = unaligned.lookup(kernel.getSymNameAttr());
    uses.push_back({kernel, std::move(use)});
  }
  return uses;
}

LogicalResult pp::checkTables(KernelOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    auto interface = dyn_cast<IterationSpaceOpInterface>(op);
    if (interface && interface.needsRandomKey() &&
        llvm::any_of(interface.getIterationSpace().loops, [](const Loop &loop) {
          return loop.kind == LoopKind::Lookup;
        }))
      return op.emitOpError("looks up rows of a table that axes of the mesh "
                            "cut: cut rows of a table are not compiled yet; "
                            "leave the rows whole");
  }
  return success();
}

LogicalResult pp::checkOverwritten(KernelOp kernel, ArrayRef<int64_t> inplace) {
  for (auto step : kernel.getBody().getOps<AttentionStepOp>())
    for (OpOperand &use :
         kernel.getBody().front().getTerminator()->getOpOperands()) {
      Value cache = use.get().getDefiningOp() == step
                        ? step.getOverwritten(use.get())
                        : Value();
      int64_t argument = inplace[use.getOperandNumber()];
      if (cache &&
          (argument < 0 || kernel.getBody().getArgument(argument) != cache))
        return step.emitOpError("returns a cache in another buffer than it "
                                "takes; a task must tie both");
    }
  return success();
}
