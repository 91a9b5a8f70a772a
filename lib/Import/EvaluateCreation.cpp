//===- EvaluateCreation.cpp - Constants made from numbers -----------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// One number
//===----------------------------------------------------------------------===//

static Results splat(OpCall &call, ArrayRef<int64_t> shape, Scalar value) {
  if (call.failed() || !fits(call, shape, {}))
    return {};
  return {HostTensor::splat(call.result().type, shape, value)};
}

template <int value> static Results sized(OpCall &call) {
  for (StringRef layout : {"stride", "physical_layout"})
    call.has(layout); // no element depends on it
  return splat(call, call.integers("size"), {value, value});
}

template <int value> static Results like(OpCall &call) {
  return splat(call, call.tensor("self").shape, {value, value});
}

static Results full(OpCall &call) {
  return splat(call, call.integers("size"),
               number(call, "fill_value", call.result().type));
}

static Results fullLike(OpCall &call) {
  return splat(call, call.tensor("self").shape,
               number(call, "fill_value", call.result().type));
}

static Results scalarTensor(OpCall &call) {
  return splat(call, {}, number(call, "s", call.result().type));
}

static Results fill(OpCall &call) {
  HostTensor value = tensorOrNumber(call, "value");
  if (value.getElements() != 1)
    call.fail("fills with a tensor of " + Twine(value.getElements()) +
              " elements");
  if (call.failed())
    return {};
  value = value.cast(call.result().type);
  return splat(call, constant(call, "self").getShape(),
               value.get(Shape(value.getRank(), 0)));
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

static std::optional<int64_t> rangeSize(double start, double end, double step) {
  double size = std::ceil((end - start) / step);
  if (step == 0 || !(size >= 0 && size < 0x1p48))
    return std::nullopt;
  return int64_t(size);
}

static std::optional<int64_t> rangeSize(int64_t start, int64_t end,
                                        int64_t step) {
  if (step == 0 || (step > 0 ? end < start : end > start))
    return std::nullopt;
  uint64_t span = step > 0 ? uint64_t(end) - uint64_t(start)
                           : uint64_t(start) - uint64_t(end);
  uint64_t width = step > 0 ? uint64_t(step) : -uint64_t(step);
  uint64_t size = span / width + (span % width != 0);
  return size < (uint64_t{1} << 48) ? std::optional<int64_t>(size)
                                    : std::nullopt;
}

static Results arange(OpCall &call) {
  Dtype type = call.result().type;
  bool isIntegral = !isFloat(type) && call.isIntegral("start") &&
                    call.isIntegral("end") && call.isIntegral("step");
  double start = call.number("start", 0), end = call.number("end"),
         step = call.number("step", 1);
  Scalar first = number(call, "start", type, 0),
         distance = number(call, "step", type, 1);
  std::optional<int64_t> size =
      isIntegral ? rangeSize(call.integer("start", 0), call.integer("end"),
                             call.integer("step", 1))
                 : rangeSize(start, end, step);
  if (!size)
    call.fail(formatv("has no range from {0} to {1} in steps of {2}", start,
                      end, step));
  if (call.failed())
    return {};
  return generate(call, type, {*size}, {false}, [&](ArrayRef<int64_t> index) {
    return Scalar{start + step * double(index[0]),
                  int64_t(uint64_t(first.integer) +
                          uint64_t(distance.integer) * uint64_t(index[0]))};
  });
}

/// The element of a linspace, counted from the nearer end.
template <typename T>
static double linspaceElement(T start, T end, int64_t steps, int64_t i) {
  T step = (end - start) / T(steps - 1);
  return i < steps / 2 ? start + step * T(i) : end - step * T(steps - 1 - i);
}

static Results linspace(OpCall &call) {
  Dtype type = call.result().type;
  double start = call.number("start"), end = call.number("end");
  int64_t steps = call.integer("steps");
  bool isSingle = isFloat(type) && type != Dtype::f64;
  Results results = generate(
      call, isFloat(type) ? type : Dtype::f64, {steps}, {false},
      [&](ArrayRef<int64_t> index) {
        double value = start;
        if (steps > 1)
          value = isSingle
                      ? linspaceElement<float>(start, end, steps, index[0])
                      : linspaceElement<double>(start, end, steps, index[0]);
        return Scalar{value, 0};
      });
  if (call.failed())
    return {};
  return {results.front().cast(type)};
}

static Results eye(OpCall &call) {
  int64_t rows = call.integer("n"), columns = call.integer("m", rows);
  return generate(call, call.result().type, {rows, columns}, {false, false},
                  [&](ArrayRef<int64_t> index) {
                    int64_t is = index[0] == index[1];
                    return Scalar{double(is), is};
                  });
}

/// Rows and columns of the elements below (above) a diagonal, in row-major
/// order.
template <bool isLower> static Results triangleIndices(OpCall &call) {
  int64_t rows = call.integer("row"), columns = call.integer("col"),
          diagonal = call.integer("offset", 0);
  if (call.failed() || !fits(call, {rows, columns}, {rows, columns}))
    return {};
  diagonal = std::clamp(diagonal, -rows, columns);
  std::vector<std::pair<int64_t, int64_t>> indices;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t edge = row + diagonal;
    for (int64_t column = isLower ? 0 : std::max<int64_t>(edge, 0);
         column < (isLower ? std::min(edge + 1, columns) : columns); ++column)
      indices.push_back({row, column});
  }
  return generate(call, call.result().type, {2, int64_t(indices.size())},
                  {false, false}, [&](ArrayRef<int64_t> index) {
                    auto [row, column] = indices[index[1]];
                    return Scalar{0, index[0] ? column : row};
                  });
}

