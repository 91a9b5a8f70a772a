//===- SpaceBuilder.h - Building iteration spaces -------------------------===//
//
// In every space the product of the extents of a dimension's loops is its size,
// unless the list is empty.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_SPACEBUILDER_H
#define PPOPT_LIB_DIALECT_PP_SPACEBUILDER_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {

/// Collects the loops of an op and, for each tensor, the loops of its
/// dimensions.
class SpaceBuilder {
public:
  SpaceBuilder() = default;
  /// Of an op with this many operands.
  explicit SpaceBuilder(unsigned operands) { space.operands.reserve(operands); }

  unsigned addLoop(int64_t extent, LoopKind kind) {
    space.loops.push_back({extent, kind});
    return space.loops.size() - 1;
  }
  /// Adds a loop for each size.
  SmallVector<unsigned> addLoops(ArrayRef<int64_t> shape, LoopKind kind) {
    SmallVector<unsigned> loops;
    for (int64_t size : shape)
      loops.push_back(addLoop(size, kind));
    return loops;
  }
  /// Adds an operand or result whose dimension i runs over loops[i].
  void addOperand(ArrayRef<unsigned> loops) {
    fill(space.operands.emplace_back(), loops);
  }
  void addResult(ArrayRef<unsigned> loops) {
    fill(space.results.emplace_back(), loops);
  }
  void addOperand(TensorLoops loops) {
    space.operands.push_back(std::move(loops));
  }
  void addResult(TensorLoops loops) {
    space.results.push_back(std::move(loops));
  }
  /// Adds an operand of these sizes that is broadcast, aligned at the right, to
  /// a tensor whose dimension i runs over loops[i].
  void addBroadcastOperand(ArrayRef<int64_t> sizes, ArrayRef<unsigned> loops) {
    TensorLoops &dims = space.operands.emplace_back(sizes.size());
    ArrayRef<unsigned> aligned = loops.take_back(sizes.size());
    for (auto [dim, size, loop] : llvm::zip(dims, sizes, aligned))
      if (size == space.loops[loop].extent)
        dim.push_back(loop);
  }
  /// Adds an operand that every iteration reads in full (a random key).
  void addUniformOperand(unsigned rank) { space.operands.emplace_back(rank); }
  IterationSpace take() { return std::move(space); }

private:
  static void fill(TensorLoops &tensor, ArrayRef<unsigned> loops) {
    for (unsigned loop : loops)
      tensor.emplace_back(1, loop);
  }

  IterationSpace space;
};

inline SmallVector<unsigned> joinLoops(ArrayRef<unsigned> lhs,
                                       ArrayRef<unsigned> rhs) {
  SmallVector<unsigned> joined(lhs);
  joined.append(rhs.begin(), rhs.end());
  return joined;
}

/// Returns whether `operands` equals `expected` as a set.
inline bool areExactly(ArrayRef<unsigned> operands,
                       ArrayRef<unsigned> expected) {
  auto contains = [](ArrayRef<unsigned> set) {
    return [=](unsigned i) { return llvm::is_contained(set, i); };
  };
  return llvm::all_of(operands, contains(expected)) &&
         llvm::all_of(expected, contains(operands));
}

} // namespace mlir::pp

/// Linear in exactly these operands, taken together.
#define PP_LINEAR(OpT, ...)                                                    \
  bool OpT::isLinearIn(ArrayRef<unsigned> operands) {                          \
    return areExactly(operands, {__VA_ARGS__});                                \
  }
/// Linear in either operand alone.
#define PP_BILINEAR(OpT)                                                       \
  bool OpT::isLinearIn(ArrayRef<unsigned> operands) {                          \
    return areExactly(operands, {0}) || areExactly(operands, {1});             \
  }

#endif // PPOPT_LIB_DIALECT_PP_SPACEBUILDER_H
