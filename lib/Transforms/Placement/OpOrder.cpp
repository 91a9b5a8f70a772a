//===- OpOrder.cpp - The ops of an entry in placement order ---------------===//

#include "OpOrder.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::pp;

bool OpOrder::isReader(Operation *user) const {
  return !isa<func::ReturnOp>(user) && !followers.contains(user);
}

bool OpOrder::isLeaf(Operation *op) const {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  // The values that the function returns come from a place.
  return isCheap(op) &&
         llvm::none_of(
             op->getUsers(),
             [](Operation *user) { return isa<func::ReturnOp>(user); }) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           Operation *def = operand.getDefiningOp();
           return !def || leaves.contains(def);
         });
}

bool OpOrder::followsFromParams(Operation *op) const {
  bool readsParam = false;
  for (Value operand : op->getOperands()) {
    Operation *def = operand.getDefiningOp();
    bool isParam = def && (isa<ParamOp>(def) || fromParams.contains(def));
    if (!isParam && !(def && def->hasTrait<OpTrait::ConstantLike>()))
      return false;
    readsParam |= isParam;
  }
  return readsParam;
}

static Operation *earlier(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? a : b;
}

/// Returns the first reader of a parameter that reads other values too.
Operation *OpOrder::findReader(ParamOp param) const {
  Operation *first = nullptr;
  for (Operation *user : param->getUsers())
    if (!fromParams.contains(user) && isReader(user))
      first = earlier(first, user);
  return first;
}

void OpOrder::findAnchors(ArrayRef<Operation *> all) {
  // Near the readers of the parameters, ...
  for (Operation *op : all) {
    if (!fromParams.contains(op))
      continue;
    Operation *latest = nullptr;
    for (Value operand : op->getOperands()) {
      auto param = operand.getDefiningOp<ParamOp>();
      Operation *anchor =
          param ? findReader(param) : anchors.lookup(operand.getDefiningOp());
      if (anchor && (!latest || latest->isBeforeInBlock(anchor)))
        latest = anchor;
    }
    anchors[op] = latest;
  }
  // ... but before the op's users. Cheap ops between a parameter and their user
  // move to the user: a parameter on two places is summed once per step, while
  // its transpose would be sent for each microbatch.
  for (Operation *op : llvm::reverse(all)) {
    if (!fromParams.contains(op))
      continue;
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (isReader(user))
        first = earlier(first, fromParams.contains(user) ? anchors.lookup(user)
                                                         : user);
    if (first && isCheap(op))
      anchors[op] = first;
    else
      anchors[op] = earlier(anchors[op], first);
  }
}

OpOrder::OpOrder(Block &block, const DenseSet<Operation *> &followers)
    : followers(followers) {
  SmallVector<Operation *> all;
  for (Operation &op : block.without_terminator()) {
    if (isa<ParamOp>(op))
      continue;
    if (isLeaf(&op)) {
      leaves.insert(&op);
      continue;
    }
    inProgramOrder.push_back(&op);
    if (followers.contains(&op))
      continue;
    all.push_back(&op);
    if (followsFromParams(&op))
      fromParams.insert(&op);
  }
  findAnchors(all);
  DenseMap<Operation *, SmallVector<Operation *>> anchored;
  for (Operation *op : all)
    if (Operation *anchor = anchors.lookup(op))
      anchored[anchor].push_back(op);
  for (Operation *op : all) {
    if (anchors.lookup(op))
      continue;
    llvm::append_range(ops, anchored.lookup(op));
    ops.push_back(op);
  }
  for (auto [i, op] : llvm::enumerate(ops))
    index[op] = i;
}
