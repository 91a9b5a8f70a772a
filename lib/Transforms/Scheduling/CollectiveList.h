//===- CollectiveList.h - What is summed and gathered over ranks ----------===//

#ifndef PPOPT_LIB_TRANSFORMS_SCHEDULING_COLLECTIVELIST_H
#define PPOPT_LIB_TRANSFORMS_SCHEDULING_COLLECTIVELIST_H

#include "ppopt/Analysis/MemoryUses.h"
#include "ppopt/Dialect/PP/PlanOps.h"

namespace mlir::pp {

/// One collective of those that complete a value, one after the other.
struct CollectiveLevel {
  ppopt::geometry::Collective kind;
  GroupAttr group;
  bool isOfShard = false; ///< works on the rank's chunk of the bucket
  int64_t channel = 0;
};

/// A buffer that runs add to and that is summed over ranks, or a bucket's
/// parameters, of which each rank updates a chunk and which are then gathered.
struct RankValue {
  BufferAttr buffer;
  /// The places that take part; all if empty.
  SmallVector<int64_t> places;
  SmallVector<CollectiveLevel, 3> levels;

  bool is(BufferKind kind) const { return buffer.getKind() == kind; }
};

/// All of a module in one order: the order in which those over several places
/// start. Counts come first, the norm after all sums, gathers last, as on every
/// rank.
class CollectiveList {
public:
  CollectiveList(ModuleOp module, PlanOp plan, const MemoryUses &uses,
                 const NormLayout &norm);
  ArrayRef<RankValue> get() const { return values; }

private:
  void addScalars(BufferKind kind, const MemoryUses &uses);
  void addNorm(const NormLayout &layout);
  void addGradients(BucketOp bucket);
  void addGathers(BucketOp bucket);
  void add(BufferAttr buffer, llvm::function_ref<bool(StringAttr)> isOver,
           bool isOverPlaces);
  void numberChannels();

  ModuleOp module;
  PlanOp plan;
  SmallVector<RankValue> values;
};

} // namespace mlir::pp

#endif // PPOPT_LIB_TRANSFORMS_SCHEDULING_COLLECTIVELIST_H
