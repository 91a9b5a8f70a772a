//===- EvaluateReductions.cpp - Reductions of constants -------------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// Computes a result from a view of the elements that are reduced to it.
using Fold = function_ref<Scalar(const HostTensor &)>;

static Results reduce(OpCall &call, const HostTensor &self,
                      ArrayRef<int64_t> dims, bool keepsDims, Dtype type,
                      Fold fold) {
  DimBits isReduced(self.getRank(), false), same;
  Shape kept, keptStrides, reduced, reducedStrides, shape;
  for (int64_t dim : dims) {
    if (isReduced[dim])
      call.fail("reduces the dimension " + Twine(dim) + " twice");
    isReduced[dim] = true;
  }
  for (auto [bit, size, stride] :
       zip_equal(isReduced, self.getShape(), self.getStrides())) {
    (bit ? reduced : kept).push_back(size);
    (bit ? reducedStrides : keptStrides).push_back(stride);
    if (!bit)
      same.push_back(stride == 0);
    if (!bit || keepsDims)
      shape.push_back(bit ? 1 : size);
  }
  Shape steps = distinctShape(kept, same);
  steps.append(reduced);
  if (call.failed() || !affords(call, steps))
    return {};
  Results results =
      generate(call, type, kept, same, [&](ArrayRef<int64_t> index) {
        int64_t offset = 0;
        for (auto [at, stride] : zip_equal(index, keptStrides))
          offset += at * stride;
        return fold(self.view(reduced, reducedStrides, offset));
      });
  if (call.failed())
    return {};
  return {reshape(call, results.front(), shape)};
}

/// Reduces the argument `dim`: a dimension, a list of some, or all.
static Results reduceDims(OpCall &call, const HostTensor &self, Dtype type,
                          Fold fold) {
  return reduce(call, self, call.dims("dim", self.getRank()),
                call.flag("keepdim", false), type, fold);
}

