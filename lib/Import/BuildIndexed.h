//===- BuildIndexed.h - Positions, gathers along a dimension --------------===//

#ifndef PPOPT_LIB_IMPORT_BUILDINDEXED_H
#define PPOPT_LIB_IMPORT_BUILDINDEXED_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// 0, 1, … `size` - 1 in the shape [size, 1, …], with `trailing` unit
/// dimensions.
Value positions(Emitter &emit, Dtype type, int64_t size, int64_t trailing);

/// The index of the first maximum or minimum along `dim`, which stays with size
/// 1; of the first NaN if there is one.
Value firstExtreme(Emitter &emit, Value x, int64_t dim, bool isMin);

/// The elements at `ids` along `dim`; other dimensions are broadcast. With
/// `isInRange` no id is checked.
Value gatherAt(Emitter &emit, Value x, Value ids, int64_t dim, bool isInRange);

/// The element at `index`, of which dimension `dim` has size 1.
Value pickAt(Emitter &emit, Value x, Value index, int64_t dim, bool keepDims,
             bool isInRange = false);

/// The permutation that moves `dims` to the end in their order, and the one
/// that moves one dimension back from there.
Shape toLast(int64_t rank, ArrayRef<int64_t> dims);
Shape fromLast(int64_t rank, int64_t dim);

/// An index tensor: a constant or a value.
struct Index {
  Shape shape;
  std::optional<HostTensor> constant;
  Value value;
};

/// Reads an index into a dimension of `size`; a negative one counts from the
/// end.
Index readIndex(OpCall &call, Emitter &emit, const Tensor &tensor,
                int64_t size);

/// The same of an index of `gather`, which has no negative elements.
Index readGatherIndex(OpCall &call, Emitter &emit, const Tensor &tensor,
                      int64_t size);

/// x[…, index, …]: the dimensions of the index take the place of `dim`. What
/// a constant index repeats is gathered once.
Value gatherDim(Emitter &emit, Value x, int64_t dim, const Index &index);

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_BUILDINDEXED_H
