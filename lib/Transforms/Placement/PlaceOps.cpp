//===- PlaceOps.cpp - Forms the stages of the entry -----------------------===//
//
// Before: the entry's ops, side by side or in pp.on. After: parameters, one per
// place that uses them; a pp.place per stage, in topological order, each
// followed by a pp.copy per value and other place that reads it; the return.
// Values that follow cheaply from inputs and constants are computed in every
// stage that reads them.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Placement/AssignPlaces.h"
#include "ppopt/Transforms/Placement/Passes.h"
#include "ppopt/Transforms/Placement/StageFormation.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLACEOPS
#include "ppopt/Transforms/Placement/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The stages of an entry, before they are regions.
struct StagedOps {
  SmallVector<Operation *> ops; ///< in an order of the graph
  DenseMap<Operation *, int> stageOf;
  SmallVector<int64_t> placeOf; ///< the place of each stage
};

StagedOps formStagesOf(const Placement &placement) {
  GroupedGraph graph;
  DenseMap<Operation *, int> nodes;
  for (auto [i, op] : llvm::enumerate(placement.ops)) {
    nodes[op] = i;
    graph.groupOf.push_back(placement.groupOf.lookup(op));
    for (Value operand : op->getOperands())
      if (auto from = nodes.find(operand.getDefiningOp()); from != nodes.end())
        graph.edges.push_back({from->second, i});
  }
  Stages stages = formStages(graph);
  StagedOps staged;
  staged.ops = placement.ops;
  for (auto [op, stage] : llvm::zip(staged.ops, stages.stageOf))
    staged.stageOf[op] = stage;
  for (int group : stages.groupOf)
    staged.placeOf.push_back(placement.placeOf[group]);
  if (staged.placeOf.empty())
    staged.placeOf.push_back(0);
  return staged;
}

/// Turns stages into regions.
class StageBuilder {
public:
  StageBuilder(func::FuncOp entry, const StagedOps &staged, bool hasPlaces)
      : staged(staged), stageOf(staged.stageOf), hasPlaces(hasPlaces),
        ret(cast<func::ReturnOp>(entry.getBody().front().getTerminator())),
        builder(ret) {}

  LogicalResult run();

private:
  LogicalResult placeState(ParamOp state, ArrayRef<int64_t> readers);
  LogicalResult replicateParams();
  void collectOps();
  Value cloneLeaf(Value value, int stage, Operation *user);
  void eraseLeaves();
  void buildRegion(int stage, ArrayRef<Operation *> ops);
  void replaceReaders(Value value, Value result, int stage);
  /// Returns the stage of an op; the last stage reads the loss.
  int getStage(Operation *op) const {
    return op == ret ? staged.placeOf.size() - 1 : stageOf.lookup(op);
  }
  int64_t getPlace(Operation *op) const { return staged.placeOf[getStage(op)]; }

  const StagedOps &staged;
  DenseMap<Operation *, int> stageOf; ///< with the clones of leaves
  SmallVector<SmallVector<Operation *>> opsOf;
  bool hasPlaces;
  func::ReturnOp ret;
  OpBuilder builder;
  DenseMap<std::pair<Value, int>, Value> leaves;
  int64_t nextCopy = 0;
};

/// Returns the value in `stage`, computed there before `user`.
Value StageBuilder::cloneLeaf(Value value, int stage, Operation *user) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<ParamOp>(op) || staged.stageOf.contains(op))
    return value;
  if (Value known = leaves.lookup({value, stage}))
    return known;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(cloneLeaf(operand, stage, user));
  builder.setInsertionPoint(user);
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  stageOf[clone] = stage;
  opsOf[stage].push_back(clone);
  return leaves[{value, stage}] = clone->getResult(0);
}

/// Fills `opsOf`: a leaf is in each stage before its first reader.
void StageBuilder::collectOps() {
  opsOf.resize(staged.placeOf.size());
  for (Operation *op : staged.ops) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(cloneLeaf(operand.get(), getStage(op), op));
    opsOf[getStage(op)].push_back(op);
  }
}

void StageBuilder::eraseLeaves() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(*ret->getBlock())))
    if (op.use_empty() && !isa<ParamOp, PlaceOp, CopyOp>(op) && &op != ret)
      op.erase();
}

/// Sets the place of a state, which is that of its proposal.
LogicalResult StageBuilder::placeState(ParamOp state,
                                       ArrayRef<int64_t> readers) {
  auto entry = state->getParentOfType<func::FuncOp>();
  for (OpOperand &result : ret->getOpOperands()) {
    if (entry.getResultAttr(result.getOperandNumber(), kProposalAttr) !=
        state.getParamNameAttr())
      continue;
    Operation *maker = result.get().getDefiningOp();
    state.setPlace(getPlace(maker && stageOf.contains(maker) ? maker : ret));
    for (int64_t reader : readers)
      if (reader != *state.getPlace())
        return state.emitOpError("state '")
               << state.getParamName() << "' is proposed on place "
               << *state.getPlace() << " and read on place " << reader
               << "; mark what reads and what proposes it with one pp.on";
  }
  return success();
}

