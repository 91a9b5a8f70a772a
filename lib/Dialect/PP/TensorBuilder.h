//===- TensorBuilder.h - Builds formulas on tensors -----------------------===//
//
// Gradients and decompositions are formulas on tensors. A TensorBuilder builds
// their ops at one insertion point and one location.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_TENSORBUILDER_H
#define PPOPT_LIB_DIALECT_PP_TENSORBUILDER_H

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {

class TensorBuilder {
public:
  TensorBuilder(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  template <typename OpT, typename... Args> Value make(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }

  /// Returns a scalar of the element type of `like`: broadcasting gives it any
  /// shape.
  Value scalar(Value like, double value);

  Value add(Value a, Value b) { return make<AddOp>(a, b); }
  Value sub(Value a, Value b) { return make<SubOp>(a, b); }
  Value mul(Value a, Value b) { return make<MulOp>(a, b); }
  Value div(Value a, Value b) { return make<DivOp>(a, b); }
  Value scale(Value a, double factor) { return mul(a, scalar(a, factor)); }
  Value reciprocal(Value x) { return div(scalar(x, 1), x); }
  Value exp(Value x) { return make<ExpOp>(x); }
  Value compare(ComparePredicate predicate, Value a, Value b) {
    return make<CompareOp>(predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return make<SelectOp>(condition, a, b);
  }

  /// Returns `x` with another element type; `x` itself if it has that type, and
  /// the operand of a widening cast if that has it.
  Value cast(Value x, Type elementType);
  Value castLike(Value x, Value like) {
    return cast(x, getElementTypeOrSelf(like));
  }
  /// Returns `x` in the type of statistics: f32 for bf16.
  Value castToStatistics(Value x) {
    return cast(x, getStatisticsType(getElementTypeOrSelf(x)));
  }
  /// Returns `x` with another shape; `x` itself if it has that shape.
  Value reshape(Value x, ArrayRef<int64_t> shape);
  /// Returns `x` [...] as [..., 1].
  Value addUnitDim(Value x);

  /// Reduce over the last dimension, which stays with size 1.
  Value rowSum(Value x) { return reduceRow(ReduceKind::Sum, x); }
  Value rowMax(Value x) { return reduceRow(ReduceKind::Max, x); }
  Value rowMean(Value x) { return scale(rowSum(x), 1.0 / getShape(x).back()); }
  /// Returns the sum over all dimensions: a scalar.
  Value sumAll(Value x) { return reduceAll(ReduceKind::Sum, x); }
  /// Returns the mean over all dimensions: a scalar.
  Value meanAll(Value x) { return reduceAll(ReduceKind::Mean, x); }
  /// Sums `x` over `dims` (increasing) and reshapes the result to `shape`,
  /// which may differ only by unit dimensions.
  Value sumTo(Value x, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape);

  OpBuilder &builder;
  Location loc;

private:
  Value reduceRow(ReduceKind kind, Value x);
  Value reduceAll(ReduceKind kind, Value x);
};

} // namespace mlir::pp

/// Begins the definition of an op's adjoint.
#define PP_ADJOINT(OpT)                                                        \
  LogicalResult OpT::buildAdjoint(                                             \
      OpBuilder &builder, ArrayRef<Value> resultGrads, ArrayRef<bool> needed,  \
      MutableArrayRef<Value> operandGrads)

/// Begins the definition of an op's decomposition at `moment`.
#define PP_DECOMPOSE(OpT, moment)                                              \
  DecomposeAt OpT::getDecomposeAt() { return DecomposeAt::moment; }            \
  SmallVector<Value> OpT::decompose(OpBuilder &builder)

#endif // PPOPT_LIB_DIALECT_PP_TENSORBUILDER_H
