//===- Shapes.cpp - Shapes of operands and results ------------------------===//

#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::pp;

bool pp::hasTooManyElements(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return false;
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size > kMostElements / elements)
      return true;
    elements *= size;
  }
  return false;
}

std::optional<SmallVector<int64_t>> pp::broadcastShapes(ArrayRef<int64_t> lhs,
                                                        ArrayRef<int64_t> rhs) {
  if (lhs.size() < rhs.size())
    std::swap(lhs, rhs);
  SmallVector<int64_t> shape(lhs);
  for (unsigned i = 1, e = rhs.size(); i <= e; ++i) {
    int64_t &size = shape[shape.size() - i];
    int64_t other = rhs[rhs.size() - i];
    if (size != other && size != 1 && other != 1)
      return std::nullopt;
    if (size == 1)
      size = other;
  }
  return shape;
}

Type pp::getStatisticsType(Type element) {
  return element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

bool pp::isWideningCast(Operation *op) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  if (!cast)
    return false;
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getX()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(cast.getType()));
  return from && to && from.getWidth() < to.getWidth();
}

//===----------------------------------------------------------------------===//
// Reshape
//===----------------------------------------------------------------------===//

namespace {

/// A position in one of the two shapes, from its major dimension to its minor
/// one.
class DimCursor {
public:
  DimCursor(ArrayRef<int64_t> shape, TensorLoops &loops)
      : shape(shape), loops(loops), left(shape.empty() ? 1 : shape[0]) {
    loops.resize(shape.size());
  }

  bool atEnd() const { return dim == shape.size(); }
  /// The part of the dimension that has no loop yet.
  int64_t getLeft() const { return left; }
  bool isUnit() const { return !atEnd() && shape[dim] == 1; }

  /// Loop `loop` covers `extent` of the rest of the dimension.
  void take(unsigned loop, int64_t extent) {
    loops[dim].push_back(loop);
    left /= extent;
    if (left == 1)
      next();
  }

  void next() {
    ++dim;
    left = atEnd() ? 1 : shape[dim];
  }

private:
  ArrayRef<int64_t> shape;
  TensorLoops &loops;
  unsigned dim = 0;
  int64_t left;
};

} // namespace

ReshapeLoops pp::factorReshape(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  ReshapeLoops result;
  auto addLoop = [&](int64_t extent, LoopKind kind) {
    result.loops.push_back({extent, kind});
    return static_cast<unsigned>(result.loops.size() - 1);
  };
  DimCursor source(from, result.from), target(to, result.to);
  auto takeReplicated = [&](DimCursor &cursor) {
    int64_t extent = cursor.getLeft();
    cursor.take(addLoop(extent, LoopKind::Replicate), extent);
    return extent;
  };

  if (llvm::is_contained(from, 0) || llvm::is_contained(to, 0)) {
    for (DimCursor *cursor : {&source, &target})
      while (!cursor->atEnd())
        cursor->next();
    return result;
  }
  while (!source.atEnd() || !target.atEnd()) {
    if (source.isUnit() && target.isUnit()) {
      unsigned loop = addLoop(1, LoopKind::Parallel);
      source.take(loop, 1);
      target.take(loop, 1);
      continue;
    }
    if (source.isUnit() || target.isUnit()) {
      (source.isUnit() ? source : target).next();
      continue;
    }
    int64_t common = std::gcd(source.getLeft(), target.getLeft());
    if (common > 1) {
      unsigned loop = addLoop(common, LoopKind::Parallel);
      source.take(loop, common);
      target.take(loop, common);
      continue;
    }
    // No common factor: neither side can be split until both have covered the
    // same number of elements.
    int64_t covered = takeReplicated(source), other = takeReplicated(target);
    while (covered != other) {
      if (covered < other)
        covered *= takeReplicated(source);
      else
        other *= takeReplicated(target);
    }
  }
  return result;
}
