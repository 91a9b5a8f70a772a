//===- Formula.h - Arithmetic on values of a model ------------------------===//

#ifndef PPOPT_LIB_IMPORT_FORMULA_H
#define PPOPT_LIB_IMPORT_FORMULA_H

#include "Emitter.h"

namespace mlir::pp::pt2 {

/// A value, or a number in the type of the value that it meets. Operators make
/// the model's ops, with broadcasting.
class Expr {
public:
  Expr(double number) : number(number) {}
  Expr(Emitter &emit, Value value) : emit(&emit), value(value) {}

  Value get() const { return value; }
  Dtype getType() const { return Emitter::typeOf(value); }
  Emitter &getEmitter() const { return *emit; }
  bool isNumber(double other) const { return !value && number == other; }
  /// The value, or the number as one of the type of `other`.
  Expr like(const Expr &other) const;

private:
  Emitter *emit = nullptr;
  Value value;
  double number = 0;
};

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator-(Expr x);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator&(Expr a, Expr b); ///< of booleans

Expr where(Expr condition, Expr a, Expr b);
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);
Expr power(Expr a, Expr b);
Expr abs(Expr x);
Expr exp(Expr x);
Expr expm1(Expr x);
Expr log(Expr x);
Expr log1p(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr sign(Expr x);
Expr floor(Expr x);
Expr sqrt(Expr x);
Expr relu(Expr x);
Expr trunc(Expr x);
/// Not below; the gradient at the bound is 0, as PyTorch's.
Expr atLeast(Expr x, double bound);
Expr detach(Expr x);
Expr castTo(Expr x, Dtype type);
/// The sum along one dimension.
Expr sum(Expr x, int64_t dim, bool keepDims = false);

/// What a formula reads of a call.
struct Formula {
  OpCall &call;
  Emitter &emit;

  /// A tensor or a number, in the type of the result.
  Expr operator()(llvm::StringRef name) const {
    return as(name, call.result().type);
  }
  Expr as(llvm::StringRef name, Dtype type) const {
    return {emit, emit.operand(call, name, type)};
  }
  double number(llvm::StringRef name, double fallback) const {
    return call.number(name, fallback);
  }
};

} // namespace mlir::pp::pt2

#endif // PPOPT_LIB_IMPORT_FORMULA_H
