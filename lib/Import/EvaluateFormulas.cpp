//===- EvaluateFormulas.cpp - Formulas of constants -----------------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// The operands in the type of the result, which is a float.
static SmallVector<HostTensor, 3> operands(OpCall &call,
                                           ArrayRef<StringRef> names) {
  Dtype type = call.result().type;
  if (!isFloat(type))
    call.fail("makes a " + spell(type) + ", no float");
  SmallVector<HostTensor, 3> tensors;
  if (!call.failed())
    for (StringRef name : names)
      tensors.push_back(tensorOrNumber(call, name).cast(type));
  return tensors;
}

/// Computes in double and rounds once.
static Results inDouble(OpCall &call, ArrayRef<StringRef> names,
                        function_ref<double(ArrayRef<Scalar>)> compute) {
  SmallVector<HostTensor, 3> tensors = operands(call, names);
  if (call.failed())
    return {};
  return elementwise(call, call.result().type, tensors,
                     [&](ArrayRef<Scalar> x) { return Scalar{compute(x), 0}; });
}

/// Computes in double of float64 and in float of others, as PyTorch does.
/// `compute` takes the operands and `parameters`, all of one of these types.
template <typename Compute>
static Results inType(OpCall &call, ArrayRef<StringRef> names,
                      ArrayRef<double> parameters, Compute compute) {
  SmallVector<HostTensor, 3> tensors = operands(call, names);
  if (call.failed())
    return {};
  SmallVector<float, 5> floats(tensors.size());
  SmallVector<double, 5> doubles(tensors.size());
  floats.append(parameters.begin(), parameters.end());
  doubles.append(parameters.begin(), parameters.end());
  bool isDouble = call.result().type == Dtype::f64;
  return elementwise(call, call.result().type, tensors,
                     [&](ArrayRef<Scalar> x) -> Scalar {
                       for (auto [i, each] : enumerate(x)) {
                         doubles[i] = each.real;
                         floats[i] = each.real;
                       }
                       return {isDouble ? double(compute(doubles.data()))
                                        : double(compute(floats.data())),
                               0};
                     });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Also of integers, which wrap around.
static Results addcmul(OpCall &call) {
  Dtype type = call.result().type;
  Scalar factor = number(call, "value", type, 1);
  if (isFloat(type))
    return inType(call, {"self", "tensor1", "tensor2"}, {factor.real},
                  [](auto *x) { return x[0] + x[3] * x[1] * x[2]; });
  return elementwise(
      call, type,
      {constant(call, "self").cast(type), constant(call, "tensor1").cast(type),
       constant(call, "tensor2").cast(type)},
      [&](ArrayRef<Scalar> x) {
        return Scalar{
            0, int64_t(uint64_t(x[0].integer) + uint64_t(factor.integer) *
                                                    uint64_t(x[1].integer) *
                                                    uint64_t(x[2].integer))};
      });
}

static Results addcdiv(OpCall &call) {
  return inType(call, {"self", "tensor1", "tensor2"}, {call.number("value", 1)},
                [](auto *x) { return x[0] + x[3] * x[1] / x[2]; });
}

/// From the end that is nearer.
static Results lerp(OpCall &call) {
  auto compute = [](auto *x) {
    return std::abs(x[2]) < 0.5f ? x[0] + x[2] * (x[1] - x[0])
                                 : x[1] - (x[1] - x[0]) * (1 - x[2]);
  };
  if (call.isTensor("weight"))
    return inType(call, {"self", "end", "weight"}, {}, compute);
  return inType(call, {"self", "end"}, {call.number("weight")}, compute);
}

static Results frac(OpCall &call) {
  return inType(call, {"self"}, {},
                [](auto *x) { return x[0] - std::trunc(x[0]); });
}

//===----------------------------------------------------------------------===//
// Exponentials and logarithms
//===----------------------------------------------------------------------===//

/// log(1 + e^x).
static double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

static Results logaddexp(OpCall &call) {
  return inDouble(call, {"self", "other"}, [](ArrayRef<Scalar> x) {
    double a = x[0].real, b = x[1].real;
    return a == b && std::isinf(a)
               ? a
               : std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  });
}

static Results logaddexp2(OpCall &call) {
  return inDouble(call, {"self", "other"}, [](ArrayRef<Scalar> x) {
    double a = x[0].real, b = x[1].real;
    return a == b && std::isinf(a)
               ? a
               : std::max(a, b) + std::log2(1 + std::exp2(-std::fabs(a - b)));
  });
}

/// x log(y), and 0 where x is 0 unless y is NaN.
static Results xlogy(OpCall &call) {
  return inDouble(call, {"self", "other"}, [](ArrayRef<Scalar> x) {
    double y = x[1].real;
    return std::isnan(y) ? y : x[0].real == 0 ? 0 : x[0].real * std::log(y);
  });
}

static Results logit(OpCall &call) {
  double eps = call.number("eps", -1);
  return inDouble(call, {"self"}, [&](ArrayRef<Scalar> x) {
    double y = x[0].real;
    if (eps >= 0)
      y = y < eps ? eps : y > 1 - eps ? 1 - eps : y;
    return std::log(y / (1 - y));
  });
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

static Results silu(OpCall &call) {
  return inDouble(call, {"self"}, [](ArrayRef<Scalar> x) {
    return x[0].real / (1 + std::exp(-x[0].real));
  });
}

static Results mish(OpCall &call) {
  return inDouble(call, {"self"}, [](ArrayRef<Scalar> x) {
    return x[0].real * std::tanh(softplus(x[0].real));
  });
}

static Results logSigmoid(OpCall &call) {
  return inDouble(call, {"self"},
                  [](ArrayRef<Scalar> x) { return -softplus(-x[0].real); });
}

static Results softplusOf(OpCall &call) {
  double beta = call.number("beta", 1), most = call.number("threshold", 20);
  return inDouble(call, {"self"}, [&](ArrayRef<Scalar> x) {
    double scaled = x[0].real * beta;
    return scaled > most ? x[0].real : std::log1p(std::exp(scaled)) / beta;
  });
}

static Results gelu(OpCall &call) {
  StringRef approximate = call.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    call.fail("has the unknown approximation '" + approximate + "'");
  bool isTanh = approximate == "tanh";
  return inDouble(call, {"self"}, [&](ArrayRef<Scalar> x) {
    double y = x[0].real;
    return 0.5 * y *
           (1 + (isTanh ? std::tanh(std::sqrt(2 / M_PI) *
                                    (y + 0.044715 * y * y * y))
                        : std::erf(y / std::sqrt(2.0))));
  });
}

static Results elu(OpCall &call) {
  double alpha = call.number("alpha", 1), scale = call.number("scale", 1),
         inner = call.number("input_scale", 1);
  if (call.getOp() == "aten.selu.default") {
    alpha = 1.6732632423543772848170429916717;
    scale = 1.0507009873554804934193349852946;
  } else if (call.getOp() == "aten.celu.default") {
    inner = 1 / alpha;
  }
  return inDouble(call, {"self"}, [&](ArrayRef<Scalar> x) {
    double y = x[0].real;
    return scale * (y > 0 ? y : alpha * std::expm1(inner * y));
  });
}

static Results leakyRelu(OpCall &call) {
  return inType(call, {"self"}, {call.number("negative_slope", 0.01)},
                [](auto *x) { return x[0] > 0 ? x[0] : x[0] * x[1]; });
}

static Results hardshrink(OpCall &call) {
  return inType(call, {"self"}, {call.number("lambd", 0.5)}, [](auto *x) {
    return x[0] >= -x[1] && x[0] <= x[1] ? 0 : x[0];
  });
}

static Results softshrink(OpCall &call) {
  return inType(call, {"self"}, {call.number("lambd", 0.5)}, [](auto *x) {
    return x[0] > x[1] ? x[0] - x[1] : x[0] < -x[1] ? x[0] + x[1] : x[0] * 0;
  });
}

/// min(max(x + 3, 0), 6), where a NaN stays.
template <typename T> static T clampToSix(T x) {
  return x + 3 < 0 ? 0 : x + 3 > 6 ? 6 : x + 3;
}

static Results hardsigmoid(OpCall &call) {
  return inType(call, {"self"}, {},
                [](auto *x) { return clampToSix(x[0]) / 6; });
}

static Results hardswish(OpCall &call) {
  return inType(call, {"self"}, {},
                [](auto *x) { return x[0] * clampToSix(x[0]) / 6; });
}

/// One half times the sigmoid of the other.
static Results glu(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), -1);
  if (self.getRank() == 0 || self.getShape()[dim] % 2 != 0)
    call.fail("halves a dimension of " + spellShape(self.getShape()));
  if (call.failed())
    return {};
  int64_t half = self.getShape()[dim] / 2;
  return elementwise(
      call, call.result().type,
      {sliceDim(self, dim, 0, half), sliceDim(self, dim, half, half)},
      [](ArrayRef<Scalar> x) {
        return Scalar{x[0].real * sigmoid(x[1].real), 0};
      });
}

