//===- BuildRandom.cpp - Random numbers -----------------------------------===//
//
// Of the distribution that PyTorch draws from. The numbers are those of the
// run's --seed, which are not PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include "ppopt/Dialect/PP/ModelOps.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

/// Numbers from `low` to `high`, or of a mean and a standard deviation, in the
/// result's shape.
static Value draw(OpCall &call, Emitter &emit, Dtype type,
                  Distribution distribution, double first, double second) {
  Builder &builder = emit.getBuilder();
  bool isUniform = distribution == Distribution::Uniform;
  TypedAttr a = builder.getF64FloatAttr(first),
            b = builder.getF64FloatAttr(second), none;
  return emit.make<RandomOp>(emit.tensorType(type, call.result().shape),
                             distribution, /*key=*/Value(),
                             isUniform ? a : none, isUniform ? b : none,
                             isUniform ? none : a, isUniform ? none : b,
                             /*stream=*/IntegerAttr(), /*tile=*/TileAttr());
}

/// What a call says of the numbers' place and kind is in its result.
static void passOver(OpCall &call) {
  for (StringRef name : {"size", "generator", "self", "pin_memory"})
    (void)call.has(name);
}

static Results buildUniform(OpCall &call, Emitter &emit) {
  passOver(call);
  return {draw(call, emit, call.result().type, Distribution::Uniform,
               call.number("from", 0), call.number("to", 1))};
}

/// randn, randn_like, and normal with numbers or tensors.
static Results buildNormal(OpCall &call, Emitter &emit) {
  passOver(call);
  Dtype type = call.result().type;
  auto number = [&](StringRef name, double fallback) {
    return call.isTensor(name) ? fallback : call.number(name, fallback);
  };
  Expr drawn{emit, draw(call, emit, type, Distribution::Normal,
                        number("mean", 0), number("std", 1))};
  Formula f{call, emit};
  if (call.isTensor("std"))
    drawn = drawn * f("std");
  if (call.isTensor("mean"))
    drawn = drawn + f("mean");
  return {drawn.get()};
}

/// 1 with a probability, else 0.
static Results buildBernoulli(OpCall &call, Emitter &emit) {
  bool isNumber = call.has("p");
  passOver(call);
  Dtype type = isNumber ? Dtype::f32 : call.tensor("self").type;
  Expr u{emit, draw(call, emit, type, Distribution::Uniform, 0, 1)};
  Formula f{call, emit};
  Expr isOne =
      u < (isNumber ? Expr(call.number("p", 0.5)) : f.as("self", type));
  return {castTo(isOne, call.result().type).get()};
}

ArrayRef<OpRow> pt2::randomRows() {
  static constexpr StringRef kNumbers = "PyTorch's numbers: others are drawn";
  static const OpRow rows[] = {
      {"aten.rand.default", &buildUniform, kNumbers},
      {"aten.rand_like.default", &buildUniform, kNumbers},
      {"aten.uniform.default", &buildUniform, kNumbers},
      {"aten.randn.default", &buildNormal, kNumbers},
      {"aten.randn_like.default", &buildNormal, kNumbers},
      {"aten.normal.float_float", &buildNormal, kNumbers},
      {"aten.normal.Tensor_float", &buildNormal, kNumbers},
      {"aten.normal.float_Tensor", &buildNormal, kNumbers},
      {"aten.normal.Tensor_Tensor", &buildNormal, kNumbers},
      {"aten.normal_functional.default", &buildNormal, kNumbers},
      {"aten.bernoulli.default", &buildBernoulli, kNumbers},
      {"aten.bernoulli.p", &buildBernoulli, kNumbers},
  };
  return rows;
}
