//===- PlaceSums.cpp - Where tasks sum gradients over ranks ---------------===//

#include "PlaceSums.h"

#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

/// A bucket with at least this part of another's bytes is large beside it.
static constexpr int64_t kLargePart = 8;
/// One with this many times another's bytes is several times as large.
static constexpr int64_t kSeveralTimes = 4;

ZerosOp pp::findZeros(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op) && !isa<AccumulateOp>(op))
      return dyn_cast<ZerosOp>(op);
    value = op->getOperand(0);
  }
  return {};
}

/// Returns the first op that reads a value, or a view of it.
static Operation *findFirstReader(Value value) {
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *reader =
        isView(user) ? findFirstReader(user->getResult(0)) : user;
    if (reader && (!first || reader->isBeforeInBlock(first)))
      first = reader;
  }
  return first;
}

/// Moves a value's views, and theirs, before an op.
static void moveViews(Value value, Operation *before) {
  for (Operation *user : value.getUsers())
    if (isView(user)) {
      user->moveBefore(before);
      moveViews(user->getResult(0), before);
    }
}

/// Moves what is joined, and the reduce-scatter that reads it, perhaps in
/// another type, after the last part. Returns the reduce-scatter.
static ReduceScatterOp placeScatter(JoinOp join) {
  Operation *last = join.getBase().getDefiningOp();
  for (Value part : join.getParts())
    if (Operation *def = part.getDefiningOp(); last->isBeforeInBlock(def))
      last = def;
  join->moveAfter(last);
  Operation *end = join;
  while (!isa<ReduceScatterOp>(end)) {
    Operation *reader = *end->user_begin();
    reader->moveAfter(end);
    end = reader;
  }
  return cast<ReduceScatterOp>(end);
}

/// Moves what adds a sum to its accumulator, perhaps from another type, after
/// an op, which may be a part of it.
static void moveAddition(ReduceScatterOp scatter, Operation *after) {
  for (Operation *op = scatter; !isa<AccumulateOp>(op); after = op) {
    op = *op->user_begin();
    op->moveAfter(after);
  }
}

namespace {
/// An op that adds to a part of a bucket.
struct Addition {
  AccumulateOp op;
  JoinOp join;
};
} // namespace

/// Returns all in the order of the task.
static SmallVector<Addition> findAdditions(Block &body) {
  DenseMap<Operation *, JoinOp> joinOf;
  for (auto join : body.getOps<JoinOp>())
    for (Value part : join.getParts())
      for (auto op = part.getDefiningOp<AccumulateOp>(); op;
           op = op.getAccumulator().getDefiningOp<AccumulateOp>())
        joinOf[op] = join;
  SmallVector<Addition> found;
  for (auto op : body.getOps<AccumulateOp>())
    if (JoinOp join = joinOf.lookup(op))
      found.push_back({op, join});
  return found;
}

/// Returns the bytes that stay in memory if an accumulating call runs at the
/// end of the task; nothing if the op accumulates something else.
static std::optional<int64_t> getHeldBytes(AccumulateOp op) {
  auto call = op.getValue().getDefiningOp<LibraryCallOpInterface>();
  if (!call || !call->hasOneUse())
    return std::nullopt;
  int64_t bytes = 0;
  for (Value operand : call->getOperands()) {
    while (isView(operand.getDefiningOp()))
      operand = operand.getDefiningOp()->getOperand(0);
    if (operand.getDefiningOp())
      bytes += getBytes(operand.getType());
  }
  return bytes;
}

/// Delays a library's call that adds to a bucket until the next addition to it,
/// if gradients of another large bucket are summed in between and the operands
/// take less memory than the bucket does: as for a table that the last layer
/// and the first one use.
static void delayAdditions(Block &body) {
  SmallVector<Addition> additions = findAdditions(body);
  for (auto [i, addition] : llvm::enumerate(additions)) {
    auto [op, join] = addition;
    std::optional<int64_t> held = getHeldBytes(op);
    int64_t bytes = getBytes(join.getType());
    if (!held || *held >= bytes)
      continue;
    bool isAcross = false;
    for (const Addition &later : ArrayRef(additions).drop_front(i + 1)) {
      if (later.join == join) {
        if (isAcross)
          op->moveBefore(later.op);
        break;
      }
      isAcross |= getBytes(JoinOp(later.join).getType()) * kLargePart >= bytes;
    }
  }
}

ZerosOp pp::findLargeZeros(TaskOp task) {
  SmallVector<ZerosOp> all(task.getBody().front().getOps<ZerosOp>());
  llvm::sort(all, [](ZerosOp a, ZerosOp b) {
    return getBytes(a.getType()) > getBytes(b.getType());
  });
  bool isLarge =
      all.size() > 1 &&
      getBytes(all[0].getType()) >= kSeveralTimes * getBytes(all[1].getType());
  return isLarge ? all[0] : ZerosOp();
}

void pp::placeSums(TaskOp task) {
  Block &body = task.getBody().front();
  delayAdditions(body);
  for (auto zeros : llvm::make_early_inc_range(body.getOps<ZerosOp>()))
    if (Operation *first = findFirstReader(zeros)) {
      zeros->moveBefore(first);
      moveViews(zeros, first);
    }
  SmallVector<ReduceScatterOp> scatters;
  DenseMap<Operation *, ZerosOp> zerosOf;
  for (auto join : llvm::to_vector(body.getOps<JoinOp>())) {
    scatters.push_back(placeScatter(join));
    zerosOf[scatters.back()] = join.getBase().getDefiningOp<ZerosOp>();
  }
  llvm::sort(scatters, [](ReduceScatterOp a, ReduceScatterOp b) {
    return a->isBeforeInBlock(b);
  });
  for (auto [i, scatter] : llvm::enumerate(scatters)) {
    Operation *after = body.getTerminator()->getPrevNode();
    if (i + 1 < scatters.size()) {
      ZerosOp next = zerosOf[scatters[i + 1]];
      bool isLarge = getBytes(next.getType()) >=
                     kSeveralTimes * getBytes(zerosOf[scatter].getType());
      bool isLater = scatter->isBeforeInBlock(next);
      after = isLarge && isLater ? next->getPrevNode() : scatters[i + 1];
    }
    moveAddition(scatter, after);
  }
}
