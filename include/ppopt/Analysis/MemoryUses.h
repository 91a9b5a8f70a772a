//===- MemoryUses.h - What tasks do with memory -----------------*- C++ -*-===//

#ifndef PPOPT_ANALYSIS_MEMORYUSES_H
#define PPOPT_ANALYSIS_MEMORYUSES_H

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

namespace mlir::pp {

/// What a task does with a buffer of its place. It takes many parameters of a
/// bucket, and that is one use.
struct MemoryUse {
  enum class Access {
    Read,
    Write,
    Add,   ///< to what ranks sum
    Update ///< reads and writes
  };

  BufferAttr buffer;
  StringRef field; ///< of the step state; otherwise empty
  Access access = Access::Read;
  /// Whether it is one chunk of a bucket.
  bool isChunk = false;
  /// How what it adds is cut over ranks; null if it is the same on all.
  ShardingAttr sharding;
};

/// The uses of all tasks of a module, before phase `kernels`.
class MemoryUses {
public:
  MemoryUses(ModuleOp module, const BufferIndex &buffers);
  ArrayRef<MemoryUse> of(TaskOp task) const { return uses.find(task)->second; }

private:
  DenseMap<Operation *, SmallVector<MemoryUse, 0>> uses; ///< by task
};

} // namespace mlir::pp

#endif // PPOPT_ANALYSIS_MEMORYUSES_H
