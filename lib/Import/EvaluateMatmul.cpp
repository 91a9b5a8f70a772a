//===- EvaluateMatmul.cpp - Products of matrices of constants -------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// Multiplies two tensors of rank 2 or more, whose other dimensions are
/// broadcast. Each sum is one of doubles, rounded once.
static Results multiply(OpCall &call, HostTensor left, HostTensor right) {
  Dtype type = call.result().type;
  ArrayRef<int64_t> leftShape = left.getShape(), rightShape = right.getShape();
  int64_t inner = leftShape.back();
  if (inner != rightShape[right.getRank() - 2])
    call.fail("multiplies " + spellShape(leftShape) + " by " +
              spellShape(rightShape));
  Shape batch = broadcastShape(
      call, {Shape(leftShape.drop_back(2)), Shape(rightShape.drop_back(2))});
  Shape leftFull = batch, rightFull = batch, shape = batch;
  leftFull.append(leftShape.end() - 2, leftShape.end());
  rightFull.append(rightShape.end() - 2, rightShape.end());
  shape.append({leftFull[batch.size()], rightFull.back()});
  left = broadcast(call, left.cast(type), leftFull);
  right = broadcast(call, right.cast(type), rightFull);
  if (call.failed())
    return {};
  size_t rows = batch.size(), columns = rows + 1;
  DimBits same = sameAlong(left), sameRight = sameAlong(right);
  for (size_t dim = 0; dim < rows; ++dim)
    same[dim] &= sameRight[dim];
  same[columns] = sameRight[columns];
  Shape steps = distinctShape(shape, same), at, to;
  steps.push_back(inner);
  if (!affords(call, steps))
    return {};
  return generate(call, type, shape, same, [&](ArrayRef<int64_t> index) {
    at.assign(index.begin(), index.end());
    to.assign(index.begin(), index.end());
    double real = 0;
    uint64_t integer = 0;
    for (int64_t i = 0; i < inner; ++i) {
      at[columns] = to[rows] = i;
      Scalar a = left.get(at), b = right.get(to);
      real += a.real * b.real;
      integer += uint64_t(a.integer) * uint64_t(b.integer);
    }
    return Scalar{real, int64_t(integer)};
  });
}

/// A vector on the left is a row, one on the right a column.
static Results matmul(OpCall &call, StringRef rightName) {
  HostTensor left = constant(call, "self"), right = constant(call, rightName);
  if (left.getRank() == 0 || right.getRank() == 0)
    call.fail("multiplies matrices of rank 0");
  if (call.failed())
    return {};
  bool isRow = left.getRank() == 1, isColumn = right.getRank() == 1;
  Results results = multiply(call, isRow ? insertDim(left, 0) : left,
                             isColumn ? insertDim(right, 1) : right);
  if (call.failed())
    return {};
  HostTensor &result = results.front();
  if (isColumn)
    result = removeDim(result, result.getRank() - 1);
  if (isRow)
    result = removeDim(result, result.getRank() - (isColumn ? 1 : 2));
  return results;
}

static Results matmulAny(OpCall &call) { return matmul(call, "other"); }

/// A matmul of arguments of these ranks alone.
static Results matmulOf(OpCall &call, StringRef rightName, int64_t leftRank,
                        int64_t rightRank) {
  const HostTensor &left = constant(call, "self");
  const HostTensor &right = constant(call, rightName);
  if (left.getRank() != leftRank || right.getRank() != rightRank ||
      (leftRank == 3 && left.getShape()[0] != right.getShape()[0]))
    call.fail("multiplies " + spellShape(left.getShape()) + " by " +
              spellShape(right.getShape()));
  return matmul(call, rightName);
}

static Results mm(OpCall &call) { return matmulOf(call, "mat2", 2, 2); }
static Results bmm(OpCall &call) { return matmulOf(call, "mat2", 3, 3); }
static Results mv(OpCall &call) { return matmulOf(call, "vec", 2, 1); }
static Results dot(OpCall &call) { return matmulOf(call, "tensor", 1, 1); }

static Results outer(OpCall &call) {
  HostTensor left = constant(call, "self"), right = constant(call, "vec2");
  if (left.getRank() != 1 || right.getRank() != 1)
    call.fail("makes the outer product of " + spellShape(left.getShape()) +
              " and " + spellShape(right.getShape()));
  if (call.failed())
    return {};
  // No sum, whose zeros are positive.
  Dtype type = call.result().type;
  return elementwise(
      call, type,
      {insertDim(left, 1).cast(type), insertDim(right, 0).cast(type)},
      [](ArrayRef<Scalar> x) {
        return Scalar{x[0].real * x[1].real,
                      int64_t(uint64_t(x[0].integer) * uint64_t(x[1].integer))};
      });
}

ArrayRef<EvaluatedOp> pt2::getMatmulOps() {
  static const EvaluatedOp ops[] = {
      {"aten.matmul.default", checked<matmulAny>},
      {"aten.mm.default", checked<mm>},
      {"aten.bmm.default", checked<bmm>},
      {"aten.mv.default", checked<mv>},
      {"aten.dot.default", checked<dot>},
      {"aten.outer.default", checked<outer>},
  };
  return ops;
}
