//===- SavedValues.cpp - Chooses what is saved and what is recomputed -----===//

#include "SavedValues.h"

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/EntryParts.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the op of `value` if the backward may compute it again, else null.
static Operation *getOp(Value value, const ValueSources &sources) {
  Operation *op = value.getDefiningOp();
  return op && llvm::is_contained(sources.blocks, op->getBlock()) &&
                 !isa<CopyOp, BatchSumOp>(op)
             ? op
             : nullptr;
}

/// Returns the value that another place has sent, of which each rank has a part
/// that the op gathers; null for other ops.
static Value findReceived(Operation *op) {
  if (!isa<AllGatherOp>(op))
    return Value();
  Value part = op->getOperand(0);
  while (isa_and_nonnull<ViewOpInterface, AllGatherOp>(part.getDefiningOp()))
    part = part.getDefiningOp()->getOperand(0);
  return part.getDefiningOp<CopyOp>() ? part : Value();
}

/// Returns whether an op reads its operand in another way: as a view, in a
/// wider type, which has no buffer, or gathered: what is received in parts is
/// saved so.
static bool isReading(Operation *op) {
  return isFree(op) || isWideningCast(op) || findReceived(op);
}

/// Returns whether the task is given `value` or a value that it is a view of:
/// such a value can't be rounded differently in another task.
static bool isGiven(Value value, const ValueSources &sources) {
  Operation *op = getOp(value, sources);
  return sources.isAtHand(value) ||
         (op && isReading(op) && llvm::all_of(op->getOperands(), [&](Value x) {
            return isGiven(throughPlace(x), sources);
          }));
}

/// Returns whether a value is a parameter, or a view or conversion of one.
static bool isParam(Value value) {
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<ParamOp>(op))
    return true;
  return op && isCheap(op) && op->getNumOperands() == 1 &&
         isParam(throughPlace(op->getOperand(0)));
}

/// Returns whether the backward would gather a parameter for an op that is
/// cheap by itself, though its result is no larger: a look-up in a table. What
/// follows from parameters alone is a parameter, which is never saved.
static bool gathersForLittle(Operation *op, const ValueSources &sources) {
  return sources.gathersParams && isCheap(op) && !isFree(op) &&
         !llvm::all_of(
             op->getOperands(),
             [](Value operand) { return isParam(throughPlace(operand)); }) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isParam(throughPlace(operand)) &&
                  getBytes(operand) >= getBytes(op->getResult(0));
         });
}

/// A decision is made once: computed again from recomputed values, it might
/// come out differently. What ranks have exchanged is not sent again.
static bool mayComputeAgain(Operation *op, const ValueSources &sources) {
  if (findReceived(op))
    return true;
  if (isa<CollectiveOpInterface>(op) || gathersForLittle(op, sources))
    return false;
  return !isDecision(op) || llvm::all_of(op->getOperands(), [&](Value x) {
    return isGiven(throughPlace(x), sources);
  });
}

//===----------------------------------------------------------------------===//
// Values that follow from kept values
//===----------------------------------------------------------------------===//

namespace {

/// Decides whether values are available without keeping more.
class Availability {
public:
  Availability(Recompute recompute, const ValueSources &sources)
      : recompute(recompute), sources(sources) {}

  bool operator()(Value value, const DenseSet<Value> &kept) {
    known.clear();
    return isAvailable(value, kept);
  }

private:
  bool isAvailable(Value value, const DenseSet<Value> &kept) {
    if (kept.contains(value) || sources.isAtHand(value))
      return true;
    auto [it, isNew] = known.insert({value, false});
    if (!isNew)
      return it->second;
    Operation *op = getOp(value, sources);
    bool result =
        op && mayComputeAgain(op, sources) &&
        (recompute == Recompute::none ? isReading(op)
                                      : isCheap(op) || findReceived(op)) &&
        llvm::all_of(op->getOperands(), [&](Value operand) {
          return isAvailable(throughPlace(operand), kept);
        });
    return known[value] = result;
  }

  Recompute recompute;
  const ValueSources &sources;
  DenseMap<Value, bool> known;
};

} // namespace

SmallVector<Value> pp::dropRecomputed(ArrayRef<Value> candidates,
                                      Recompute recompute,
                                      const ValueSources &sources) {
  Availability isAvailable(recompute, sources);
  DenseSet<Value> kept(candidates.begin(), candidates.end());
  for (Value value : llvm::reverse(candidates)) {
    kept.erase(value);
    if (!isAvailable(value, kept))
      kept.insert(value);
  }
  SmallVector<Value> saved;
  for (Value value : candidates)
    if (kept.contains(value))
      saved.push_back(value);
  return saved;
}

//===----------------------------------------------------------------------===//
// Kept values
//===----------------------------------------------------------------------===//

/// Finds the values that `value` depends on and that are marked or that the
/// backward may not compute again.
static void findMarked(Value value, const ValueSources &sources,
                       llvm::SetVector<Value> &found, DenseSet<Value> &seen) {
  if (!seen.insert(value).second || sources.isAtHand(value))
    return;
  Operation *op = getOp(value, sources);
  if (!op || sources.marked.contains(value) || !mayComputeAgain(op, sources)) {
    found.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    findMarked(throughPlace(operand), sources, found, seen);
}

/// Returns the value that `value` is a view of, or gathered from.
static Value findBase(Value value, const ValueSources &sources) {
  Operation *op = getOp(value, sources);
  if (Value received = op ? findReceived(op) : Value())
    return received;
  if (!op || !isReading(op) || op->getNumOperands() != 1)
    return value;
  Value x = throughPlace(op->getOperand(0));
  return getOp(x, sources) && !sources.isAtHand(x) ? findBase(x, sources)
                                                   : value;
}

static llvm::SetVector<Value>
replaceViews(const llvm::SetVector<Value> &candidates,
             const ValueSources &sources) {
  llvm::MapVector<Value, SmallVector<Value>> views;
  for (Value value : candidates)
    views[findBase(value, sources)].push_back(value);
  llvm::SetVector<Value> replaced;
  for (auto &[base, of] : views) {
    int64_t bytes = 0;
    for (Value view : of)
      bytes += getBytes(view);
    if (getBytes(base) < bytes || (of.size() > 1 && getBytes(base) == bytes))
      replaced.insert(base);
    else
      replaced.insert_range(of);
  }
  return replaced;
}

SmallVector<Value> pp::chooseSaved(const llvm::SetVector<Value> &candidates,
                                   Recompute recompute,
                                   const ValueSources &sources) {
  llvm::SetVector<Value> wanted = candidates;
  if (recompute == Recompute::layer) {
    wanted.clear();
    DenseSet<Value> seen;
    for (Value value : candidates)
      findMarked(value, sources, wanted, seen);
  }
  wanted = replaceViews(wanted, sources);
  sortByPosition(sources.entry, wanted);
  return dropRecomputed(wanted.getArrayRef(), recompute, sources);
}
