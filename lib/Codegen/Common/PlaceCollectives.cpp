//===- PlaceCollectives.cpp - Starts and waits inside tasks ---------------===//
//
// Before: collectives on tensors among launches and matmuls. After: pp.begin
// and pp.finish of each, apart from one another as far as memory allows.
//
//   %w = pp.all_gather %b0 over <["dp"]> "b0" …      // before
//
//   %0 = pp.begin 0 all_gather %b0 outs() …          // after
//   …
//   %w = pp.finish 0(%0, %b0)
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Codegen/Passes.h"
#include "ppopt/Codegen/ViewFolding.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Model/Entry.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLACECOLLECTIVES
#include "ppopt/Codegen/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// A gather does not wait for others that together have at most this part of
/// its bytes: they need little memory, and their use is no time to gather in.
/// It does not begin beside one of which it is this part: where a table is in
/// memory, memory is short.
constexpr int64_t kSmallPart = 4;

class CollectivePlacer {
public:
  CollectivePlacer(TaskOp task, PlanOp plan)
      : task(task), plan(plan), body(task.getBody().front()),
        builder(task.getContext()) {}

  void run();

private:
  /// A gather whose start and wait are placed.
  struct Gather {
    int64_t bytes;
    BeginOp begin;
    FinishOp finish;
  };
  /// A start, and what the signature says of it.
  struct Begun {
    BeginOp begin;
    FinishOp finish;
    TaskCollectiveAttr described;
  };

  void setEarliest(CollectiveOpInterface op);
  void setEarliestOfTaken(CollectiveOpInterface op);
  bool isOfBucket(CollectiveOpInterface op) const;
  void split(CollectiveOpInterface op, Operation *reader);
  void number();

  TaskOp task;
  PlanOp plan;
  Block &body;
  OpBuilder builder;
  SmallVector<Gather> gathers;
  FinishOp lastTaken; ///< of a gather of a value that the task takes
  SmallVector<Begun> begun;
};

Operation *findFirstUser(CollectiveOpInterface op) {
  Operation *first = nullptr;
  for (Operation *user : op->getUsers())
    if (!first || user->isBeforeInBlock(first))
      first = user;
  return first;
}

int64_t getGatheredBytes(CollectiveOpInterface op) {
  return getBytes(op->getResult(0).getType());
}

/// Returns the last op that reads a value, or a view of it.
Operation *findLastReader(Value value) {
  Operation *last = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *reader =
        isView(user) ? findLastReader(user->getResult(0)) : user;
    if (reader && (!last || last->isBeforeInBlock(reader)))
      last = reader;
  }
  return last;
}

/// Returns whether an op gathers parameters, perhaps converted: what it reads
/// is known when the task begins.
bool CollectivePlacer::isOfBucket(CollectiveOpInterface op) const {
  auto isChunk = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument &&
           TaskOp(task).getArgRole(argument.getArgNumber()).getKind() ==
               RoleKind::ParamRange;
  };
  Operation *def = op.getX().getDefiningOp();
  return def ? def->getNumOperands() > 0 &&
                   llvm::all_of(def->getOperands(), isChunk)
             : isChunk(op.getX());
}

/// Sets the insertion point to where a gather may begin: after the wait of the
/// one before, not counting small ones, after the start of these, after the
/// last use of a large one, and after what it reads.
void CollectivePlacer::setEarliest(CollectiveOpInterface op) {
  if (plan.getPrefetch() == Prefetch::none)
    return builder.setInsertionPoint(findFirstUser(op));
  Operation *after = nullptr;
  int64_t between = 0;
  for (Gather &earlier : llvm::reverse(gathers)) {
    between += earlier.bytes;
    if (between * kSmallPart <= getGatheredBytes(op))
      continue;
    after = earlier.finish;
    break;
  }
  auto setAfter = [&](Operation *other) {
    if (other && (!after || after->isBeforeInBlock(other)))
      after = other;
  };
  setAfter(op.getX().getDefiningOp());
  for (Gather &earlier : gathers)
    if (earlier.bytes >= getGatheredBytes(op) * kSmallPart)
      if (Operation *last = findLastReader(earlier.finish.getResult());
          last && last->isBeforeInBlock(findFirstUser(op)))
        setAfter(last);
  // A channel is a queue: what is read first goes first.
  if (!gathers.empty())
    setAfter(gathers.back().begin);
  if (after)
    builder.setInsertionPointAfter(after);
  else
    builder.setInsertionPointToStart(&body);
}

