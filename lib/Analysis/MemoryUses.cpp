//===- MemoryUses.cpp - What tasks do with memory -------------------------===//

#include "ppopt/Analysis/MemoryUses.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include <set>
#include <tuple>

using namespace mlir;
using namespace mlir::pp;
using Access = MemoryUse::Access;

static SmallVector<MemoryUse, 0> findUses(TaskOp task,
                                          const BufferIndex &buffers) {
  DenseMap<Attribute, unsigned> results; // by role
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    results[task.getResultRole(i)] = i;
  SmallVector<MemoryUse, 0> uses;
  std::set<std::tuple<const void *, StringRef, Access, bool>> known;
  for (const TaskOperand &operand : task.getBoundOperands()) {
    MemoryUse use;
    use.buffer = buffers.getBuffer(operand.role);
    if (!use.buffer)
      continue;
    if (use.buffer.getKind() == BufferKind::StepState)
      use.field = operand.role.getName();
    auto result = results.find(operand.role);
    if (operand.isResult)
      use.access = Access::Write;
    else if (result != results.end())
      use.access = isSummed(use.buffer) ? Access::Add : Access::Update;
    if (use.access == Access::Add)
      use.sharding =
          task.getResultAttrOfType<ShardingAttr>(result->second, kShardingAttr);
    use.isChunk = buffers.isChunk(operand);
    if (known
            .insert({use.buffer.getAsOpaquePointer(), use.field, use.access,
                     use.isChunk})
            .second)
      uses.push_back(use);
  }
  return uses;
}

MemoryUses::MemoryUses(ModuleOp module, const BufferIndex &buffers) {
  for (auto task : module.getOps<TaskOp>())
    uses[task] = findUses(task, buffers);
}
