//===- Interfaces.h - The interfaces of ops -------------------------------===//

#ifndef PPOPT_DIALECT_PP_INTERFACES_H
#define PPOPT_DIALECT_PP_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>

namespace mlir::pp {

/// How a loop of an iteration space may be cut over devices or microbatches.
/// See docs/sharding.md.
enum class LoopKind {
  Parallel,  ///< tiles are independent
  Sum,       ///< tiles give partial results that are added
  Max,       ///< tiles give partial results whose maximum is taken
  Lookup,    ///< rows of a table that another operand indexes: tiles of an
             ///< operand give partial results, those of a result are parts
  Permute,   ///< tiles are independent, and elements move in units of the loop:
             ///< offsets shrink with the tile
  Replicate, ///< must not be cut (softmax rows)
};

struct Loop {
  int64_t extent;
  LoopKind kind;
};

/// The loops, major to minor, that one dimension of a tensor runs over. Empty:
/// the dimension has size 1 or is read at a fixed index (a broadcast).
using DimLoops = SmallVector<unsigned, 1>;
/// One entry for each dimension of a tensor.
using TensorLoops = SmallVector<DimLoops, 4>;

/// An op as a loop nest. A scalar tensor has no dimensions, hence an empty
/// `TensorLoops`.
struct IterationSpace {
  SmallVector<Loop> loops;
  SmallVector<TensorLoops> operands;
  SmallVector<TensorLoops> results;
};

/// Returns the cuts of a dimension that runs over the loops `dim`, outermost
/// first, if loops are cut as `loops` says. `Cuts` holds AxisCut, or anything
/// else with a `period`.
template <typename Cuts>
Cuts projectToDim(const IterationSpace &space, ArrayRef<unsigned> dim,
                  ArrayRef<Cuts> loops) {
  Cuts cuts;
  int64_t minor = 1;
  for (unsigned loop : llvm::reverse(dim)) {
    for (auto cut : llvm::reverse(loops[loop])) {
      cut.period *= minor;
      cuts.push_back(cut);
    }
    minor *= space.loops[loop].extent;
  }
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

/// One axis that cuts a dimension of a tensor, or a loop: index i has the
/// coordinate (i % period) / (period / parts). Element `at` of the random key
/// is a rank's coordinate.
struct AxisCut {
  StringAttr axis;
  int64_t at;
  int64_t parts;
  int64_t period;
};
/// The cuts of one dimension or loop, outermost first.
using AxisCuts = SmallVector<AxisCut, 1>;

/// What an op is told when its operands and results have become local.
struct Localization {
  IterationSpace space; ///< on global shapes
  /// For each loop, its cuts.
  SmallVector<AxisCuts> loops;
  SmallVector<SmallVector<int64_t>> operandShapes, resultShapes; ///< global

  /// Nothing is cut yet. `op` is on global shapes.
  explicit Localization(Operation *op);

  /// Returns the cuts of a dimension that runs over `dim`.
  AxisCuts getCuts(const DimLoops &dim) const {
    return projectToDim<AxisCuts>(space, dim, loops);
  }
};

/// Returns the number of parts that the axes cut a dimension or loop into.
int64_t countParts(ArrayRef<AxisCut> cuts);

/// Values in [0, end), or equal to `ignoreIndex`.
struct IndexRange {
  int64_t end;
  std::optional<int64_t> ignoreIndex;
};

/// `Model`: before autodiff. `Train`: at the end of phase train, a mean.
/// `Never`: the op is elementary.
enum class DecomposeAt { Model, Train, Kernel, Never };

/// Emits the read of operand `operand` at `index`.
using ElementReader =
    llvm::function_ref<Value(unsigned operand, ValueRange index)>;

} // namespace mlir::pp

#include "ppopt/Dialect/PP/Interfaces.h.inc"

#endif // PPOPT_DIALECT_PP_INTERFACES_H
