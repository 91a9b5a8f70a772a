//===- CombinePads.cpp - Sums of disjoint parts as concatenations ---------===//
//
//   %0 = pp.add (pp.pad %dq [0, 0]), (pp.pad %dk [0, 8])
//   %1 = pp.add %0, (pp.pad %dv [0, 16])
//
// becomes pp.concat %dq, %dk, %dv {dim = 1}: no zeros are added.
//
//===----------------------------------------------------------------------===//

#include "CombinePads.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

/// Collects the pads that `value` is a sum of. Returns false if it adds
/// anything else.
static bool collectPads(Value value, SmallVectorImpl<PadOp> &pads) {
  if (auto pad = value.getDefiningOp<PadOp>()) {
    pads.push_back(pad);
    return true;
  }
  auto add = value.getDefiningOp<AddOp>();
  return add && add.getLhs().getType() == add.getRhs().getType() &&
         collectPads(add.getLhs(), pads) && collectPads(add.getRhs(), pads);
}

/// Returns the only dimension in which the pads' operands are shorter; nothing
/// if there are several.
static std::optional<int64_t> getCutDim(ArrayRef<PadOp> pads) {
  std::optional<int64_t> dim;
  for (PadOp pad : pads) {
    ArrayRef<int64_t> from = getShape(pad.getX()),
                      to = getShape(pad.getResult());
    for (int64_t i = 0, e = to.size(); i < e; ++i) {
      if (from[i] == to[i])
        continue;
      if (dim && *dim != i)
        return std::nullopt;
      dim = i;
    }
  }
  return dim;
}

static bool combine(AddOp add) {
  SmallVector<PadOp> pads;
  if (!collectPads(add.getResult(), pads))
    return false;
  std::optional<int64_t> dim = getCutDim(pads);
  if (!dim)
    return false;
  auto offsetOf = [&](PadOp pad) { return pad.getOffsets()[*dim]; };
  llvm::sort(pads, [&](PadOp a, PadOp b) { return offsetOf(a) < offsetOf(b); });
  int64_t end = 0;
  SmallVector<Value> parts;
  for (PadOp pad : pads) {
    if (offsetOf(pad) != end)
      return false;
    end += getShape(pad.getX())[*dim];
    parts.push_back(pad.getX());
  }
  if (end != getShape(add.getResult())[*dim])
    return false;
  OpBuilder builder(add);
  add.replaceAllUsesWith(
      ConcatOp::create(builder, add.getLoc(), add.getType(), parts, *dim)
          .getResult());
  return true;
}

void pp::combinePads(TaskOp task) {
  // A complete sum comes after its parts.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(task.getBody().front()))) {
    auto add = dyn_cast<AddOp>(op);
    if (add && combine(add))
      add.erase();
    else if (op.use_empty() && isa<AddOp, PadOp>(op))
      op.erase();
  }
}