ArrayRef<EvaluatedOp> pt2::getFormulaOps() {
  static const EvaluatedOp ops[] = {
      {"aten.addcmul.default", checked<addcmul>},
      {"aten.addcdiv.default", checked<addcdiv>},
      {"aten.lerp.Scalar", checked<lerp>},
      {"aten.lerp.Tensor", checked<lerp>},
      {"aten.frac.default", checked<frac>},
      {"aten.logaddexp.default", checked<logaddexp>},
      {"aten.logaddexp2.default", checked<logaddexp2>},
      {"aten.xlogy.Tensor", checked<xlogy>},
      {"aten.xlogy.Scalar_Self", checked<xlogy>},
      {"aten.xlogy.Scalar_Other", checked<xlogy>},
      {"aten.logit.default", checked<logit>},
      {"aten.silu.default", checked<silu>},
      {"aten.mish.default", checked<mish>},
      {"aten.log_sigmoid.default", checked<logSigmoid>},
      {"aten.softplus.default", checked<softplusOf>},
      {"aten.gelu.default", checked<gelu>},
      {"aten.elu.default", checked<elu>},
      {"aten.selu.default", checked<elu>},
      {"aten.celu.default", checked<elu>},
      {"aten.leaky_relu.default", checked<leakyRelu>},
      {"aten.hardshrink.default", checked<hardshrink>},
      {"aten.softshrink.default", checked<softshrink>},
      {"aten.hardsigmoid.default", checked<hardsigmoid>},
      {"aten.hardswish.default", checked<hardswish>},
      {"aten.glu.default", checked<glu>},
  };
  return ops;
}
