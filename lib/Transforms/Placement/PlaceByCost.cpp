//===- PlaceByCost.cpp - Places of unmarked ops, by cost ------------------===//

#include "PlaceByCost.h"

#include "LocalOps.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Analysis/Links.h"
#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Schedule/Table.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/NeededOps.h"
#include "ppopt/Transforms/Placement/CutByCost.h"
#include "ppopt/byte_amount.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::pp;
using namespace ppopt;

/// Erases the moments at which no piece holds more than at another one.
static void keepLargest(std::set<std::vector<int>> &moments) {
  for (auto moment = moments.begin(); moment != moments.end();) {
    bool isExceeded = llvm::any_of(moments, [&](const auto &other) {
      return &other != &*moment &&
             std::equal(moment->begin(), moment->end(), other.begin(),
                        std::less_equal<>());
    });
    moment = isExceeded ? moments.erase(moment) : std::next(moment);
  }
}

/// Counts how many microbatches the pieces of a place hold while it runs its
/// cells.
static void countInFlight(int place, ArrayRef<schedule::Cell> row,
                          CutProblem &problem) {
  int count = problem.placeOf.size();
  std::vector<int> open(count), pieces;
  for (int piece = 0; piece < count; ++piece)
    if (problem.placeOf[piece] == place)
      pieces.push_back(piece);
  std::set<std::vector<int>> moments;
  bool grows = false;
  auto addMoment = [&] {
    if (!std::exchange(grows, false))
      return;
    std::vector<int> held;
    for (int piece : pieces)
      held.push_back(open[piece]);
    moments.insert(std::move(held));
  };
  for (const schedule::Cell &cell : row) {
    if (cell.stage >= count)
      continue;
    if (cell.work == schedule::Work::Forward) {
      int &most = problem.inFlight[cell.stage];
      most = std::max(most, ++open[cell.stage]);
      grows = true;
    } else if (cell.work != schedule::Work::BackwardInput) {
      addMoment();
      --open[cell.stage];
    }
  }
  addMoment();
  if (pieces.size() == 1)
    return;
  keepLargest(moments);
  for (const std::vector<int> &moment : moments)
    problem.moments.push_back({place, moment});
}

/// The same of all pieces of a problem, under the plan's schedule, if they are
/// a chain of equal pieces.
static void countInFlight(PlanOp plan, CutProblem &problem) {
  int pieces = problem.placeOf.size(), microbatches = plan.getMicrobatches();
  schedule::Result<schedule::Table> table =
      plan.getTable() ? plan.getTable()->getTable()
                      : schedule::generate(plan.getSchedule().str(),
                                           schedule::makeChain(problem.placeOf),
                                           microbatches);
  problem.inFlight.assign(pieces, 0);
  // A schedule that has no table yet (auto) is counted as 1f1b.
  if (!table)
    for (int piece = 0; piece < pieces; ++piece)
      problem.inFlight[piece] = std::min(microbatches, pieces - piece);
  else
    for (auto [place, row] : llvm::enumerate(table->rows))
      countInFlight(static_cast<int>(place), row, problem);
}

namespace {

/// Describes the ops of an entry as a problem of numbers.
class CutProblemBuilder {
public:
  /// A rank has one of `shards` equal parts of what `sharded` says.
  CutProblemBuilder(const OpOrder &order, PlanOp plan, const LocalOps &local,
                    int64_t shards, std::optional<ShardedState> sharded)
      : order(order), plan(plan), axes(ShardingAxes::of(plan)), local(local),
        times(getDevice(plan)), links(plan->getParentOfType<ModuleOp>()),
        numStates(getOptimizerStates(plan).size()), shards(shards),
        sharded(sharded) {
    findTrained();
    readParams();
  }

  CutProblem build(ArrayRef<int64_t> placeOf);

private:
  struct Transfer {
    double time, bytes; ///< of a rank
  };

  void findTrained();
  void readParams();
  int64_t getBytesHeld(ParamOp param) const;
  CutProblem::Item makeItem(size_t number);
  void addValues(size_t number);
  double getTime(Operation *op, ArrayRef<bool> needed, bool isOnPath);
  int64_t getTemporaryBytes(Operation *op, ArrayRef<bool> needed) const;
  Transfer planTransfer(Value value, double bytes);
  void addSaved();
  static bool mayComputeAgain(Operation *op);
  bool recomputesLayers() { return plan.getRecompute() == Recompute::layer; }

