//===- AssignPlaces.cpp - Assigns ops to places ---------------------------===//

#include "ppopt/Transforms/Placement/AssignPlaces.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "OpOrder.h"
#include "PlaceByCost.h"

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/NeededOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

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
  // Inner marks first: their ops keep their place.
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
// Places by marks
//===----------------------------------------------------------------------===//

namespace {

/// Gives unmarked ops the places of marked ones.
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
    // Ops that are not connected to any mark.
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

} // namespace

static LogicalResult checkFilled(func::FuncOp entry,
                                 const Placement &placement) {
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
// Proposals
//===----------------------------------------------------------------------===//

namespace {

/// Places the unmarked ops that only proposals for states need: they cost
/// nothing, and no cut takes notice of them.
class ProposalPlacer {
public:
  ProposalPlacer(func::FuncOp entry, const Marks &marks);

  const DenseSet<Operation *> &getOps() const { return ops; }
  void place(Placement &placement) const;

private:
  struct Proposal {
    ParamOp state;
    DenseSet<Operation *> needed;
  };
  SmallVector<Proposal> proposals;
  DenseSet<Operation *> ops;
};

} // namespace

ProposalPlacer::ProposalPlacer(func::FuncOp entry, const Marks &marks) {
  llvm::StringMap<ParamOp> states;
  for (auto param : entry.getOps<ParamOp>())
    states[param.getParamName()] = param;
  Operation *ret = entry.getBody().front().getTerminator();
  SmallVector<Value> results;
  for (OpOperand &result : ret->getOpOperands())
    if (auto name = entry.getResultAttrOfType<StringAttr>(
            result.getOperandNumber(), kProposalAttr))
      proposals.push_back({states.lookup(name), findNeededOps({result.get()})});
    else
      results.push_back(result.get());
  if (proposals.empty())
    return;
  DenseSet<Operation *> others = findNeededOps(results);
  for (const Proposal &proposal : proposals)
    for (Operation *op : proposal.needed)
      if (!others.contains(op) && !marks.contains(op))
        ops.insert(op);
}

/// Places them where the state is read, or their operands are made if that is
/// later.
void ProposalPlacer::place(Placement &placement) const {
  for (const Proposal &proposal : proposals) {
    unsigned latest = 0;
    auto follow = [&](Operation *op) {
      if (op)
        latest = std::max(latest, placement.groupOf.lookup(op));
    };
    llvm::for_each(ParamOp(proposal.state)->getUsers(), follow);
    for (Operation *op : proposal.needed)
      if (ops.contains(op))
        for (Value operand : op->getOperands())
          follow(operand.getDefiningOp());
    for (Operation *op : placement.ops)
      if (ops.contains(op) && proposal.needed.contains(op))
        placement.groupOf[op] = latest;
  }
}

FailureOr<Placement> pp::assignPlaces(func::FuncOp entry, PlanOp plan,
                                      const Marks &marks) {
  ProposalPlacer proposals(entry, marks);
  OpOrder order(entry.getBody().front(), proposals.getOps());
  int64_t places = plan.getPlaces();
  if (marks.empty() && places > 1) {
    FailureOr<Placement> placement = placeByCost(entry, plan, order);
    if (succeeded(placement))
      proposals.place(*placement);
    return placement;
  }
  Placement placement;
  for (int64_t place = 0; place < places; ++place)
    placement.placeOf.push_back(place);
  placement.groupOf = MarkFollower(order, marks).run();
  placement.ops = std::move(order.inProgramOrder);
  proposals.place(placement);
  // Outputs may need some places alone.
  if (places > 1 && !hasOutputs(entry) && failed(checkFilled(entry, placement)))
    return failure();
  return placement;
}
