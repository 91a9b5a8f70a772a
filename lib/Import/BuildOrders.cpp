//===- BuildOrders.cpp - Elements in order --------------------------------===//

#include "BuildIndexed.h"
#include "Formula.h"
#include "ppopt/Dialect/PP/IndexOps.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

namespace {
/// Elements and where they were.
struct Ordered {
  Value values, ids;
};
} // namespace

/// The first `count` elements along a dimension, the least or the largest
/// first. Of equal elements the first comes first; PyTorch says nothing of
/// their order, except of a stable sort's, which is the same.
static Ordered order(Emitter &emit, Value x, int64_t dim, int64_t count,
                     bool isDescending) {
  if (Emitter::rankOf(x) == 0)
    return {x, emit.number(Dtype::i64, 0)};
  bool isBoolean = Emitter::typeOf(x) == Dtype::boolean;
  if (isBoolean)
    x = emit.toInteger(x);
  Shape shape(Emitter::shapeOf(x));
  bool isWhole = count == shape[dim];
  shape[dim] = count;
  RankedTensorType ids = emit.tensorType(Dtype::i64, shape);
  Value values =
      isWhole
          ? emit.make<SortOp>(x.getType(), ids, x, uint64_t(dim), isDescending)
          : emit.make<TopKOp>(emit.tensorType(Emitter::typeOf(x), shape), ids,
                              x, uint64_t(count), uint64_t(dim),
                              /*smallest=*/!isDescending);
  Value where = values.getDefiningOp()->getResult(1);
  return {isBoolean ? emit.toBoolean(values) : values, where};
}

/// Reads the dimension, the last one by default, and how many elements it has.
static std::pair<int64_t, int64_t> readDim(OpCall &call) {
  ArrayRef<int64_t> shape = call.tensor("self").shape;
  int64_t dim = call.dim("dim", shape.size(), -1);
  return {dim, shape.empty() ? 1 : shape[dim]};
}

static Results buildTopK(OpCall &call, Emitter &emit) {
  auto [dim, size] = readDim(call);
  int64_t count = call.integer("k");
  bool isDescending = call.flag("largest", true);
  (void)call.flag("sorted", true); // else in any order
  if (count < 1 || count > size)
    call.fail("takes " + Twine(count) + " of " + Twine(size) + " elements");
  if (call.failed())
    return {};
  Ordered first =
      order(emit, emit.value(call.tensor("self")), dim, count, isDescending);
  return {first.values, first.ids};
}

/// sort and argsort, of either form.
static Results buildSort(OpCall &call, Emitter &emit) {
  auto [dim, size] = readDim(call);
  bool isDescending = call.flag("descending", false);
  (void)call.flag("stable", false);
  if (call.failed())
    return {};
  Ordered all =
      order(emit, emit.value(call.tensor("self")), dim, size, isDescending);
  if (call.getOp().starts_with("aten.argsort."))
    return {all.ids};
  return {all.values, all.ids};
}

/// The last of the `count` least elements along a dimension, which stays with
/// size 1.
static Ordered orderedAt(Emitter &emit, Value x, int64_t dim, int64_t count) {
  Ordered first = order(emit, x, dim, count, /*isDescending=*/false);
  if (Emitter::rankOf(x) == 0)
    return first;
  return {emit.sliceDim(first.values, dim, count - 1, 1),
          emit.sliceDim(first.ids, dim, count - 1, 1)};
}

static Results buildKthValue(OpCall &call, Emitter &emit) {
  auto [dim, size] = readDim(call);
  int64_t count = call.integer("k");
  (void)call.flag("keepdim", false); // the results' shape says it
  if (count < 1 || count > size)
    call.fail("takes element " + Twine(count) + " of " + Twine(size));
  if (call.failed())
    return {};
  Ordered at = orderedAt(emit, emit.value(call.tensor("self")), dim, count);
  Shape shape = call.result().shape;
  return {emit.reshape(at.values, shape), emit.reshape(at.ids, shape)};
}

/// Of two elements in the middle the lower one; a NaN if there is one.
static Results buildMedianAlong(OpCall &call, Emitter &emit) {
  auto [dim, size] = readDim(call);
  (void)call.flag("keepdim", false); // the results' shape says it
  if (call.failed())
    return {};
  Value x = emit.value(call.tensor("self"));
  Shape shape = call.result().shape;
  Ordered at = orderedAt(emit, x, dim, (size + 1) / 2);
  if (Emitter::rankOf(x) > 0 && isFloat(Emitter::typeOf(x))) {
    Value isNan = emit.reduce(ReduceKind::Any,
                              emit.compare(ComparePredicate::Ne, x, x), {dim},
                              /*keepDims=*/true);
    at.ids =
        emit.select(isNan, firstExtreme(emit, x, dim, /*isMin=*/false), at.ids);
    at.values = gatherAt(emit, x, at.ids, dim, /*isInRange=*/true);
  }
  return {emit.reshape(at.values, shape), emit.reshape(at.ids, shape)};
}

/// Of all elements. Those that equal the median share its gradient: they are
/// the largest ones when those above it are left out.
static Results buildMedian(OpCall &call, Emitter &emit) {
  Value flat = emit.value(call.tensor("self"));
  int64_t size = countElements(Emitter::shapeOf(flat));
  flat = emit.reshape(flat, {size});
  if (!isFloat(Emitter::typeOf(flat)))
    return {emit.reshape(orderedAt(emit, flat, 0, (size + 1) / 2).values, {})};
  Expr x{emit, flat};
  Expr median{emit, orderedAt(emit, detach(x).get(), 0, (size + 1) / 2).values};
  // A NaN is neither above nor below, and is the maximum.
  Expr kept = where(x > median, -INFINITY, where(x < median, -INFINITY, x));
  return {emit.reduce(ReduceKind::Max, kept.get(), {0}, /*keepDims=*/false)};
}

ArrayRef<OpRow> pt2::orderRows() {
  static const OpRow rows[] = {
      {"aten.topk.default", &buildTopK},
      {"aten.sort.default", &buildSort},
      {"aten.sort.stable", &buildSort},
      {"aten.argsort.default", &buildSort},
      {"aten.argsort.stable", &buildSort},
      {"aten.kthvalue.default", &buildKthValue},
      {"aten.median.default", &buildMedian},
      {"aten.median.dim", &buildMedianAlong},
  };
  return rows;
}