  const OpOrder &order;
  PlanOp plan;
  ShardingAxes axes;
  const LocalOps &local;
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
  /// Of the forward, what backwards read; and what the backward of the op that
  /// makes it reads.
  DenseSet<Value> readBack, readByMaker;
  /// The number of a parameter, by its value and by what is made of it alone to
  /// read it otherwise than it is cut.
  DenseMap<Value, int> params;
};

void addOnce(std::vector<int> &list, int index) {
  if (!llvm::is_contained(list, index))
    list.push_back(index);
}

/// Returns the bytes of a parameter with its gradient and optimizer states.
int64_t CutProblemBuilder::getBytesHeld(ParamOp param) const {
  int64_t bytes = getBytes(param);
  if (param.getFrozen())
    return bytes;
  if (param.getState())
    return 2 * bytes; // and its proposal
  int64_t gradient =
      param.getType().getNumElements() *
      getElementBytes(getStatisticsType(getElementTypeOrSelf(param)));
  auto getPart = [&](int64_t bytes, ShardedState state) {
    return sharded && *sharded >= state ? bytes / shards : bytes;
  };
  return getPart(bytes, ShardedState::Parameters) +
         getPart(gradient, ShardedState::Gradients) +
         getPart(numStates * bytes, ShardedState::States);
}

void CutProblemBuilder::findTrained() {
  func::FuncOp entry = local.getEntry();
  Operation *ret = entry.getBody().front().getTerminator();
  // Nothing learns in a program that predicts: its outputs are its work.
  trained = findNeededOps(llvm::to_vector(ret->getOperands().take_front(
      hasOutputs(entry) ? ret->getNumOperands() : 1)));
}

void CutProblemBuilder::readParams() {
  for (Operation &op : local.getEntry().getBody().front()) {
    if (auto param = dyn_cast<ParamOp>(op)) {
      params[param] = problem.paramBytes.size();
      problem.paramBytes.push_back(getBytesHeld(param));
      if (!param.getFrozen() && !param.getState())
        active.insert(param);
      continue;
    }
    if (local.getNumber(&op))
      continue;
    for (Value operand : op.getOperands())
      for (Value result : op.getResults()) {
        if (auto found = params.find(operand); found != params.end())
          params.try_emplace(result, found->second);
        if (active.contains(operand))
          active.insert(result);
      }
  }
}

/// Returns the time of an op for a microbatch, forward and backward.
double CutProblemBuilder::getTime(Operation *op, ArrayRef<bool> needed,
                                  bool isOnPath) {
  // Where a sum is read whole, the gradient of what is summed is not summed,
  // and the other way around: both ways as much is sent.
  if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    TaskCollectiveAttr of = describeCollective(collective);
    return (isOnPath ? 2 : 1) *
           links.estimateTime(collective.getKind(),
                              of.getElements() * getElementBytes(of.getType()),
                              of.getGroup().getGeometry(), /*place=*/0);
  }
  // Where layers are computed again, they run once more for the backward.
  double runs = isOnPath && recomputesLayers() ? 2 : 1;
  return runs * times.get(op) + times.getBackward(op, needed);
}

/// Returns the bytes of what an op reads and makes, with their gradients.
int64_t CutProblemBuilder::getTemporaryBytes(Operation *op,
                                             ArrayRef<bool> needed) const {
  int64_t bytes = 0;
  auto add = [&](Value value) {
    if (!params.contains(value))
      bytes += getBytes(value);
  };
  llvm::for_each(op->getOperands(), add);
  llvm::for_each(op->getResults(), add);
  return llvm::is_contained(needed, true) ? 2 * bytes : bytes;
}

CutProblem::Item CutProblemBuilder::makeItem(size_t number) {
  CutProblem::Item item;
  bool isOnPath = false;
  for (Operation *op : local.getOps(number)) {
    if (!trained.contains(op))
      continue;
    bool carriesGradient = isa<DifferentiableOpInterface>(op);
    SmallVector<bool> needed;
    for (Value operand : op->getOperands()) {
      if (auto found = params.find(operand); found != params.end())
        addOnce(item.params, found->second);
      else if (auto found = values.find(operand); found != values.end())
        addOnce(item.reads, found->second);
      needed.push_back(carriesGradient && active.contains(operand));
    }
    isOnPath |= llvm::is_contained(needed, true);
    for (Value result : op->getResults())
      if (isOnPath && isa<FloatType>(getElementTypeOrSelf(result)))
        active.insert(result);
    item.time += local.getShare() * getTime(op, needed, isOnPath);
    item.temporaryBytes =
        std::max(item.temporaryBytes,
                 static_cast<int64_t>(
                     local.getShare() *
                     static_cast<double>(getTemporaryBytes(op, needed))));
    const BackwardReads &reads = times.getBackwardReads(op, needed);
    for (auto [operand, isRead] : llvm::zip(op->getOperands(), reads.operands))
      if (isRead)
        readBack.insert(operand);
    for (auto [result, isRead] : llvm::zip(op->getResults(), reads.results))
      if (isRead) {
        readBack.insert(result);
        readByMaker.insert(result);
      }
  }
  return item;
}