/// Calls `visit` with each element, in row-major order.
static void forEach(const HostTensor &tensor,
                    function_ref<void(const Scalar &)> visit) {
  HostTensor::forEachIndex(tensor.getShape(), [&](ArrayRef<int64_t> index) {
    visit(tensor.get(index));
  });
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

/// Sums of doubles, rounded once.
static Scalar addAll(const HostTensor &tensor) {
  double real = 0;
  uint64_t integer = 0;
  forEach(tensor, [&](const Scalar &x) {
    real += x.real;
    integer += x.integer;
  });
  return {real, int64_t(integer)};
}

static Results sum(OpCall &call) {
  Dtype type = call.result().type;
  return reduceDims(call, constant(call, "self").cast(type), type, addAll);
}

static Results mean(OpCall &call) {
  Dtype type = call.result().type;
  if (!isFloat(type))
    call.fail("makes a mean of " + spell(type));
  return reduceDims(
      call, constant(call, "self").cast(type), type, [](const HostTensor &x) {
        return Scalar{addAll(x).real / double(x.getElements()), 0};
      });
}

static Results prod(OpCall &call) {
  Dtype type = call.result().type;
  return reduceDims(call, constant(call, "self").cast(type), type,
                    [](const HostTensor &tensor) {
                      double real = 1;
                      uint64_t integer = 1;
                      forEach(tensor, [&](const Scalar &x) {
                        real *= x.real;
                        integer *= x.integer;
                      });
                      return Scalar{real, int64_t(integer)};
                    });
}

static Results countNonzero(OpCall &call) {
  return reduceDims(call, constant(call, "self").cast(Dtype::boolean),
                    Dtype::i64, addAll);
}

/// The type is that of the result: uint8 stays uint8.
template <bool isAll> static Results test(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  return reduceDims(call, self.cast(Dtype::boolean),
                    self.getType() == Dtype::u8 ? Dtype::u8 : Dtype::boolean,
                    [](const HostTensor &x) {
                      int64_t count = addAll(x).integer;
                      return Scalar{0, isAll ? count == x.getElements()
                                             : count > 0};
                    });
}

//===----------------------------------------------------------------------===//
// Extremes
//===----------------------------------------------------------------------===//

namespace {

struct Extreme {
  Scalar value;
  int64_t position = 0;
};

} // namespace

/// The first of the largest (smallest) elements; a NaN is more than all.
template <bool isMax> static Extreme findExtreme(const HostTensor &tensor) {
  Extreme found;
  int64_t next = 0;
  forEach(tensor, [&](const Scalar &x) {
    // The other kind of element is 0 in both.
    bool isBetter =
        isMax ? x.real > found.value.real || x.integer > found.value.integer
              : x.real < found.value.real || x.integer < found.value.integer;
    isBetter |= std::isnan(x.real);
    if (next == 0 || (isBetter && !std::isnan(found.value.real)))
      found = {x, next};
    ++next;
  });
  return found;
}

static void refuseEmpty(OpCall &call, const HostTensor &self,
                        ArrayRef<int64_t> dims) {
  for (int64_t dim : dims)
    if (self.getShape()[dim] == 0)
      call.fail("has no extreme of an empty dimension");
}

template <bool isMax> static Results extreme(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  refuseEmpty(call, self, call.dims("dim", self.getRank()));
  return reduceDims(call, self, self.getType(), [](const HostTensor &x) {
    return findExtreme<isMax>(x).value;
  });
}

template <bool isMax> static Results extremePosition(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  refuseEmpty(call, self, call.dims("dim", self.getRank()));
  return reduceDims(call, self, Dtype::i64, [](const HostTensor &x) {
    return Scalar{0, findExtreme<isMax>(x).position};
  });
}

template <bool isMax> static Results extremeAndPosition(OpCall &call) {
  Results results = extreme<isMax>(call);
  for (HostTensor &position : extremePosition<isMax>(call))
    results.push_back(position);
  return results;
}

//===----------------------------------------------------------------------===//
// Variances, norms, logarithms of sums
//===----------------------------------------------------------------------===//

static double meanOf(const HostTensor &tensor) {
  return addAll(tensor).real / double(tensor.getElements());
}

/// var and std (default, dim, correction), and their forms with the mean. A
/// divisor is at least 0, by which the result is infinite or a NaN.
static Results variance(OpCall &call) {
  StringRef op = call.getOp();
  bool isStd = op.starts_with("aten.std");
  Dtype type = call.result().type;
  HostTensor self = constant(call, "self").cast(type);
  double correction = op.ends_with(".correction")
                          ? call.number("correction", 1)
                          : double(call.flag("unbiased", true));
  Results results = reduceDims(call, self, type, [&](const HostTensor &x) {
    double mean = meanOf(x), sum = 0;
    forEach(x, [&](const Scalar &each) {
      sum += (each.real - mean) * (each.real - mean);
    });
    double variance = sum / std::max(double(x.getElements()) - correction, 0.0);
    return Scalar{isStd ? std::sqrt(variance) : variance, 0};
  });
  if (op.contains("_mean.") && !call.failed())
    for (HostTensor &mean :
         reduceDims(call, self, type,
                    [](const HostTensor &x) { return Scalar{meanOf(x), 0}; }))
      results.push_back(mean);
  return results;
}

static double normOf(const HostTensor &tensor, double order) {
  double sum = 0, most = 0, least = INFINITY;
  bool hasNan = false;
  forEach(tensor, [&](const Scalar &x) {
    double size = std::fabs(x.real);
    hasNan |= std::isnan(size);
    most = std::max(most, size);
    least = std::min(least, size);
    sum += order == 0 ? size != 0 : order == 1 ? size : std::pow(size, order);
  });
  if (std::isinf(order))
    return hasNan ? NAN : order > 0 ? most : least;
  return order == 0 || order == 1 ? sum : std::pow(sum, 1 / order);
}

static Results norm(OpCall &call) {
  bool isLinalg = call.getOp().starts_with("aten.linalg_vector_norm.");
  double order = call.number(isLinalg ? "ord" : "p", 2);
  Dtype type = call.result().type;
  call.dtype("dtype"); // the result has it
  if (!isFloat(type))
    call.fail("makes a norm of " + spell(type));
  return reduceDims(
      call, constant(call, "self").cast(type), type,
      [&](const HostTensor &x) { return Scalar{normOf(x, order), 0}; });
}

/// Of a largest element that is infinite nothing is subtracted.
static Results logSumExp(OpCall &call) {
  Dtype type = call.result().type;
  if (!isFloat(type))
    call.fail("makes a logarithm of " + spell(type));
  return reduceDims(
      call, constant(call, "self").cast(type), type, [](const HostTensor &x) {
        double most = x.getElements() ? findExtreme<true>(x).value.real : 0;
        double shift = std::isinf(most) ? 0 : most, sum = 0;
        forEach(
            x, [&](const Scalar &each) { sum += std::exp(each.real - shift); });
        return Scalar{std::log(sum) + shift, 0};
      });
}

ArrayRef<EvaluatedOp> pt2::getReductionOps() {
  static const EvaluatedOp ops[] = {
      {"aten.sum.default", checked<sum>},
      {"aten.sum.dim_IntList", checked<sum>},
      {"aten.mean.default", checked<mean>},
      {"aten.mean.dim", checked<mean>},
      {"aten.prod.default", checked<prod>},
      {"aten.prod.dim_int", checked<prod>},
      {"aten.any.default", checked<test<false>>},
      {"aten.any.dim", checked<test<false>>},
      {"aten.any.dims", checked<test<false>>},
      {"aten.all.default", checked<test<true>>},
      {"aten.all.dim", checked<test<true>>},
      {"aten.all.dims", checked<test<true>>},
      {"aten.amax.default", checked<extreme<true>>},
      {"aten.amin.default", checked<extreme<false>>},
      {"aten.max.default", checked<extreme<true>>},
      {"aten.min.default", checked<extreme<false>>},
      {"aten.max.dim", checked<extremeAndPosition<true>>},
      {"aten.min.dim", checked<extremeAndPosition<false>>},
      {"aten.argmax.default", checked<extremePosition<true>>},
      {"aten.argmin.default", checked<extremePosition<false>>},
      {"aten.var.default", checked<variance>},
      {"aten.var.dim", checked<variance>},
      {"aten.var.correction", checked<variance>},
      {"aten.std.default", checked<variance>},
      {"aten.std.dim", checked<variance>},
      {"aten.std.correction", checked<variance>},
      {"aten.var_mean.default", checked<variance>},
      {"aten.var_mean.dim", checked<variance>},
      {"aten.var_mean.correction", checked<variance>},
      {"aten.std_mean.default", checked<variance>},
      {"aten.std_mean.dim", checked<variance>},
      {"aten.std_mean.correction", checked<variance>},
      {"aten.norm.Scalar", checked<norm>},
      {"aten.norm.ScalarOpt_dim", checked<norm>},
      {"aten.norm.ScalarOpt_dim_dtype", checked<norm>},
      {"aten.linalg_vector_norm.default", checked<norm>},
      {"aten.logsumexp.default", checked<logSumExp>},
      {"aten.count_nonzero.default", checked<countNonzero>},
      {"aten.count_nonzero.dim_IntList", checked<countNonzero>},
  };
  return ops;
}
