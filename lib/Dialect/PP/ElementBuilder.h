//===- ElementBuilder.h - Emits scalar code -------------------------------===//
//
// An op's element is a scalar formula in arith and math ops. An ElementBuilder
// emits them at one insertion point and one location.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_LIB_DIALECT_PP_ELEMENTBUILDER_H
#define PPOPT_LIB_DIALECT_PP_ELEMENTBUILDER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "ppopt/Dialect/PP/PP.h"
#include "ppopt/Dialect/PP/Shapes.h"

namespace mlir::pp {

/// Returns the type in which elements of a tensor are computed.
inline Type getComputeType(Value tensor) {
  return getStatisticsType(getElementTypeOrSelf(tensor));
}

class ElementBuilder {
public:
  ElementBuilder(OpBuilder &builder, Location loc)
      : builder(builder), loc(loc) {}

  /// Creates an op on indices, integers or booleans.
  template <typename OpT, typename... Args> Value make(Args &&...args) {
    return builder.createOrFold<OpT>(loc, std::forward<Args>(args)...);
  }
  /// Creates a floating-point op. It has no fast-math flags and is not folded:
  /// an element's bits follow from the op's formula, not from the kernel that
  /// it is computed in.
  template <typename OpT, typename... Args> Value makeFloat(Args... args) {
    return OpT::create(builder, loc, args...);
  }

  Value constant(Type type, double value);
  Value constantInt(Type type, int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  }
  Value indexConstant(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }

  Value add(Value a, Value b) { return makeFloat<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return makeFloat<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return makeFloat<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return makeFloat<arith::DivFOp>(a, b); }
  Value neg(Value x) { return makeFloat<arith::NegFOp>(x); }
  Value exp(Value x) { return makeFloat<math::ExpOp>(x); }
  Value scale(Value x, double factor) {
    return mul(x, constant(x.getType(), factor));
  }
  Value shift(Value x, double offset) {
    return add(x, constant(x.getType(), offset));
  }
  Value lessThan(Value a, Value b) {
    return makeFloat<arith::CmpFOp>(arith::CmpFPredicate::OLT, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return make<arith::SelectOp>(condition, a, b);
  }

  // On indices.
  Value addIndex(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value addIndex(Value a, int64_t b) {
    return b == 0 ? a : addIndex(a, indexConstant(b));
  }
  Value scaleIndex(Value a, int64_t factor) {
    return factor == 1 ? a : make<arith::MulIOp>(a, indexConstant(factor));
  }
  /// Returns the row-major position of `index` in a tensor of `shape`.
  Value linearize(ValueRange index, ArrayRef<int64_t> shape);
  /// Inverse of linearize.
  SmallVector<Value> delinearize(Value linear, ArrayRef<int64_t> shape);

  OpBuilder &builder;
  Location loc;
};

} // namespace mlir::pp

/// Begins the definition of an op's emitElement.
#define PP_ELEMENT(OpT)                                                        \
  Value OpT::emitElement(OpBuilder &builder, ValueRange index,                 \
                         ElementReader read)

#endif // PPOPT_LIB_DIALECT_PP_ELEMENTBUILDER_H