/// The same for a gather of a value that another task has made, of which one at
/// a time is gathered ahead: after the wait of the one before.
void CollectivePlacer::setEarliestOfTaken(CollectiveOpInterface op) {
  builder.setInsertionPoint(op);
  if (plan.getPrefetch() == Prefetch::none ||
      (lastTaken && !lastTaken->isBeforeInBlock(op)))
    return;
  for (Operation *view = op.getX().getDefiningOp(); view;
       view = view->getOperand(0).getDefiningOp())
    view->moveBefore(&body, body.begin());
  Operation *after = lastTaken ? lastTaken : op.getX().getDefiningOp();
  if (after)
    builder.setInsertionPointAfter(after);
  else
    builder.setInsertionPointToStart(&body);
}

/// Replaces a collective by its start, at the insertion point, and its wait,
/// before the first reader.
void CollectivePlacer::split(CollectiveOpInterface op, Operation *reader) {
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Type> types = {type};
  int64_t ranks = plan.getGeometry().size(op.getGroup().getGeometry());
  if (geometry::hasScratch(op.getKind()))
    types.push_back(RankedTensorType::get(
        {geometry::scratchElements(op.getKind(), type.getNumElements(), ranks)},
        type.getElementType()));
  auto begin =
      BeginOp::create(builder, loc, types, /*number=*/0,
                      CollectiveAttr::get(builder.getContext(), op.getKind()),
                      op.getX(), ValueRange());
  SmallVector<Value> held(begin.getResults());
  held.push_back(op.getX());
  builder.setInsertionPoint(reader);
  auto finish = FinishOp::create(builder, loc, type, /*number=*/0, held);
  op->getResult(0).replaceAllUsesWith(finish.getResult());
  begun.push_back({begin, finish, describeCollective(op)});
  if (gathersTaken(op))
    lastTaken = finish;
  if (op.getKind() == geometry::Collective::AllGather && isOfBucket(op))
    gathers.push_back({getBytes(type), begin, finish});
  op->erase();
}

/// Numbers the collectives in the order of their starts.
void CollectivePlacer::number() {
  llvm::sort(begun, [](const Begun &a, const Begun &b) {
    BeginOp first = a.begin;
    return first->isBeforeInBlock(b.begin);
  });
  SmallVector<Attribute> described;
  for (auto [i, each] : llvm::enumerate(begun)) {
    each.begin.setNumber(i);
    each.finish.setNumber(i);
    described.push_back(each.described);
  }
  if (described.empty())
    task.removeCollectivesAttr();
  else
    task.setCollectivesAttr(ArrayAttr::get(task.getContext(), described));
}

void CollectivePlacer::run() {
  SmallVector<std::pair<CollectiveOpInterface, Operation *>> ops;
  for (auto op :
       llvm::make_early_inc_range(body.getOps<CollectiveOpInterface>()))
    if (op->use_empty())
      op->erase();
    else
      ops.push_back({op, findFirstUser(op)});
  llvm::stable_sort(ops, [](auto &a, auto &b) {
    return a.second->isBeforeInBlock(b.second);
  });
  for (auto [op, reader] : ops) {
    if (op.getKind() == geometry::Collective::AllGather && isOfBucket(op))
      setEarliest(op);
    else if (gathersTaken(op))
      setEarliestOfTaken(op);
    else
      builder.setInsertionPoint(op);
    split(op, reader);
  }
  number();
}

struct PlaceCollectives : pp::impl::PlaceCollectivesBase<PlaceCollectives> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan =
        findPlan(getOperation()->getParentOfType<ModuleOp>());
    if (failed(plan))
      return signalPassFailure();
    CollectivePlacer(getOperation(), *plan).run();
  }
};

} // namespace
