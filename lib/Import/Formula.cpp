//===- Formula.cpp - Arithmetic on values of a model ----------------------===//

#include "Formula.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

Expr Expr::like(const Expr &other) const {
  if (value)
    return *this;
  return {*other.emit, other.emit->number(other.getType(), number)};
}

template <typename Op> static Expr unary(Expr x) {
  return {x.getEmitter(), x.getEmitter().make<Op>(x.get())};
}

template <typename Op, typename... More>
static Expr binary(Expr a, Expr b, More... more) {
  Expr lhs = a.get() ? a : a.like(b), rhs = b.get() ? b : b.like(a);
  Emitter &emit = lhs.getEmitter();
  return {emit, emit.make<Op>(more..., lhs.get(), rhs.get())};
}

Expr pt2::operator+(Expr a, Expr b) {
  return b.isNumber(0) ? a : binary<AddOp>(a, b);
}
Expr pt2::operator-(Expr a, Expr b) {
  return b.isNumber(0) ? a : binary<SubOp>(a, b);
}
Expr pt2::operator*(Expr a, Expr b) {
  return a.isNumber(1) ? b : b.isNumber(1) ? a : binary<MulOp>(a, b);
}
Expr pt2::operator/(Expr a, Expr b) { return binary<DivOp>(a, b); }
Expr pt2::operator-(Expr x) {
  return isFloat(x.getType()) ? unary<NegOp>(x) : Expr(0).like(x) - x;
}

#define PP_COMPARE(OP, NAME)                                                   \
  Expr pt2::operator OP(Expr a, Expr b) {                                      \
    return binary<CompareOp>(a, b, ComparePredicate::NAME);                    \
  }
PP_COMPARE(<, Lt)
PP_COMPARE(<=, Le)
PP_COMPARE(>, Gt)
PP_COMPARE(>=, Ge)
PP_COMPARE(==, Eq)
PP_COMPARE(!=, Ne)
#undef PP_COMPARE

Expr pt2::operator&(Expr a, Expr b) {
  Emitter &emit = a.getEmitter();
  return {emit, emit.toBoolean(emit.mul(emit.toInteger(a.get()),
                                        emit.toInteger(b.get())))};
}

Expr pt2::where(Expr condition, Expr a, Expr b) {
  Emitter &emit = condition.getEmitter();
  Expr lhs = a.get() ? a : a.like(b), rhs = b.get() ? b : b.like(a);
  return {emit, emit.select(condition.get(), lhs.get(), rhs.get())};
}

Expr pt2::maximum(Expr a, Expr b) { return binary<MaximumOp>(a, b); }
Expr pt2::minimum(Expr a, Expr b) { return binary<MinimumOp>(a, b); }
Expr pt2::power(Expr a, Expr b) { return binary<PowerOp>(a, b); }
Expr pt2::abs(Expr x) { return unary<AbsOp>(x); }
Expr pt2::exp(Expr x) { return unary<ExpOp>(x); }
Expr pt2::expm1(Expr x) { return unary<Expm1Op>(x); }
Expr pt2::log(Expr x) { return unary<LogOp>(x); }
Expr pt2::log1p(Expr x) { return unary<Log1pOp>(x); }
Expr pt2::sin(Expr x) { return unary<SinOp>(x); }
Expr pt2::cos(Expr x) { return unary<CosOp>(x); }
Expr pt2::sign(Expr x) { return unary<SignOp>(x); }
Expr pt2::floor(Expr x) { return unary<FloorOp>(x); }
Expr pt2::sqrt(Expr x) { return unary<SqrtOp>(x); }
Expr pt2::relu(Expr x) { return unary<ReluOp>(x); }
Expr pt2::trunc(Expr x) { return sign(x) * floor(abs(x)); }
Expr pt2::detach(Expr x) { return unary<DetachOp>(x); }
Expr pt2::castTo(Expr x, Dtype type) {
  return {x.getEmitter(), x.getEmitter().castTo(x.get(), type)};
}

Expr pt2::atLeast(Expr x, double bound) {
  Emitter &emit = x.getEmitter();
  return {emit, emit.make<ClampOp>(x.get().getType(), x.get(),
                                   emit.getBuilder().getF64FloatAttr(bound),
                                   FloatAttr())};
}

Expr pt2::sum(Expr x, int64_t dim, bool keepDims) {
  Emitter &emit = x.getEmitter();
  return {emit, emit.reduce(ReduceKind::Sum, x.get(), {dim}, keepDims)};
}