static Results oneHot(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t classes = call.integer("num_classes", -1), most = -1, least = 0;
  if (!affords(call, self.getShape()))
    return {};
  HostTensor::forEachIndex(self.getShape(), [&](ArrayRef<int64_t> index) {
    most = std::max(most, self.getInteger(index));
    least = std::min(least, self.getInteger(index));
  });
  if (classes == -1)
    classes = most < INT64_MAX ? most + 1 : most;
  if (least < 0 || most >= classes)
    call.fail("has the classes " + Twine(least) + " to " + Twine(most) +
              " and only " + Twine(classes));
  Shape shape(self.getShape());
  shape.push_back(classes);
  DimBits same = sameAlong(self);
  same.push_back(false);
  return generate(
      call, call.result().type, shape, same, [&](ArrayRef<int64_t> index) {
        return Scalar{0, self.getInteger(index.drop_back()) == index.back()};
      });
}

//===----------------------------------------------------------------------===//
// The same elements
//===----------------------------------------------------------------------===//

/// Constants are never written to: a copy is the tensor itself.
static Results keep(OpCall &call) { return {constant(call, "self")}; }

static Results castToResult(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  call.has("other"); // to.other, type_as: the result's type is known
  if (call.failed())
    return {};
  return {self.cast(call.result().type)};
}

static Results copy(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  HostTensor source = broadcast(call, constant(call, "src"), self.getShape());
  if (call.failed())
    return {};
  return {source.cast(self.getType())};
}

ArrayRef<EvaluatedOp> pt2::getCreationOps() {
  static const EvaluatedOp ops[] = {
      {"aten.arange.default", checked<arange>},
      {"aten.arange.start", checked<arange>},
      {"aten.arange.start_step", checked<arange>},
      {"aten.full.default", checked<full>},
      {"aten.full_like.default", checkedShapes<fullLike>, true},
      {"aten.zeros.default", checked<sized<0>>},
      {"aten.zeros_like.default", checkedShapes<like<0>>, true},
      {"aten.ones.default", checked<sized<1>>},
      {"aten.ones_like.default", checkedShapes<like<1>>, true},
      // What an empty tensor has is not defined; zeros are as good.
      {"aten.empty.memory_format", checked<sized<0>>},
      {"aten.empty_like.default", checkedShapes<like<0>>, true},
      {"aten.empty_permuted.default", checked<sized<0>>},
      {"aten.empty_strided.default", checked<sized<0>>},
      {"aten.new_ones.default", checkedShapes<sized<1>>, true},
      {"aten.new_zeros.default", checkedShapes<sized<0>>, true},
      {"aten.new_full.default", checkedShapes<full>, true},
      {"aten.new_empty.default", checkedShapes<sized<0>>, true},
      {"aten.scalar_tensor.default", checked<scalarTensor>},
      {"aten.fill.Scalar", checked<fill>},
      {"aten.fill.Tensor", checked<fill>},
      {"aten.zero.default", checked<like<0>>},
      {"aten.linspace.default", checked<linspace>},
      {"aten.eye.default", checked<eye>},
      {"aten.eye.m", checked<eye>},
      {"aten.tril_indices.default", checked<triangleIndices<true>>},
      {"aten.triu_indices.default", checked<triangleIndices<false>>},
      {"aten.one_hot.default", checked<oneHot>},
      {"aten.lift_fresh.default", checked<keep>},
      {"aten.lift_fresh_copy.default", checked<keep>},
      {"aten.detach.default", checked<keep>},
      {"aten.alias.default", checked<keep>},
      {"aten.clone.default", checked<keep>},
      {"aten.contiguous.default", checked<keep>},
      {"aten.to.dtype", checked<castToResult>},
      {"aten.to.dtype_layout", checked<castToResult>},
      {"aten.to.device", checked<castToResult>},
      {"aten.to.other", checked<castToResult>},
      {"aten._to_copy.default", checked<castToResult>},
      {"aten.type_as.default", checked<castToResult>},
      {"aten.copy.default", checked<copy>},
  };
  return ops;
}
