//===- EvaluateScans.cpp - Sums and orders along a dimension --------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

/// Computes a line of the result from a line of the argument.
using MapLine =
    function_ref<void(const HostTensor &line, MutableArrayRef<Scalar> result)>;

/// Computes each line along the argument `dim`, whose size becomes `size`.
static Results mapLines(OpCall &call, const HostTensor &tensor, int64_t dim,
                        int64_t size, Dtype type, MapLine mapLine) {
  HostTensor self = atLeastOneDim(tensor);
  Shape shape(self.getShape());
  int64_t length = shape[dim], stride = self.getStrides()[dim];
  shape[dim] = size;
  DimBits same = sameAlong(self);
  same[dim] = false;
  Shape distinct = distinctShape(shape, same);
  if (call.failed() || !fits(call, shape, distinct) ||
      !affords(call, distinctShape(self.getShape(), same)))
    return {};
  HostTensor result(type, distinct);
  std::vector<Scalar> values(size);
  Shape lines = distinct, at;
  lines[dim] = std::min<int64_t>(size, 1);
  HostTensor::forEachIndex(lines, [&](ArrayRef<int64_t> index) {
    int64_t offset = 0;
    for (auto [i, step] : zip_equal(index, self.getStrides()))
      offset += i * step;
    mapLine(self.view({length}, {stride}, offset), values);
    at.assign(index.begin(), index.end());
    for (at[dim] = 0; at[dim] < size; ++at[dim])
      result.set(at, values[at[dim]]);
  });
  result = result.broadcastTo(shape);
  return {tensor.getRank() ? result : removeDim(result, 0)};
}

static int64_t sizeAlong(const HostTensor &tensor, int64_t dim) {
  return tensor.getRank() ? tensor.getShape()[dim] : 1;
}

//===----------------------------------------------------------------------===//
// Running sums and differences
//===----------------------------------------------------------------------===//

/// Sums of doubles (of floats, for 16-bit ones), each rounded where it is
/// stored.
template <bool isProduct> static Results accumulate(OpCall &call) {
  Dtype type = call.result().type;
  HostTensor self = constant(call, "self").cast(type);
  bool isHalf = isFloat(type) && byteSize(type) == 2;
  int64_t dim = call.dim("dim", self.getRank());
  return mapLines(call, self, dim, sizeAlong(self, dim), type,
                  [&](const HostTensor &line, MutableArrayRef<Scalar> result) {
                    double real = isProduct;
                    uint64_t integer = isProduct;
                    for (auto [i, each] : enumerate(result)) {
                      Scalar x = line.get({int64_t(i)});
                      real = isProduct ? real * x.real : real + x.real;
                      integer =
                          isProduct ? integer * x.integer : integer + x.integer;
                      if (isHalf)
                        real = float(real);
                      each = {real, int64_t(integer)};
                    }
                  });
}

