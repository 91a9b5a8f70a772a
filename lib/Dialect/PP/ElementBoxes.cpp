//===- ElementBoxes.cpp - The source elements of views --------------------===//

#include "ppopt/Dialect/PP/ElementBoxes.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Returns the part of a box that is in `inner`, at `offsets` in the box's
/// value.
static std::optional<ElementBox> intersect(const ElementBox &box, Value inner,
                                           ArrayRef<int64_t> offsets) {
  ElementBox part{inner, {}, {}};
  for (auto [dim, size] : llvm::enumerate(getShape(inner))) {
    part.begin.push_back(std::max<int64_t>(box.begin[dim] - offsets[dim], 0));
    part.end.push_back(std::min(box.end[dim] - offsets[dim], size));
    if (part.begin[dim] >= part.end[dim])
      return std::nullopt;
  }
  return part;
}

std::optional<SmallVector<ElementBox>> pp::seeThrough(const ElementBox &box) {
  using Boxes = SmallVector<ElementBox>;
  Operation *op = box.value.getDefiningOp();
  if (auto view = dyn_cast<ViewOpInterface>(op)) {
    std::optional<ElementBox> source = view.getOperandBox(box);
    return source ? std::optional(Boxes{*source}) : std::nullopt;
  }
  if (auto pad = dyn_cast<PadOp>(op)) {
    // The rest is 0, which is valid for every table.
    std::optional<ElementBox> source =
        intersect(box, pad.getX(), pad.getOffsets());
    return source ? Boxes{*source} : Boxes{};
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    Boxes sources;
    SmallVector<int64_t> offsets(box.begin.size(), 0);
    for (Value input : concat.getInputs()) {
      if (std::optional<ElementBox> source = intersect(box, input, offsets))
        sources.push_back(*source);
      offsets[concat.getDim()] += getShape(input)[concat.getDim()];
    }
    return sources;
  }
  auto same = [&](Value x) { return Boxes{ElementBox{x, box.begin, box.end}}; };
  if (isa<DetachOp, CheckpointOp>(op))
    return same(op->getOperand(0));
  if (auto cast = dyn_cast<CastOp>(op)) {
    auto from = dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getX()));
    auto to = dyn_cast<IntegerType>(getElementTypeOrSelf(cast.getType()));
    // A boolean becomes 0 or 1: its one bit has no sign.
    if (from && to && from.getWidth() > 1 && from.getWidth() <= to.getWidth())
      return same(cast.getX());
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Values known at compile time
//===----------------------------------------------------------------------===//

static bool isInRange(int64_t id, IndexRange range) {
  return (id >= 0 && id < range.end) || range.ignoreIndex == id;
}

FailureOr<std::optional<int64_t>> pp::findBadId(const ElementBox &box,
                                                IndexRange range) {
  if (auto iota = box.value.getDefiningOp<IotaOp>()) {
    // A tile may be anywhere in the whole.
    TileAttr tile = iota.getTileAttr();
    int64_t last =
        (tile ? tile.getShape()[iota.getDim()] : box.end[iota.getDim()]) - 1;
    bool isGood = last < range.end;
    return isGood ? std::nullopt : std::optional<int64_t>(last);
  }
  auto constant = box.value.getDefiningOp<ConstantOp>();
  if (!constant)
    return failure();
  auto elements = cast<DenseElementsAttr>(constant.getValue());
  if (elements.empty() || !isa<IntegerType>(elements.getElementType()))
    return failure();
  // Iterates over the box, the last dimension first.
  SmallVector<int64_t> index(box.begin), shape(getShape(box.value));
  auto values = elements.getValues<APInt>();
  while (true) {
    int64_t at = 0;
    for (auto [i, size] : llvm::zip(index, shape))
      at = at * size + i;
    int64_t id = elements.isSplat()
                     ? elements.getSplatValue<APInt>().getSExtValue()
                     : values[at].getSExtValue();
    if (!isInRange(id, range))
      return std::optional<int64_t>(id);
    size_t dim = index.size();
    while (dim > 0 &&
           (elements.isSplat() || ++index[dim - 1] == box.end[dim - 1])) {
      index[dim - 1] = box.begin[dim - 1];
      --dim;
    }
    if (dim == 0)
      return std::optional<int64_t>();
  }
}
