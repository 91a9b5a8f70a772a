//===- AssignPlaces.cpp - Which op runs where -----------------------------===//

#include "ppopt/Transforms/AssignPlaces.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Transforms/CutByCost.h"
#include "ppopt/Transforms/OptimizerStep.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

static LogicalResult checkRange(OnOp mark, int64_t places) {
  int64_t place = mark.getPlace();
  if (place < places)
    return success();
  InFlightDiagnostic diag = mark.emitError("place ")
                            << place << " is out of range: --mesh pp=" << places
                            << " has ";
  if (places == 1)
    return diag << "place 0 alone";
  return diag << "places 0 " << (places == 2 ? "and " : "to ") << places - 1;
}

FailureOr<Marks> pp::dissolveMarks(func::FuncOp entry, int64_t places) {
  // Inner ones first: what they mark keeps their place.
  SmallVector<OnOp> regions;
  entry.walk<WalkOrder::PostOrder>([&](OnOp on) { regions.push_back(on); });
  Marks marks;
  for (OnOp on : regions) {
    if (failed(checkRange(on, places)))
      return failure();
    Operation *yield = on.getBody().front().getTerminator();
    for (Operation &op : llvm::make_early_inc_range(
             on.getBody().front().without_terminator())) {
      marks.try_emplace(&op, on.getPlace());
      op.moveBefore(on);
    }
    on.replaceAllUsesWith(yield->getOperands());
    on.erase();
  }
  return marks;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// The ops of an entry that run on one place, in order. An op that follows from
/// parameters alone (a weight's transpose, a penalty on it) stands before its
/// anchor: the first op that reads a parameter of it and more, else its first
/// user.
class OpOrder {
public:
  explicit OpOrder(Block &block);

  SmallVector<Operation *> ops;
  /// The same ops as they stand in the block.
  SmallVector<Operation *> inProgramOrder;
  int getIndex(Operation *op) const { return index.lookup(op); }
  /// Null for an op that follows from an input too, or if nobody else reads the
  /// parameters.
  Operation *getAnchor(Operation *op) const { return anchors.lookup(op); }

private:
  bool isLeaf(Operation *op) const;
  bool followsFromParams(Operation *op) const;
  Operation *findReader(ParamOp param) const;
  void findAnchors(ArrayRef<Operation *> all);

  DenseMap<Operation *, int> index;
  /// Computed wherever they are read.
  DenseSet<Operation *> leaves;
  DenseSet<Operation *> fromParams;
  DenseMap<Operation *, Operation *> anchors;
};

bool OpOrder::isLeaf(Operation *op) const {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  // What the function returns comes from a place.
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

Operation *earlier(Operation *a, Operation *b) {
  if (!a || !b)
    return a ? a : b;
  return a->isBeforeInBlock(b) ? a : b;
}

/// The first op that reads more than parameters.
Operation *OpOrder::findReader(ParamOp param) const {
  Operation *first = nullptr;
  for (Operation *user : param->getUsers())
    if (!fromParams.contains(user) && !isa<func::ReturnOp>(user))
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
  // ... but in front of the op's users.
  for (Operation *op : llvm::reverse(all))
    if (fromParams.contains(op))
      for (Operation *user : op->getUsers())
        if (!isa<func::ReturnOp>(user))
          anchors[op] =
              earlier(anchors[op],
                      fromParams.contains(user) ? anchors.lookup(user) : user);
}

OpOrder::OpOrder(Block &block) {
  SmallVector<Operation *> all;
  for (Operation &op : block.without_terminator()) {
    if (isa<ParamOp>(op))
      continue;
    if (isLeaf(&op)) {
      leaves.insert(&op);
      continue;
    }
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
  inProgramOrder = std::move(all);
  for (auto [i, op] : llvm::enumerate(ops))
    index[op] = i;
}

//===----------------------------------------------------------------------===//
// By marks
//===----------------------------------------------------------------------===//

/// Unmarked ops follow marked ones.
class MarkFollower {
public:
  MarkFollower(const OpOrder &order, const Marks &marks) : order(order) {
    for (Operation *op : order.ops)
      if (auto mark = marks.find(op); mark != marks.end())
        groupOf[op] = mark->second;
  }

  DenseMap<Operation *, unsigned> run() {
    for (Operation *op : order.ops)
      assign(op, findLatestOperand(op));
    for (Operation *op : llvm::reverse(order.ops))
      assign(op, findFirstUser(op));
    for (Operation *op : order.ops)
      assign(op, findLatestOperand(op));
    for (Operation *op : order.ops)
      assign(op, order.getAnchor(op));
    // What no mark is connected with.
    for (Operation *op : order.ops)
      groupOf.try_emplace(op, 0);
    return std::move(groupOf);
  }

private:
  void assign(Operation *op, Operation *leader) {
    if (leader && groupOf.contains(leader))
      groupOf.try_emplace(op, groupOf.lookup(leader));
  }
  Operation *findLatestOperand(Operation *op) const {
    Operation *latest = nullptr;
    for (Value operand : op->getOperands()) {
      Operation *def = operand.getDefiningOp();
      if (def && groupOf.contains(def) &&
          (!latest || order.getIndex(latest) < order.getIndex(def)))
        latest = def;
    }
    return latest;
  }
  Operation *findFirstUser(Operation *op) const {
    if (order.getAnchor(op))
      return nullptr;
    Operation *first = nullptr;
    for (Operation *user : op->getUsers())
      if (groupOf.contains(user) &&
          (!first || order.getIndex(user) < order.getIndex(first)))
        first = user;
    return first;
  }

  const OpOrder &order;
  DenseMap<Operation *, unsigned> groupOf;
};

LogicalResult checkFilled(func::FuncOp entry, const Placement &placement) {
  SmallVector<bool> filled(placement.placeOf.size());
  for (Operation *op : placement.ops)
    filled[placement.groupOf.lookup(op)] = true;
  for (auto [place, isFilled] : llvm::enumerate(filled))
    if (!isFilled)
      return entry.emitError("no op is on place ")
             << place << " of --mesh pp=" << filled.size()
             << ": mark some with pp.on " << place
             << ", use fewer places, or remove all marks so that the model is "
                "cut by cost (what follows cheaply from inputs is computed "
                "wherever it is read, and fills no place)";
  return success();
}

//===----------------------------------------------------------------------===//
// By cost
//===----------------------------------------------------------------------===//

/// Writes the ops of an entry down as a problem of numbers.
class CutProblemBuilder {
public:
  CutProblemBuilder(const OpOrder &order, PlanOp plan)
      : order(order), plan(plan),
        numStates(getOptimizerStates(plan.getOptimizer()).size()) {}

  CutProblem build(ArrayRef<int64_t> placeOf);

private:
  CutProblem::Item makeItem(Operation *op);
  int getValue(Value value);
  int getParam(ParamOp param);
  bool isActive(Value value) const { return active.contains(value); }
  double share(double wholeBatch) {
    return wholeBatch / static_cast<double>(plan.getBatchTiles());
  }

  const OpOrder &order;
  PlanOp plan;
  int64_t numStates;
  CutProblem problem;
  /// Values whose gradient reaches a trained parameter.
  DenseSet<Value> active;
  DenseMap<Value, int> values;
  DenseMap<Operation *, int> params;
};

int CutProblemBuilder::getParam(ParamOp param) {
  auto [known, isNew] = params.try_emplace(param, problem.paramBytes.size());
  if (isNew) {
    int64_t copies = param.getFrozen() ? 1 : 2 + numStates;
    problem.paramBytes.push_back(copies * getBytes(param));
  }
  return known->second;
}

CutProblem::Item CutProblemBuilder::makeItem(Operation *op) {
  CutProblem::Item item;
  SmallVector<bool> needed;
  bool carriesGradient = isa<DifferentiableOpInterface>(op);
  for (Value operand : op->getOperands()) {
    auto param = operand.getDefiningOp<ParamOp>();
    if (param)
      item.params.push_back(getParam(param));
    else if (values.contains(operand))
      item.reads.push_back(values.lookup(operand));
    needed.push_back(carriesGradient &&
                     (param ? !param.getFrozen() : isActive(operand)));
  }
  auto isNeeded = [](bool need) { return need; };
  bool isOnPath = llvm::any_of(needed, isNeeded);
  for (Value result : op->getResults())
    if (isOnPath && isa<FloatType>(getElementTypeOrSelf(result)))
      active.insert(result);
  item.time = share(estimateTime(op) + estimateBackwardTime(op, needed));
  return item;
}

CutProblem CutProblemBuilder::build(ArrayRef<int64_t> placeOf) {
  problem.placeOf.assign(placeOf.begin(), placeOf.end());
  // 1f1b's count: the most that any schedule but gpipe has on a chain.
  int pieces = problem.placeOf.size();
  for (int piece = 0; piece < pieces; ++piece)
    problem.inFlight.push_back(
        std::min<int>(plan.getMicrobatches(), pieces - piece));
  if (std::optional<uint64_t> memory = plan.getDeviceMemory())
    problem.deviceMemory = *memory;
  for (auto [i, op] : llvm::enumerate(order.ops)) {
    CutProblem::Item item = makeItem(op);
    for (Value result : op->getResults()) {
      double bytes = share(getBytes(result));
      if (isActive(result) && !isCheap(op))
        item.savedBytes += bytes;
      values[result] = problem.values.size();
      double transfer = estimateTransferTime(bytes);
      problem.values.push_back(
          {static_cast<int>(i), isActive(result) ? 2 * transfer : transfer});
    }
    problem.items.push_back(std::move(item));
  }
  return std::move(problem);
}

} // namespace

static SmallVector<int64_t> getPieces(PlanOp plan) {
  if (std::optional<ArrayRef<int64_t>> places = plan.getStagePlaces())
    return SmallVector<int64_t>(*places);
  return llvm::to_vector(llvm::seq<int64_t>(0, plan.getAxisSize("pp")));
}

/// Where no ops are marked.
static FailureOr<Placement> placeByCost(func::FuncOp entry, PlanOp plan,
                                        OpOrder &order) {
  Placement placement;
  placement.placeOf = getPieces(plan);
  CutProblem problem = CutProblemBuilder(order, plan).build(placement.placeOf);
  Cut cut = pp::cutByCost(problem);
  if (!cut.error.empty())
    return entry.emitError("can't be cut for --mesh pp=")
               << plan.getAxisSize("pp") << ": " << cut.error,
           failure();
  for (unsigned piece = 0; piece < placement.placeOf.size(); ++piece)
    for (int i = cut.begin[piece]; i < cut.begin[piece + 1]; ++i)
      placement.groupOf[order.ops[i]] = piece;
  placement.ops = std::move(order.inProgramOrder);
  return placement;
}

FailureOr<Placement> pp::assignPlaces(func::FuncOp entry, PlanOp plan,
                                      const Marks &marks) {
  OpOrder order(entry.getBody().front());
  int64_t places = plan.getAxisSize("pp");
  if (marks.empty() && places > 1)
    return placeByCost(entry, plan, order);
  Placement placement;
  for (int64_t place = 0; place < places; ++place)
    placement.placeOf.push_back(place);
  placement.groupOf = MarkFollower(order, marks).run();
  placement.ops = std::move(order.inProgramOrder);
  if (places > 1 && failed(checkFilled(entry, placement)))
    return failure();
  return placement;
}