/// Makes one parameter per place; the first stays where it is.
LogicalResult StageBuilder::replicateParams() {
  for (auto param :
       llvm::make_early_inc_range(ret->getBlock()->getOps<ParamOp>())) {
    SmallVector<int64_t> places;
    for (Operation *user : param->getUsers())
      places.push_back(getPlace(user));
    if (param.getState()) {
      if (failed(placeState(param, places)))
        return failure();
      continue;
    }
    if (places.empty())
      places.push_back(0);
    llvm::sort(places);
    places.erase(llvm::unique(places), places.end());
    param.setPlace(places.front());
    builder.setInsertionPointAfter(param);
    for (int64_t place : ArrayRef<int64_t>(places).drop_front()) {
      auto replica = cast<ParamOp>(builder.clone(*param));
      replica.setPlace(place);
      param.getResult().replaceUsesWithIf(
          replica.getResult(),
          [&](OpOperand &use) { return getPlace(use.getOwner()) == place; });
    }
  }
  return success();
}

/// Makes readers in other stages read the region's result, or a copy of it.
void StageBuilder::replaceReaders(Value value, Value result, int stage) {
  llvm::MapVector<int64_t, SmallVector<OpOperand *>> readers;
  for (OpOperand &use : value.getUses())
    if (!isa<YieldOp, func::ReturnOp>(use.getOwner()) &&
        getStage(use.getOwner()) != stage)
      readers[getPlace(use.getOwner())].push_back(&use);
  SmallVector<int64_t> places =
      llvm::to_vector(llvm::make_first_range(readers));
  llvm::sort(places);
  for (int64_t place : places) {
    Value there = result;
    if (place != staged.placeOf[stage])
      there = CopyOp::create(builder, value.getLoc(), result,
                             staged.placeOf[stage], place, nextCopy++,
                             /*gradient_of=*/IntegerAttr());
    for (OpOperand *use : readers[place])
      use->set(there);
  }
}

void StageBuilder::buildRegion(int stage, ArrayRef<Operation *> ops) {
  auto isOutside = [&](Operation *user) {
    return user == ret || getStage(user) != stage;
  };
  SmallVector<Value> yielded;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), isOutside))
        yielded.push_back(result);
  // Results that no op computes. Those of other stages come from there.
  if (stage == getStage(ret))
    for (Value value : ret.getOperands())
      if (!stageOf.contains(value.getDefiningOp()) &&
          !value.getDefiningOp<PlaceOp>())
        yielded.push_back(value);
  builder.setInsertionPoint(ret);
  auto place = PlaceOp::create(builder, ret->getParentOp()->getLoc(),
                               TypeRange(ValueRange(yielded)),
                               staged.placeOf[stage], stage,
                               /*backward=*/false);
  Block *body = builder.createBlock(&place.getBody());
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  YieldOp::create(builder, ret.getLoc(), yielded);
  builder.setInsertionPoint(ret);
  for (auto [value, result] : llvm::zip(yielded, place.getResults())) {
    if (stageOf.contains(value.getDefiningOp()))
      replaceReaders(value, result, stage);
    ret->replaceUsesOfWith(value, result);
  }
}

LogicalResult StageBuilder::run() {
  collectOps();
  if (hasPlaces && failed(replicateParams()))
    return failure();
  for (auto [stage, ops] : llvm::enumerate(opsOf))
    buildRegion(stage, ops);
  eraseLeaves();
  return success();
}

struct PlaceOps : pp::impl::PlaceOpsBase<PlaceOps> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(entry) || failed(plan))
      return signalPassFailure();
    bool hasPlaces = plan->getGeometry().has(::ppopt::geometry::placeAxis);
    // A mesh without places is one device: marks don't matter.
    FailureOr<Marks> marks =
        dissolveMarks(*entry, hasPlaces ? plan->getPlaces()
                                        : std::numeric_limits<int64_t>::max());
    if (failed(marks))
      return signalPassFailure();
    FailureOr<Placement> placement =
        assignPlaces(*entry, *plan, hasPlaces ? *marks : Marks());
    if (failed(placement))
      return signalPassFailure();
    StagedOps staged = formStagesOf(*placement);
    if (failed(StageBuilder(*entry, staged, hasPlaces).run()))
      signalPassFailure();
  }
};

} // namespace
