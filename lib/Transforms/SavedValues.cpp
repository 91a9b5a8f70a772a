//===- SavedValues.cpp - What is saved, and what computed again -----------===//

#include "SavedValues.h"

#include "EntryParts.h"

#include "ppopt/Analysis/Cost.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Decides whether values can be had without more being kept.
class Availability {
public:
  Availability(ArrayRef<Block *> blocks,
               llvm::function_ref<bool(Value)> isAtHand)
      : blocks(blocks), isAtHand(isAtHand) {}

  bool operator()(Value value, const DenseSet<Value> &kept) {
    known.clear();
    return isAvailable(value, kept);
  }

private:
  bool isAvailable(Value value, const DenseSet<Value> &kept) {
    if (kept.contains(value) || isAtHand(value))
      return true;
    auto [it, isNew] = known.insert({value, false});
    if (!isNew)
      return it->second;
    Operation *op = value.getDefiningOp();
    bool result = op && llvm::is_contained(blocks, op->getBlock()) &&
                  isCheap(op) &&
                  llvm::all_of(op->getOperands(), [&](Value operand) {
                    return isAvailable(throughPlace(operand), kept);
                  });
    return known[value] = result;
  }

  ArrayRef<Block *> blocks;
  llvm::function_ref<bool(Value)> isAtHand;
  DenseMap<Value, bool> known;
};

} // namespace

SmallVector<Value> pp::chooseSaved(ArrayRef<Value> candidates,
                                   ArrayRef<Block *> blocks,
                                   llvm::function_ref<bool(Value)> isAtHand) {
  Availability isAvailable(blocks, isAtHand);
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
