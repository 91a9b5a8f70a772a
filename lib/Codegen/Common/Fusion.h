//===- Fusion.h - Groups the ops of a task into kernels -------------------===//

#ifndef PPOPT_LIB_CODEGEN_COMMON_FUSION_H
#define PPOPT_LIB_CODEGEN_COMMON_FUSION_H

#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Codegen/Target.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {

/// A future kernel, or what is none: a library's call, a collective, zeros.
struct Cluster {
  bool isAlone = false; ///< not a kernel
  KernelForm form = KernelForm::Rows;
  Space space;
  /// In the task's order once the fusion is complete. For a library's call: it,
  /// and the accumulation that it is fused with.
  SmallVector<Operation *> ops;
  bool isEmpty() const { return ops.empty(); }
};

/// Divides the ops of a task, except the return, lazy ops and views, into
/// clusters without cyclic dependencies.
class TaskFusion {
public:
  /// `pulled`: ops that reductions have for themselves (PullOperands.h); they
  /// are lazy. `before`: the fusion of the task before some reductions got
  /// other operands, from which it takes what it knows.
  TaskFusion(TaskOp task, const Target &target,
             DenseSet<Operation *> pulled = {},
             const TaskFusion *before = nullptr);

  /// Returns the clusters in an order of execution.
  SmallVector<const Cluster *> getClusters() const;
  /// Returns the cluster of an op; null for lazy ops and reshapes.
  const Cluster *getCluster(Operation *op) const;

  /// Returns whether an op has no buffer: each kernel that reads it computes
  /// it, or folds it into strides.
  bool isLazy(Operation *op) const { return lazy.contains(op); }
  /// Returns whether an op is a range of a buffer: a slice of an argument, of
  /// zeros or of what a collective gives, or a concatenation or pp.join whose
  /// operands are computed in place.
  bool isMemoryView(Operation *op) const { return memoryViews.contains(op); }
  /// Returns whether an accumulation is into its accumulator's buffer.
  bool isInPlace(AccumulateOp op) const { return inPlace.contains(op); }
  /// Returns whether all ops that read the values are wanted; each is asked for
  /// once. Looks through lazy ops and reshapes, and through memory views if
  /// `throughMemory`.
  bool allReaders(ValueRange values,
                  llvm::function_ref<bool(Operation *)> isWanted,
                  bool throughMemory = false) const;
  /// Returns whether an op outside of `cluster` needs the value in memory.
  bool isUsedOutside(Value value, const Cluster &cluster) const;
  /// Returns where an op reads; looks through lazy ops.
  const OpReads &getReads(Operation *op);
  /// Returns the values that a kernel of these ops reads from memory.
  SetVector<Value> getMemoryReads(ArrayRef<Operation *> ops) const;
  /// Returns the kernels before `op`, a reduction over leading dimensions, that
  /// it can join if it reads these values: they reduce the same rows, and read
  /// no value as large as its operand that it does not read too, which would be
  /// in memory for longer.
  SmallVector<const Cluster *> findSharers(ReduceOp op,
                                           const SetVector<Value> &reads) const;

private:
  void takeReads(const TaskFusion &before);
  void findInPlaceAccumulations();
  void findMemoryViews();
  bool isPart(OpOperand &input, DenseSet<Value> &taken) const;
  void findLazyOps();
  void findWrittenViews(Operation *op);
  void makeOperandsFoldable(LibraryCallOpInterface op);
  void makeOperandFoldable(Value operand);
  void giveBaseMemory(Value operand);
  bool isBase(Operation *view) const {
    return !isReshape(view) && !isLazy(view);
  }
  bool demote(Value value);
  void formClusters();
  void add(Operation &op);
  void addCall(LibraryCallOpInterface op);
  unsigned addAlone(Operation &op);
  void addAccumulation(Operation *op, AccumulateOp accumulate);
  void addOfForm(KernelFormOpInterface op);
  void addColumnReduction(ReduceOp op);
  void addToRows(Operation *op, Space space);
  bool joinTail(Operation *op);
  bool canJoin(Operation *op, Space space, unsigned cluster);
  bool readsResultOf(unsigned reader, unsigned written) const;
  bool readsMemoryOf(Operation *op, unsigned cluster) const;
  bool canMerge(unsigned into, ArrayRef<unsigned> others);
  bool readsInHand(Operation *op, unsigned index);
  bool canBeOne(Operation *op, ArrayRef<unsigned> targets) const;
  unsigned getIndex(const Cluster *cluster) const {
    return cluster - clusters.data();
  }
  bool isRowLevel(Value value, const Cluster &cluster) const;
  void join(Operation *op, ArrayRef<unsigned> targets);
  unsigned newCluster(Operation *op, KernelForm form, Space space);
  bool hasPathThroughOthers(Operation *op, ArrayRef<unsigned> targets) const;
  SmallVector<unsigned> getSourceClusters(Operation *op) const;
  void collectSources(Value value, SetVector<Operation *> &sources,
                      SetVector<Operation *> *memorySources) const;
  const SetVector<Operation *> &getSources(Operation *op) const;

  TaskOp task;
  const Target &target;
  AccessProbe probe;
  ZerosOp largeZeros;
  /// Compile time grows faster than a kernel's ops: 1,000 gelu and their
  /// gradients take 3 s in kernels of 64, 23 s in kernels of 256. GPT-2's
  /// kernels have up to 30 ops, and 64 ops take longer to compute than their
  /// memory accesses.
  size_t mostOps;
  DenseSet<Operation *> lazy, inPlace, memoryViews;
  /// The views that results written by strides pass through before memory.
  DenseMap<Operation *, SmallVector<Operation *>> writtenViews;
  DenseMap<Operation *, unsigned> position, clusterOf;
  SmallVector<Cluster, 0> clusters;
  DenseMap<Operation *, OpReads> reads;
  mutable DenseMap<Operation *, SetVector<Operation *>> sourcesOf;
  /// The sources that are read through a memory view.
  mutable DenseMap<Operation *, SetVector<Operation *>> memorySourcesOf;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_CODEGEN_COMMON_FUSION_H
