//===- KernelUses.cpp - How launches use the buffers of a kernel ----------===//

#include "ppopt/Codegen/KernelUses.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the alignment of what a task takes. Scalars, such as fields of the
/// step state and the parts of a norm, lie one after the other.
static int64_t getArgumentAlignment(BlockArgument argument, int64_t element) {
  auto task = dyn_cast<TaskOp>(argument.getOwner()->getParentOp());
  if (!task)
    return kBufferAlignment;
  RoleKind role = task.getArgRole(argument.getArgNumber()).getKind();
  bool isScalar = cast<ShapedType>(argument.getType()).getNumElements() == 1;
  return role == RoleKind::Input || role == RoleKind::StepState || isScalar
             ? element
             : kBufferAlignment;
}

int64_t pp::getAddressAlignment(Value buffer) {
  int64_t element = getElementBytes(getElementTypeOrSelf(buffer));
  int64_t offset = 0;
  while (auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>()) {
    offset += view.getStaticOffsets()[0] * element;
    buffer = view.getSource();
  }
  auto argument = dyn_cast<BlockArgument>(buffer);
  return llvm::MinAlign(argument ? getArgumentAlignment(argument, element)
                                 : kBufferAlignment,
                        offset);
}

FailureOr<SmallVector<std::pair<KernelOp, KernelUse>>>
pp::findKernelUses(ModuleOp module) {
  DenseMap<StringAttr, DenseI64ArrayAttr> inplace;
  DenseMap<StringAttr, SmallVector<int64_t>> alignments;
  WalkResult result = module.walk([&](LaunchOp launch) {
    StringAttr name = launch.getKernelAttr().getAttr();
    SmallVector<Value> buffers(launch.getIns());
    llvm::append_range(buffers, launch.getOuts());
    SmallVector<int64_t> &least = alignments[name];
    least.resize(buffers.size(), kBufferAlignment);
    for (auto [i, buffer] : llvm::enumerate(buffers))
      least[i] = std::min(least[i], getAddressAlignment(buffer));
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
    use.alignments = alignments.lookup(kernel.getSymNameAttr());
    use.alignments.resize(kernel.getNumArguments() + kernel.getNumResults(),
                          kBufferAlignment);
    uses.push_back({kernel, std::move(use)});
  }
  return uses;
}

LogicalResult pp::checkOverwritten(KernelOp kernel, ArrayRef<int64_t> inplace) {
  for (OpOperand &use :
       kernel.getBody().front().getTerminator()->getOpOperands()) {
    auto op = use.get().getDefiningOp<KernelFormOpInterface>();
    Value cache = op ? op.getOverwritten(use.get()) : Value();
    int64_t argument = inplace[use.getOperandNumber()];
    if (cache &&
        (argument < 0 || kernel.getBody().getArgument(argument) != cache))
      return op.emitOpError("returns a cache in another buffer than it "
                            "takes; a task must tie both");
  }
  return success();
}
