//===- CombinePads.cpp - Sums of disjoint parts as concatenations ---------===//
//
//   %0 = pp.add (pp.pad %dq [0, 0]), (pp.pad %dk [0, 8])
//   %1 = pp.add %0, (pp.pad %dv [0, 16])
//
// becomes pp.concat %dq, %dk, %dv {dim = 1}: no zeros are added.
//
//===----------------------------------------------------------------------===//

#include "CombinePads.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the pads that `value` is a sum of, each once; nothing if it adds
/// anything else, or a value twice.
static std::optional<SmallVector<PadOp>> collectPads(Value value) {
  SmallVector<PadOp> pads;
  SmallVector<Value> worklist = {value};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value part = worklist.pop_back_val();
    if (!seen.insert(part).second)
      return std::nullopt;
    if (auto pad = part.getDefiningOp<PadOp>()) {
      pads.push_back(pad);
      continue;
    }
    auto add = part.getDefiningOp<AddOp>();
    if (!add || add.getLhs().getType() != add.getRhs().getType())
      return std::nullopt;
    worklist.append({add.getRhs(), add.getLhs()});
  }
  return pads;
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
  std::optional<SmallVector<PadOp>> found = collectPads(add.getResult());
  if (!found)
    return false;
  SmallVector<PadOp> &pads = *found;
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
