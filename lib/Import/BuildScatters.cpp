//===- BuildScatters.cpp - Elements that are added or put at indices ------===//

#include "BuildIndexed.h"
#include "EvaluateConstants.h"
#include "ppopt/Dialect/PP/IndexOps.h"

#include <set>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

namespace {
/// Where elements are added along a dimension.
struct Places {
  int64_t dim;
  Index index;
};
} // namespace

/// Reads `dim` and an index that is no larger than `self` in other dimensions.
static Places readPlaces(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self"), &ids = call.tensor("index");
  Places places{call.dim("dim", self.getRank()), {}};
  if (self.getRank() != ids.getRank() || self.getRank() == 0)
    call.fail("has an index of " + Twine(ids.getRank()) +
              " dimensions into a tensor of " + Twine(self.getRank()));
  if (call.failed())
    return places;
  places.index = readGatherIndex(call, emit, ids, self.shape[places.dim]);
  return places;
}

/// x, with `updates` of the index's shape added. What the index leaves out of
/// other dimensions adds zeros.
static Value addAt(Emitter &emit, Value x, const Places &places,
                   Value updates) {
  auto [dim, index] = places;
  Value ids = index.constant ? emit.constant(*index.constant) : index.value;
  Shape shape(Emitter::shapeOf(x)), offsets(shape.size(), 0);
  shape[dim] = index.shape[dim];
  return emit.make<ScatterAddOp>(x.getType(), x, emit.pad(ids, shape, offsets),
                                 emit.pad(updates, shape, offsets),
                                 uint64_t(dim),
                                 /*in_range=*/index.constant.has_value());
}

/// `src` in the type of the result, as many of its elements as the index has.
static Value readUpdates(OpCall &call, Emitter &emit, ArrayRef<int64_t> shape) {
  Value updates = emit.operand(call, "src", call.result().type);
  return emit.slice(updates, Shape(shape.size(), 0), shape);
}

/// scatter_add, and scatter_reduce of a sum that includes self.
static Results buildScatterAdd(OpCall &call, Emitter &emit) {
  if (call.getOp().starts_with("aten.scatter_reduce.") &&
      (call.text("reduce", "") != "sum" || !call.flag("include_self", true)))
    call.fail("makes a " + call.text("reduce", "") +
              ", or leaves self out; only sums with include_self=True are "
              "supported");
  Places places = readPlaces(call, emit);
  if (call.failed())
    return {};
  Value x = emit.value(call.tensor("self"));
  return {addAt(emit, x, places, readUpdates(call, emit, places.index.shape))};
}

/// Whether no element is named twice.
static bool isUnique(const Places &places) {
  if (places.index.shape[places.dim] == 1)
    return true;
  if (!places.index.constant)
    return false;
  std::set<std::vector<int64_t>> seen;
  bool isUnique = true;
  HostTensor::forEachIndex(places.index.shape, [&](ArrayRef<int64_t> at) {
    std::vector<int64_t> place(at.begin(), at.end());
    place[places.dim] = places.index.constant->getInteger(at);
    isUnique &= seen.insert(std::move(place)).second;
  });
  return isUnique;
}

/// scatter.src and scatter.value: what is put on zeros, where anything is.
static Results buildScatter(OpCall &call, Emitter &emit) {
  Places places = readPlaces(call, emit);
  if (call.failed())
    return {};
  Dtype type = call.result().type;
  ArrayRef<int64_t> shape = places.index.shape;
  Value x = emit.value(call.tensor("self"));
  auto addToZeros = [&](Value updates) {
    Value zeros = emit.constant(HostTensor::splat(
        Emitter::typeOf(updates), Shape(Emitter::shapeOf(x)), {}));
    return addAt(emit, zeros, places, updates);
  };
  Value ones =
      emit.constant(HostTensor::splat(Dtype::f32, Shape(shape), {1, 0}));
  Value isPut = emit.toBoolean(addToZeros(ones));
  if (!call.has("src"))
    return {emit.select(isPut, emit.operand(call, "value", type), x)};
  if (!isUnique(places)) {
    call.fail("puts elements of a tensor at computed places, of which two may "
              "be the same; use scatter_add");
    return {};
  }
  if (type == Dtype::boolean) {
    call.fail("puts booleans; cast them to a number");
    return {};
  }
  Value put = addToZeros(readUpdates(call, emit, shape));
  return {emit.select(isPut, put, x)};
}

/// Slices that are added: the index is the same in all other dimensions.
static Results buildIndexAdd(OpCall &call, Emitter &emit) {
  const Tensor &self = call.tensor("self"), &ids = call.tensor("index"),
               &source = call.tensor("source");
  int64_t rank = self.getRank(), dim = call.dim("dim", rank);
  double alpha = call.number("alpha", 1);
  if (rank == 0 || source.getRank() != rank)
    call.fail("adds to a number, or a tensor of another rank");
  if (call.failed())
    return {};
  Index index = readGatherIndex(call, emit, ids, self.shape[dim]);
  if (call.failed())
    return {};
  Shape column(rank, 1);
  column[dim] = countElements(ids.shape);
  Value spread = emit.broadcastTo(
      emit.reshape(index.constant ? emit.constant(*index.constant)
                                  : index.value,
                   column),
      source.shape);
  Value updates =
      emit.scale(emit.operand(call, "source", call.result().type), alpha);
  Value x = emit.value(self);
  return {emit.make<ScatterAddOp>(x.getType(), x, spread, updates,
                                  uint64_t(dim),
                                  /*in_range=*/index.constant.has_value())};
}

ArrayRef<OpRow> pt2::scatterRows() {
  static constexpr StringRef kReduced = "all but sums with include_self=True";
  static constexpr StringRef kPut = "computed places, more than one along dim";
  static const OpRow rows[] = {
      {"aten.scatter_add.default", &buildScatterAdd},
      {"aten.scatter_reduce.two", &buildScatterAdd, kReduced},
      {"aten.scatter.src", &buildScatter, kPut},
      {"aten.scatter.value", &buildScatter},
      {"aten.index_add.default", &buildIndexAdd},
  };
  return rows;
}
