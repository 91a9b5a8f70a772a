//===- PlaceByCost.cpp - Places of unmarked ops, by cost ------------------===//

#include "PlaceByCost.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Links.h"
#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Schedule/Table.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Placement/CutByCost.h"
#include "ppopt/Transforms/Sharding/ResizeRows.h"
#include "ppopt/byte_amount.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::pp;
using namespace ppopt;

/// Returns how many microbatches each piece holds at once under the plan's
/// schedule, if the pieces are a chain of equal pieces.
static std::vector<int> countInFlight(PlanOp plan,
                                      const std::vector<int> &placeOf) {
  int pieces = placeOf.size(), microbatches = plan.getMicrobatches();
  schedule::Result<schedule::Table> table =
      plan.getTable()
          ? plan.getTable()->getTable()
          : schedule::generate(plan.getSchedule().str(),
                               schedule::makeChain(placeOf), microbatches);
  std::vector<int> open(pieces), most(pieces);
  // A schedule that has no table yet (auto) is counted as 1f1b.
  if (!table)
    for (int piece = 0; piece < pieces; ++piece)
      most[piece] = std::min(microbatches, pieces - piece);
  else
    for (const std::vector<schedule::Cell> &row : table->rows)
      for (const schedule::Cell &cell : row) {
        if (cell.stage >= pieces)
          continue;
        if (cell.work == schedule::Work::Forward)
          most[cell.stage] = std::max(most[cell.stage], ++open[cell.stage]);
        else if (cell.work != schedule::Work::BackwardInput)
          --open[cell.stage];
      }
  return most;
}

namespace {

/// The ops of an entry with the rows of one microbatch on one rank, as tasks
/// have them: what an op takes is not in proportion to its rows.
class MicrobatchOps {
public:
  MicrobatchOps(func::FuncOp entry, PlanOp plan);

