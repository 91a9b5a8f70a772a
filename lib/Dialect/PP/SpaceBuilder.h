//===- SpaceBuilder.h - Building iteration spaces -------------------------===//
//
// In every space the extents of the loops of a dimension multiply to its size,
// unless the list is empty.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_SPACEBUILDER_H
#define PPOPT_LIB_DIALECT_PP_SPACEBUILDER_H

#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {

/// Collects the loops of an op and, tensor by tensor, who runs over them.
class SpaceBuilder {
public:
  unsigned addLoop(int64_t extent, LoopKind kind) {
    space.loops.push_back({extent, kind});
    return space.loops.size() - 1;
  }
  /// A new loop for each size.
  SmallVector<unsigned> addLoops(ArrayRef<int64_t> shape, LoopKind kind) {
    SmallVector<unsigned> loops;
    for (int64_t size : shape)
      loops.push_back(addLoop(size, kind));
    return loops;
  }
  /// Operand or result whose dimension i runs over loops[i].
  void addOperand(ArrayRef<unsigned> loops) {
    space.operands.push_back(oneLoopEach(loops));
  }
  void addResult(ArrayRef<unsigned> loops) {
    space.results.push_back(oneLoopEach(loops));
  }
  void addOperand(TensorLoops loops) {
    space.operands.push_back(std::move(loops));
  }
  void addResult(TensorLoops loops) {
    space.results.push_back(std::move(loops));
  }
  /// Operand that is read as a whole by every iteration (a random key).
  void addUniformOperand(unsigned rank) {
    space.operands.push_back(TensorLoops(rank));
  }
  IterationSpace take() { return std::move(space); }

private:
  static TensorLoops oneLoopEach(ArrayRef<unsigned> loops) {
    TensorLoops tensor;
    for (unsigned loop : loops)
      tensor.push_back(DimLoops(1, loop));
    return tensor;
  }

  IterationSpace space;
};

inline SmallVector<unsigned> joinLoops(ArrayRef<unsigned> lhs,
                                       ArrayRef<unsigned> rhs) {
  SmallVector<unsigned> joined(lhs);
  joined.append(rhs.begin(), rhs.end());
  return joined;
}

/// Whether `operands` are `expected`, as sets.
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
