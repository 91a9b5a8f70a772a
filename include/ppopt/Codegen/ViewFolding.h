//===- ViewFolding.h - Views as strides -----------------------------------===//
//
// Views before a library's op, or one whose kernel uses strides, are folded
// into the strides with which it reads its operands.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_CODEGEN_VIEWFOLDING_H
#define PPOPT_CODEGEN_VIEWFOLDING_H

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {

class Target;

/// A call of a library, with the operands that it reads.
struct FoldedCall {
  SmallVector<Layout> operands;
  ::ppopt::MatmulDescriptor call;
};

/// Returns whether a kernel of the op uses strides (KernelFormOpInterface).
bool usesStrides(Operation &op);

/// Returns whether an op gives memory of which other ops read or write ranges:
/// a collective, or zeros.
inline bool hasMemoryOfItsOwn(Operation *op) {
  return isa_and_nonnull<CollectiveOpInterface, ZerosOp>(op);
}

inline bool isView(Operation *op) {
  return isa_and_nonnull<ViewOpInterface>(op);
}

/// Returns whether an op shows its operand's memory under another shape.
bool isReshape(Operation *op);

/// Returns the value before reshapes.
Value skipReshapes(Value value);

/// Returns the row-major number, in its operand, of the first element of a view
/// whose elements are contiguous there; nothing for other views.
std::optional<int64_t> getContiguousOffset(ViewOpInterface view);

/// Returns the same for each operand of a concatenation in its result; nothing
/// if their elements are not contiguous.
std::optional<SmallVector<int64_t>> getContiguousOffsets(ConcatOp op);

/// Returns the layout of `value` after folding views; `isBase` says which views
/// have memory of their own. Nothing if a view does not fold.
std::optional<Layout> foldViews(Value value,
                                llvm::function_ref<bool(Operation *)> isBase);

/// Returns the layout of `value` in the buffer that is finally written: after
/// the ops for which `isJoined` is true (views and concatenations).
/// Each is the only reader of its operand, and the last has memory of its own.
/// Nothing if a view does not fold.
std::optional<Layout>
foldDestination(Value value, llvm::function_ref<bool(Operation *)> isJoined);

/// Returns nothing if an operand's views do not fold or the library can't read
/// its layout; `failed` is then that operand.
std::optional<FoldedCall> foldCall(LibraryCallOpInterface op,
                                   llvm::function_ref<bool(Operation *)> isBase,
                                   bool accumulates, Value &failed);

/// Returns whether the target's library adds the op's result to elements of
/// this type.
bool canAccumulate(LibraryCallOpInterface op, Type element,
                   const Target &target);

/// Returns the accumulation that a library's op is fused with: its only use,
/// after reshapes and a cast to the accumulator's wider type, if the library
/// adds to elements of that type. Null if there is none.
AccumulateOp getAccumulation(LibraryCallOpInterface op, const Target &target);

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_VIEWFOLDING_H
