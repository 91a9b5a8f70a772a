//===- EvaluateSelection.cpp - Elements that a condition selects ----------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

static Results where(OpCall &call) {
  Dtype type = call.result().type;
  return elementwise(
      call, type,
      {constant(call, "condition").cast(Dtype::boolean),
       tensorOrNumber(call, "self").cast(type),
       tensorOrNumber(call, "other").cast(type)},
      [](ArrayRef<Scalar> x) { return x[0].integer ? x[1] : x[2]; });
}

static Results maskedFill(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  return elementwise(
      call, self.getType(),
      {constant(call, "mask").cast(Dtype::boolean), self,
       tensorOrNumber(call, "value").cast(self.getType())},
      [](ArrayRef<Scalar> x) { return x[0].integer ? x[2] : x[1]; });
}

/// Clamps to bounds that may be missing; NaNs stay, and the upper bound is
/// above the lower one.
static Results clampTo(OpCall &call, std::optional<HostTensor> min,
                       std::optional<HostTensor> max) {
  Dtype type = call.result().type;
  bool hasMin = min.has_value(), hasMax = max.has_value();
  SmallVector<HostTensor, 3> operands{constant(call, "self").cast(type)};
  if (hasMin)
    operands.push_back(min->cast(type));
  if (hasMax)
    operands.push_back(max->cast(type));
  auto isNan = [](const Scalar &x) { return x.real != x.real; };
  // The other kind of element is 0 in both.
  auto isLess = [](const Scalar &a, const Scalar &b) {
    return a.real < b.real || a.integer < b.integer;
  };
  return elementwise(call, type, operands, [&](ArrayRef<Scalar> x) {
    for (const Scalar &each : x)
      if (isNan(each))
        return each;
    Scalar value = x[0];
    if (hasMin && isLess(value, x[1]))
      value = x[1];
    if (hasMax && isLess(x.back(), value))
      value = x.back();
    return value;
  });
}

static Results clamp(OpCall &call) {
  auto bound = [&](StringRef name) -> std::optional<HostTensor> {
    if (!call.has(name))
      return std::nullopt;
    return tensorOrNumber(call, name);
  };
  return clampTo(call, bound("min"), bound("max"));
}

/// hardtanh and relu6.
template <int least, int most> static Results clampBetween(OpCall &call) {
  auto bound = [&](StringRef name, double fallback) {
    return HostTensor::splat(Dtype::f64, {}, {call.number(name, fallback), 0});
  };
  return clampTo(call, bound("min_val", least), bound("max_val", most));
}

/// `value` where an element is not above a threshold; a NaN stays.
static Results threshold(OpCall &call) {
  Dtype type = call.result().type;
  Scalar bound = number(call, "threshold", type),
         value = number(call, "value", type);
  if (type != Dtype::f64 && isFloat(type))
    bound.real = float(bound.real);
  return elementwise(
      call, type, {constant(call, "self").cast(type)}, [&](ArrayRef<Scalar> x) {
        bool isBelow = isFloat(type) ? x[0].real <= bound.real
                                     : x[0].integer <= bound.integer;
        return isBelow ? value : x[0];
      });
}

/// Zeros above (below) a diagonal of the last two dimensions.
template <bool isLower> static Results triangle(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t diagonal = call.integer("diagonal", 0), rank = self.getRank();
  if (rank < 2)
    call.fail("takes a triangle of a tensor of " + Twine(rank));
  if (call.failed())
    return {};
  DimBits same = sameAlong(self);
  same[rank - 1] = same[rank - 2] = false;
  return generate(call, self.getType(), self.getShape(), same,
                  [&](ArrayRef<int64_t> index) {
                    int64_t from = index[rank - 1] - index[rank - 2];
                    return (isLower ? from <= diagonal : from >= diagonal)
                               ? self.get(index)
                               : Scalar();
                  });
}

//===----------------------------------------------------------------------===//
// A part that is replaced
//===----------------------------------------------------------------------===//

/// A copy of `self` whose elements in a range are those of `source`.
static Results replace(OpCall &call, const HostTensor &self,
                       const HostTensor &source, const DimRange &range) {
  int64_t dim = range.dim;
  Shape shape(self.getShape());
  shape[dim] = range.size;
  HostTensor part = broadcast(call, source.cast(self.getType()), shape);
  if (call.failed())
    return {};
  DimBits same = sameAlong(self);
  for (auto [bit, stride] : zip_equal(same, part.getStrides()))
    bit &= stride == 0;
  same[dim] = false;
  Shape inside;
  return generate(call, self.getType(), self.getShape(), same,
                  [&](ArrayRef<int64_t> index) {
                    int64_t distance = index[dim] - range.start;
                    if (distance < 0 || distance % range.step ||
                        distance / range.step >= range.size)
                      return self.get(index);
                    inside.assign(index.begin(), index.end());
                    inside[dim] = distance / range.step;
                    return part.get(inside);
                  });
}

static Results sliceScatter(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  DimRange range = call.slice(self.getShape());
  if (call.failed())
    return {};
  return replace(call, self, constant(call, "src"), range);
}

static Results selectScatter(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  DimRange range = call.select(self.getShape());
  if (call.failed())
    return {};
  HostTensor source = constant(call, "src");
  if (source.getRank() + 1 != self.getRank())
    call.fail("puts " + spellShape(source.getShape()) + " into " +
              spellShape(self.getShape()));
  if (call.failed())
    return {};
  return replace(call, self, insertDim(source, range.dim), range);
}

ArrayRef<EvaluatedOp> pt2::getSelectionOps() {
  static const EvaluatedOp ops[] = {
      {"aten.where.self", checked<where>},
      {"aten.where.ScalarOther", checked<where>},
      {"aten.where.ScalarSelf", checked<where>},
      {"aten.where.Scalar", checked<where>},
      {"aten.masked_fill.Scalar", checked<maskedFill>},
      {"aten.masked_fill.Tensor", checked<maskedFill>},
      {"aten.clamp.default", checked<clamp>},
      {"aten.clamp.Tensor", checked<clamp>},
      {"aten.clamp_min.default", checked<clamp>},
      {"aten.clamp_min.Tensor", checked<clamp>},
      {"aten.clamp_max.default", checked<clamp>},
      {"aten.clamp_max.Tensor", checked<clamp>},
      {"aten.hardtanh.default", checked<clampBetween<-1, 1>>},
      {"aten.relu6.default", checked<clampBetween<0, 6>>},
      {"aten.threshold.default", checked<threshold>},
      {"aten.tril.default", checked<triangle<true>>},
      {"aten.triu.default", checked<triangle<false>>},
      {"aten.slice_scatter.default", checked<sliceScatter>},
      {"aten.select_scatter.default", checked<selectScatter>},
  };
  return ops;
}