/// Returns how a value reaches the next place: whole, or as a part from each
/// rank that has it, which are then gathered (--cut-transfers auto).
CutProblemBuilder::Transfer CutProblemBuilder::planTransfer(Value value,
                                                            double bytes) {
  const schema::LinkRates &betweenPlaces = links.getLevelOfPlaces().transfer;
  double gathers = 0, part = bytes;
  ShardingAttr cut = getShardingAttr(value);
  for (unsigned i = 0; i < axes.size(); ++i) {
    if (axes[i].splitsBatch || (cut && cut.without(axes[i].name) != cut))
      continue;
    gathers += links.estimateTime(::ppopt::geometry::Collective::AllGather,
                                  static_cast<int64_t>(bytes),
                                  {{axes[i].name.str()}, {}}, /*place=*/0);
    part /= static_cast<double>(axes[i].parts);
  }
  double whole = estimateLinkTime(bytes, betweenPlaces),
         inParts = estimateLinkTime(part, betweenPlaces) + gathers;
  return inParts < whole ? Transfer{inParts, part} : Transfer{whole, bytes};
}

/// Adds the values that an item makes for others.
void CutProblemBuilder::addValues(size_t number) {
  auto isOfItem = [&](Operation *user) {
    return local.getNumber(user) == number;
  };
  for (Operation *op : local.getOps(number))
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(), isOfItem))
        continue;
      double bytes = local.getShare() * static_cast<double>(getBytes(result));
      Transfer transfer = planTransfer(result, bytes);
      values[result] = problem.values.size();
      problem.values.push_back(
          {static_cast<int>(number),
           active.contains(result) ? 2 * transfer.time : transfer.time,
           /*keptBytes=*/0, static_cast<int64_t>(transfer.bytes)});
    }
}

/// Returns whether the backward may compute an op again, whatever that costs
/// (SavedValues.cpp).
bool CutProblemBuilder::mayComputeAgain(Operation *op) {
  return !isa<CollectiveOpInterface>(op) && !isDecision(op);
}

/// Adds what is kept for the backward: without --recompute layer what backwards
/// read and what does not follow cheaply from the rest of it, with it what
/// layers return and what ranks have exchanged.
void CutProblemBuilder::addSaved() {
  bool computesCheap = plan.getRecompute() != Recompute::none;
  DenseSet<Value> follows; // from what backwards read
  auto isAtHand = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return !op || !local.getNumber(op);
  };
  Block &body = local.getEntry().getBody().front();
  for (Operation &op : body) {
    bool isMade = mayComputeAgain(&op) && (isFree(&op) || isWideningCast(&op) ||
                                           (computesCheap && isCheap(&op)));
    if (isMade && llvm::all_of(op.getOperands(), [&](Value operand) {
          return isAtHand(operand) || readBack.contains(operand) ||
                 follows.contains(operand);
        }))
      follows.insert(op.result_begin(), op.result_end());
  }
  DenseSet<Value> wanted = readBack;
  for (Operation &op : llvm::reverse(body)) {
    std::optional<size_t> number = local.getNumber(&op);
    if (!number)
      continue;
    bool isMarked = isa<CheckpointOp>(op) || !mayComputeAgain(&op);
    for (Value result : op.getResults()) {
      if (!wanted.contains(result))
        continue;
      bool isKept = recomputesLayers() ? isMarked : !follows.contains(result);
      if (!isKept) {
        wanted.insert(op.operand_begin(), op.operand_end());
        continue;
      }
      auto bytes = static_cast<int64_t>(local.getShare() *
                                        static_cast<double>(getBytes(result)));
      auto found = values.find(result);
      if (found == values.end() || readByMaker.contains(result))
        problem.items[*number].savedBytes += bytes;
      else
        problem.values[found->second].keptBytes = bytes;
    }
  }
  for (auto [value, number] : values)
    if (!wanted.contains(value))
      problem.values[number].receivedBytes = 0;
}

CutProblem CutProblemBuilder::build(ArrayRef<int64_t> placeOf) {
  problem.placeOf.assign(placeOf.begin(), placeOf.end());
  // With more pieces than ops the cut is rejected, so the schedule, which may
  // be of any size, is not built.
  if (placeOf.size() <= order.ops.size())
    countInFlight(plan, problem);
  // No estimate has all temporaries, nor the buffers of the communication.
  constexpr int64_t kLeftOf = 20;
  if (std::optional<int64_t> memory = plan.getDeviceMemory()) {
    problem.deviceMemory = *memory;
    problem.fillMemory = *memory - *memory / kLeftOf;
  }
  for (size_t number = 0; number < order.ops.size(); ++number) {
    problem.items.push_back(makeItem(number));
    addValues(number);
  }
  addSaved();
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
  LocalOps local(entry, plan, order);
  auto cutWith = [&](std::optional<ShardedState> sharded) {
    return pp::cutByCost(CutProblemBuilder(order, plan, local, shards, sharded)
                             .build(placement.placeOf));
  };
  PieceCut cut = cutWith(getShardedState(plan));
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
