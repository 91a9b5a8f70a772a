//===- BuildWrites.cpp - Copies, fills, parts that are replaced -----------===//

#include "BuildWrites.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

/// `part` with zeros after each element, in a tensor that is as large as `x`
/// along the range's dimension.
static Value spread(Emitter &emit, Value x, Value part, const DimRange &range) {
  auto padTo = [&](Value value, int64_t dim, int64_t size, int64_t offset) {
    Shape shape(Emitter::shapeOf(value)), offsets(shape.size(), 0);
    shape[dim] = size;
    offsets[dim] = offset;
    return emit.pad(value, shape, offsets);
  };
  int64_t dim = range.dim, size = Emitter::shapeOf(x)[dim];
  Shape groups(Emitter::shapeOf(part)), flat = groups;
  groups.insert(groups.begin() + dim + 1, 1);
  flat[dim] *= range.step;
  Value apart = padTo(emit.reshape(part, groups), dim + 1, range.step, 0);
  apart = emit.reshape(apart, flat);
  // The last group may end after the tensor.
  int64_t kept = std::min(flat[dim], size - range.start);
  return padTo(emit.sliceDim(apart, dim, 0, kept), dim, size, range.start);
}

Value pt2::replaceRange(Emitter &emit, Value x, Value part,
                        const DimRange &range) {
  int64_t dim = range.dim, size = Emitter::shapeOf(x)[dim];
  if (range.size == 0)
    return x;
  if (range.step == 1) {
    int64_t end = range.start + range.size;
    SmallVector<Value, 3> parts;
    if (range.start > 0)
      parts.push_back(emit.sliceDim(x, dim, 0, range.start));
    parts.push_back(part);
    if (end < size)
      parts.push_back(emit.sliceDim(x, dim, end, size - end));
    return emit.concat(parts, dim);
  }
  Shape column(Emitter::rankOf(x) - dim, 1);
  column[0] = size;
  HostTensor isReplaced(Dtype::boolean, column);
  for (int64_t i = 0; i < range.size; ++i) {
    Shape at(column.size(), 0);
    at[0] = range.start + i * range.step;
    isReplaced.set(at, {0, 1});
  }
  return emit.select(emit.constant(isReplaced), spread(emit, x, part, range),
                     x);
}

/// slice_scatter and select_scatter.
static Results buildScatter(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  Dtype type = Emitter::typeOf(x);
  DimRange range = call.getOp().starts_with("aten.select_scatter.")
                       ? call.select(Emitter::shapeOf(x))
                       : call.slice(Emitter::shapeOf(x));
  if (call.failed())
    return {};
  Shape shape(Emitter::shapeOf(x));
  shape[range.dim] = range.size;
  if (countElements(call.tensor("src").shape) != countElements(shape)) {
    call.fail("replaces elements by another number of them");
    return {};
  }
  Value part = emit.reshape(emit.operand(call, "src", type), shape);
  return {replaceRange(emit, x, part, range)};
}

/// copy, fill and zero: what was there does not matter.
static Results buildCopy(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  (void)call.tensor("self");
  StringRef name = call.has("src") ? "src" : "value";
  Value source = call.getOp().starts_with("aten.zero.")
                     ? emit.number(type, 0)
                     : emit.operand(call, name, type);
  return {emit.broadcastTo(source, call.result().shape)};
}

ArrayRef<OpRow> pt2::writeRows() {
  static const OpRow rows[] = {
      {"aten.slice_scatter.default", &buildScatter},
      {"aten.select_scatter.default", &buildScatter},
      {"aten.copy.default", &buildCopy},
      {"aten.fill.Scalar", &buildCopy},
      {"aten.fill.Tensor", &buildCopy},
      {"aten.zero.default", &buildCopy},
  };
  return rows;
}