  Operation *find(Operation *op) const {
    return resized ? copies.lookup(op) : op;
  }
  /// Returns which part of an op's work a microbatch is.
  double getShare() const { return share; }

private:
  /// Null if the batch is one microbatch on one rank, or if an op counts rows
  /// of the batch: then a microbatch takes its share of what all rows take.
  OwningOpRef<ModuleOp> resized;
  IRMapping copies;
  double share = 1;
};

MicrobatchOps::MicrobatchOps(func::FuncOp entry, PlanOp plan) {
  int64_t tiles = plan.getBatchTiles();
  if (tiles == 1)
    return;
  ScopedDiagnosticHandler silent(entry.getContext(),
                                 [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> made = ModuleOp::create(entry.getLoc());
  auto copy = cast<func::FuncOp>(entry->clone(copies));
  made->push_back(copy);
  RankedTensorType input = findBatchInput(copy);
  int64_t rows = input ? input.getDimSize(0) : 0;
  if (rows > 0 && rows % tiles == 0 &&
      succeeded(resizeRows(copy, rows, rows / tiles)))
    resized = std::move(made);
  else
    share = 1 / static_cast<double>(tiles);
}

/// Describes the ops of an entry as a problem of numbers.
class CutProblemBuilder {
public:
  /// A rank has one of `shards` equal parts of what `sharded` says.
  CutProblemBuilder(func::FuncOp entry, const OpOrder &order, PlanOp plan,
                    const MicrobatchOps &microbatch, int64_t shards,
                    std::optional<ShardedState> sharded)
      : order(order), plan(plan), microbatch(microbatch),
        times(getDevice(plan)), links(plan->getParentOfType<ModuleOp>()),
        numStates(getOptimizerStates(plan).size()), shards(shards),
        sharded(sharded) {
    findTrained(entry);
  }

  CutProblem build(ArrayRef<int64_t> placeOf);

private:
  void findTrained(func::FuncOp entry);
  CutProblem::Item makeItem(Operation *op);
  int getParam(ParamOp param);
  bool isActive(Value value) const { return active.contains(value); }
  bool recomputesLayers() { return plan.getRecompute() == Recompute::layer; }

  const OpOrder &order;
  PlanOp plan;
  const MicrobatchOps &microbatch;
  OpTimes times;
  Links links;
  int64_t numStates, shards;
  std::optional<ShardedState> sharded;
  CutProblem problem;
  /// The ops that the loss depends on. Training does not run the others.
  DenseSet<Operation *> trained;
  /// Values whose gradient reaches a trained parameter.
  DenseSet<Value> active;
  DenseMap<Value, int> values;
  DenseMap<Operation *, int> params;
};

void addOnce(std::vector<int> &list, int index) {
  if (!llvm::is_contained(list, index))
    list.push_back(index);
}

int CutProblemBuilder::getParam(ParamOp param) {
  auto [known, isNew] = params.try_emplace(param, problem.paramBytes.size());
  if (isNew) {
    int64_t bytes = getBytes(param);
    int64_t gradient =
        param.getType().getNumElements() *
        getElementBytes(getStatisticsType(getElementTypeOrSelf(param)));
    auto getPart = [&](int64_t bytes, ShardedState state) {
      return sharded && *sharded >= state ? bytes / shards : bytes;
    };
    problem.paramBytes.push_back(
        param.getFrozen() ? bytes
        : param.getState()
            ? 2 * bytes // and its proposal
            : getPart(bytes, ShardedState::Parameters) +
                  getPart(gradient, ShardedState::Gradients) +
                  getPart(numStates * bytes, ShardedState::States));
  }
  return known->second;
}

void CutProblemBuilder::findTrained(func::FuncOp entry) {
  Operation *ret = entry.getBody().front().getTerminator();
  SmallVector<Operation *> worklist;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && trained.insert(op).second)
      worklist.push_back(op);
  };
  // Nothing learns in a program that predicts: its outputs are its work.
  for (Value result : ret->getOperands().take_front(
           hasOutputs(entry) ? ret->getNumOperands() : 1))
    add(result);
  while (!worklist.empty())
    llvm::for_each(worklist.pop_back_val()->getOperands(), add);
}

CutProblem::Item CutProblemBuilder::makeItem(Operation *op) {
  CutProblem::Item item;
  if (!trained.contains(op))
    return item;
  SmallVector<bool> needed;
  bool carriesGradient = isa<DifferentiableOpInterface>(op);
  for (Value operand : op->getOperands()) {
    auto param = operand.getDefiningOp<ParamOp>();
    if (param)
      addOnce(item.params, getParam(param));
    else if (values.contains(operand))
      addOnce(item.reads, values.lookup(operand));
    needed.push_back(
        carriesGradient &&
        (param ? !param.getFrozen() && !param.getState() : isActive(operand)));
  }
  auto isNeeded = [](bool need) { return need; };
  bool isOnPath = llvm::any_of(needed, isNeeded);
  for (Value result : op->getResults())
    if (isOnPath && isa<FloatType>(getElementTypeOrSelf(result)))
      active.insert(result);
  // Where layers are computed again, they run once more for the backward.
  double runs = isOnPath && recomputesLayers() ? 2 : 1;
  Operation *computed = microbatch.find(op);
  item.time = microbatch.getShare() * (runs * times.get(computed) +
                                       times.getBackward(computed, needed));
  return item;
}

CutProblem CutProblemBuilder::build(ArrayRef<int64_t> placeOf) {
  problem.placeOf.assign(placeOf.begin(), placeOf.end());
  // With more pieces than ops the cut is rejected, so the schedule, which may
  // be of any size, is not built.
  if (placeOf.size() <= order.ops.size())
    problem.inFlight = countInFlight(plan, problem.placeOf);
  if (std::optional<int64_t> memory = plan.getDeviceMemory())
    problem.deviceMemory = *memory;
  const schema::LinkRates &betweenPlaces = links.getLevelOfPlaces().transfer;
  for (auto [i, op] : llvm::enumerate(order.ops)) {
    CutProblem::Item item = makeItem(op);
    for (auto [result, made] :
         llvm::zip(op->getResults(), microbatch.find(op)->getResults())) {
      double bytes =
          microbatch.getShare() * static_cast<double>(getBytes(made));
      bool isKept = recomputesLayers() ? isa<CheckpointOp>(op) : !isCheap(op);
      if (isActive(result) && isKept)
        item.savedBytes += bytes;
      values[result] = problem.values.size();
      double transfer = estimateLinkTime(bytes, betweenPlaces);
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
  return llvm::to_vector(llvm::seq<int64_t>(0, plan.getPlaces()));
}

FailureOr<Placement> pp::placeByCost(func::FuncOp entry, PlanOp plan,
                                     const OpOrder &order) {
  Placement placement;
  placement.placeOf = getPieces(plan);
  int64_t shards = getPlaceChunks(plan);
  MicrobatchOps microbatch(entry, plan);
  auto cutWith = [&](std::optional<ShardedState> sharded) {
    return pp::cutByCost(
        CutProblemBuilder(entry, order, plan, microbatch, shards, sharded)
            .build(placement.placeOf));
  };
  Cut cut = cutWith(getShardedState(plan));
  if (!cut.error.empty()) {
    int64_t fitting = 0; // a stage
    if (shards > 1 && plan.getDeviceMemory())
      for (int64_t zero = plan.getZero() + 1; zero <= 3 && !fitting; ++zero)
        if (cutWith(static_cast<ShardedState>(zero)).error.empty())
          fitting = zero;
    InFlightDiagnostic diag = entry.emitError("can't be cut for --mesh pp=")
                              << plan.getPlaces() << ": " << cut.error;
    if (std::optional<int64_t> memory = plan.getDeviceMemory())
      diag << ", and --device-memory allows "
           << ::ppopt::spellByteAmount(*memory) << "; use more places";
    if (fitting)
      diag << ", or --zero " << fitting << ", which shards "
           << describeStage(fitting);
    return diag;
  }
  for (unsigned piece = 0; piece < placement.placeOf.size(); ++piece)
    for (int i = cut.begin[piece]; i < cut.begin[piece + 1]; ++i)
      placement.groupOf[order.ops[i]] = piece;
  placement.ops = order.inProgramOrder;
  return placement;
}
