//===- BuildScans.cpp - Running sums, products, differences, positions ----===//
//
// A running product is made by doubling: after step k each element has the
// product of 2^k elements, those before it and itself.
//
//===----------------------------------------------------------------------===//

#include "BuildIndexed.h"
#include "ppopt/Dialect/PP/IndexOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

static Results buildRunningSum(OpCall &call, Emitter &emit) {
  int64_t rank = call.tensor("self").getRank(), dim = call.dim("dim", rank);
  call.dtype("dtype");
  Value x = emit.operand(call, "self", call.result().type);
  if (call.failed() || rank == 0)
    return {x};
  return {emit.make<CumsumOp>(x, uint64_t(dim))};
}

static Results buildRunningProduct(OpCall &call, Emitter &emit) {
  int64_t rank = call.tensor("self").getRank(), dim = call.dim("dim", rank);
  call.dtype("dtype");
  if (call.failed())
    return {};
  Value x = emit.operand(call, "self", call.result().type);
  int64_t size = rank == 0 ? 1 : Emitter::shapeOf(x)[dim];
  for (int64_t distance = 1; distance < size; distance *= 2) {
    int64_t rest = size - distance;
    Value product = emit.mul(emit.sliceDim(x, dim, distance, rest),
                             emit.sliceDim(x, dim, 0, rest));
    x = emit.concat({emit.sliceDim(x, dim, 0, distance), product}, dim);
  }
  return {x};
}

/// Returns the dimension along which a call goes, and gives a tensor of which
/// it goes along all elements, or of rank 0, one dimension.
static int64_t dimOrAll(OpCall &call, Emitter &emit, Value &x) {
  int64_t rank = Emitter::rankOf(x),
          dim = call.has("dim") ? call.dim("dim", rank) : 0;
  (void)call.flag("keepdim", false); // the result's shape says it
  if (rank == 0 || !call.has("dim"))
    x = emit.reshape(x, {countElements(Emitter::shapeOf(x))});
  return dim;
}

/// The product of all elements, or of those along a dimension, by halves.
static Results buildProduct(OpCall &call, Emitter &emit) {
  call.dtype("dtype");
  Value x = emit.operand(call, "self", call.result().type);
  int64_t dim = dimOrAll(call, emit, x);
  if (call.failed())
    return {};
  while (Emitter::shapeOf(x)[dim] > 1) {
    int64_t size = Emitter::shapeOf(x)[dim], half = size / 2;
    Value product = emit.mul(emit.sliceDim(x, dim, 0, half),
                             emit.sliceDim(x, dim, half, half));
    x = size % 2
            ? emit.concat({product, emit.sliceDim(x, dim, size - 1, 1)}, dim)
            : product;
  }
  return {emit.reshape(x, call.result().shape)};
}

static Results buildDiff(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  int64_t rank = call.tensor("self").getRank();
  int64_t dim = call.dim("dim", rank, -1), order = call.integer("n", 1);
  if (rank == 0 || order < 0)
    call.fail("takes differences of a number, or of a negative order");
  if (call.failed())
    return {};
  SmallVector<Value, 3> parts;
  for (StringRef name : {"prepend", "self", "append"})
    if (call.has(name))
      parts.push_back(emit.operand(call, name, type));
  Value x = emit.concat(parts, dim);
  if (Emitter::rankOf(x) != rank || order >= Emitter::shapeOf(x)[dim]) {
    call.fail("takes differences of an order that leaves nothing");
    return {};
  }
  for (; order > 0; --order) {
    int64_t size = Emitter::shapeOf(x)[dim] - 1;
    Value left = emit.sliceDim(x, dim, 0, size),
          right = emit.sliceDim(x, dim, 1, size);
    x = type == Dtype::boolean
            ? emit.compare(ComparePredicate::Ne, emit.toInteger(right),
                           emit.toInteger(left))
            : emit.sub(right, left);
  }
  return {x};
}

/// argmax and argmin: the first of equal elements.
static Results buildPosition(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  int64_t dim = dimOrAll(call, emit, x);
  bool isMin = call.getOp().starts_with("aten.argmin.");
  if (call.failed())
    return {};
  return {emit.reshape(firstExtreme(emit, x, dim, isMin), call.result().shape)};
}

ArrayRef<OpRow> pt2::scanRows() {
  static const OpRow rows[] = {
      {"aten.cumsum.default", &buildRunningSum},
      {"aten.cumprod.default", &buildRunningProduct},
      {"aten.prod.default", &buildProduct},
      {"aten.prod.dim_int", &buildProduct},
      {"aten.diff.default", &buildDiff},
      {"aten.argmax.default", &buildPosition},
      {"aten.argmin.default", &buildPosition},
  };
  return rows;
}