static Results diff(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  Dtype type = call.result().type;
  int64_t rank = self.getRank(), order = call.integer("n", 1);
  int64_t dim = call.dim("dim", rank, -1);
  if (rank == 0)
    call.fail("takes differences of a tensor of rank 0");
  if (order < 0)
    call.fail("takes differences of the order " + Twine(order));
  SmallVector<HostTensor, 3> parts;
  if (const Tensor *before = call.optionalTensor("prepend"))
    parts.push_back(*before->constant);
  parts.push_back(self);
  if (const Tensor *after = call.optionalTensor("append"))
    parts.push_back(*after->constant);
  if (call.failed())
    return {};
  Results results = parts.size() == 1 ? Results{self.cast(type)}
                                      : concatenate(call, parts, dim, type);
  for (; order > 0 && !call.failed(); --order) {
    const HostTensor &last = results.front();
    int64_t size = last.getShape()[dim];
    if (size == 0)
      break;
    HostTensor left = sliceDim(last, dim, 0, size - 1),
               right = sliceDim(last, dim, size > 1 ? 1 : 0, size - 1);
    results = elementwise(
        call, type, {right, left}, [&](ArrayRef<Scalar> x) -> Scalar {
          double difference = x[0].real - x[1].real;
          if (isFloat(type) && type != Dtype::f64)
            difference = float(difference);
          if (type == Dtype::boolean)
            return {0, x[0].integer != x[1].integer};
          return {difference,
                  int64_t(uint64_t(x[0].integer) - uint64_t(x[1].integer))};
        });
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// A line that is -inf throughout gives NaN, or 0 if it `isSafe`.
template <bool isLogarithm, bool isSafe = false>
static Results softmax(OpCall &call) {
  Dtype type = call.result().type;
  call.dtype("dtype");               // the result has it
  call.flag("half_to_float", false); // likewise
  if (!isFloat(type))
    call.fail("makes a softmax of " + spell(type));
  if (call.failed())
    return {};
  HostTensor self = constant(call, "self").cast(type);
  int64_t dim = call.dim("dim", self.getRank());
  return mapLines(call, self, dim, sizeAlong(self, dim), type,
                  [](const HostTensor &line, MutableArrayRef<Scalar> result) {
                    double most = -INFINITY, sum = 0;
                    for (auto [i, each] : enumerate(result)) {
                      each = line.get({int64_t(i)});
                      most = std::isnan(each.real) ? NAN
                                                   : std::max(most, each.real);
                    }
                    if (isSafe && most == -INFINITY) {
                      llvm::fill(result, Scalar());
                      return;
                    }
                    for (const Scalar &each : result)
                      sum += std::exp(each.real - most);
                    for (Scalar &each : result)
                      each.real = isLogarithm
                                      ? each.real - most - std::log(sum)
                                      : std::exp(each.real - most) / sum;
                  });
}

//===----------------------------------------------------------------------===//
// Orders
//===----------------------------------------------------------------------===//

/// The positions of a line's elements in order; equal ones keep theirs, and
/// NaNs are the largest.
static std::vector<int64_t> sortLine(const HostTensor &line,
                                     bool isDescending) {
  std::vector<int64_t> order(line.getElements());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Scalar> values;
  for (int64_t i : order)
    values.push_back(line.get({i}));
  // The other kind of element is 0 in both.
  auto isLess = [](const Scalar &a, const Scalar &b) {
    return a.integer < b.integer || a.real < b.real ||
           (std::isnan(b.real) && !std::isnan(a.real));
  };
  llvm::stable_sort(order, [&](int64_t a, int64_t b) {
    return isDescending ? isLess(values[b], values[a])
                        : isLess(values[a], values[b]);
  });
  return order;
}

/// The first `size` elements of each sorted line, and their positions.
static Results sortLines(OpCall &call, int64_t dim, int64_t size,
                         bool isDescending, bool withValues = true) {
  const HostTensor &self = constant(call, "self");
  Results results;
  if (withValues)
    results =
        mapLines(call, self, dim, size, self.getType(),
                 [&](const HostTensor &line, MutableArrayRef<Scalar> result) {
                   std::vector<int64_t> order = sortLine(line, isDescending);
                   for (auto [i, each] : enumerate(result))
                     each = line.get({order[i]});
                 });
  for (HostTensor &positions :
       mapLines(call, self, dim, size, Dtype::i64,
                [&](const HostTensor &line, MutableArrayRef<Scalar> result) {
                  std::vector<int64_t> order = sortLine(line, isDescending);
                  for (auto [i, each] : enumerate(result))
                    each = {0, order[i]};
                }))
    results.push_back(positions);
  return results;
}

template <bool withValues> static Results sort(OpCall &call) {
  call.flag("stable", true); // it always is
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), -1);
  return sortLines(call, dim, sizeAlong(self, dim),
                   call.flag("descending", false), withValues);
}

static Results topk(OpCall &call) {
  const HostTensor &self = constant(call, "self");
  int64_t dim = call.dim("dim", self.getRank(), -1), k = call.integer("k");
  if (k < 0 || k > sizeAlong(self, dim))
    call.fail("takes " + Twine(k) + " of " + Twine(sizeAlong(self, dim)) +
              " elements");
  return sortLines(call, dim, k, call.flag("largest", true));
}

ArrayRef<EvaluatedOp> pt2::getScanOps() {
  static const EvaluatedOp ops[] = {
      {"aten.cumsum.default", checked<accumulate<false>>},
      {"aten.cumprod.default", checked<accumulate<true>>},
      {"aten.diff.default", checked<diff>},
      {"aten.softmax.int", checked<softmax<false>>},
      {"aten._softmax.default", checked<softmax<false>>},
      {"aten._safe_softmax.default", checked<softmax<false, true>>},
      {"aten.log_softmax.int", checked<softmax<true>>},
      {"aten._log_softmax.default", checked<softmax<true>>},
      {"aten.sort.default", checked<sort<true>>},
      {"aten.sort.stable", checked<sort<true>>},
      {"aten.argsort.default", checked<sort<false>>},
      {"aten.argsort.stable", checked<sort<false>>},
      {"aten.topk.default", checked<topk>},
  };
  return ops;
}
