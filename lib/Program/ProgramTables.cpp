//===- ProgramTables.cpp - The numbers of tasks, kernels, matmuls ---------===//

#include "ppopt/Program/ProgramTables.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the runtime's description of a matmul as one attribute, for
/// comparison.
static Attribute describe(GemmOp op) {
  SmallVector<NamedAttribute> attrs;
  for (NamedAttribute attr : op->getAttrs())
    // Offsets are added to the operands' addresses, outside of the matmul.
    if (!attr.getName().getValue().ends_with("_offset"))
      attrs.push_back(attr);
  Builder builder(op.getContext());
  attrs.push_back(builder.getNamedAttr(
      "types",
      builder.getTypeArrayAttr({op.getA().getType().getElementType(),
                                op.getC().getType().getElementType()})));
  attrs.push_back(builder.getNamedAttr(
      "workspace",
      TypeAttr::get(op.getWorkspace() ? op.getWorkspace().getType()
                                      : Type(builder.getNoneType()))));
  return builder.getDictionaryAttr(attrs);
}

ProgramTables::ProgramTables(ModuleOp module) : copies(module) {
  DenseMap<Attribute, unsigned> known;
  for (auto task : module.getOps<TaskOp>()) {
    taskIndex[task.getSymName()] = tasks.size();
    tasks.push_back(task);
    firstCollective[task] = collectives.size();
    for (TaskCollectiveAttr collective : task.getCollectiveList())
      collectives.push_back({task, collective});
    task.walk([&](GemmOp op) {
      auto [it, isNew] = known.insert({describe(op), matmuls.size()});
      if (isNew)
        matmuls.push_back({op.makeName(), op});
      ++matmuls[it->second].launches;
      matmulIndex[op] = it->second;
    });
  }
  for (auto kernel : module.getOps<KernelOp>()) {
    kernelIndex[kernel.getSymName()] = kernels.size();
    kernels.push_back(kernel);
  }
  for (const auto &[id, copy] : copies)
    copyIndex.try_emplace(id, copyIndex.size());
}
