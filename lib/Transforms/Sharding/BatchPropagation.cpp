//===- BatchPropagation.cpp - How the batch is cut ------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Decompose.h"
#include "ppopt/Transforms/Model/EntryParts.h"
#include "ppopt/Transforms/Sharding/Reshards.h"

using namespace mlir;
using namespace mlir::pp;

/// Begins an error that says why, and which plan accepts the op.
InFlightDiagnostic ShardingPropagation::refuse(Operation *op,
                                               const Twine &why) {
  isRefused = true;
  return op->emitError()
         << "'" << getModelOpName(op)
         << "' op can't be split over the batch: " << why
         << (isTrial    ? ""
             : isResize ? "; leave --batch out and change the model's shapes"
             : batchAxes & ~axes.getRankAxes()
                 ? "; it compiles with --microbatches 1: an op that mixes rows "
                   "has no equal step over microbatches; for what is to be of "
                   "the rows of one microbatch, write "
                   "pp.per_microbatch { ... } around it"
                 : "; it compiles with a --mesh that does not split the batch");
}

/// Returns whether rows may meet over all ranks that split the batch, from now
/// on, since an op was refused that mixes them.
bool ShardingPropagation::letRowsMeet() {
  if (!isRefused || isResize || met || !canRowsMeet(axes))
    return false;
  met = batchAxes & axes.getRankAxes();
  return true;
}

//===----------------------------------------------------------------------===//
// Values whose rows can be computed apart
//===----------------------------------------------------------------------===//

/// Returns whether the value is the same for the whole batch, or is a sum that
/// the prologue completes.
bool ShardingPropagation::isComplete(Value value) const {
  const Sharding &sharding = of(value);
  if (sharding.getCutAxes() & batchAxes)
    return false;
  return !(sharding.sums & batchAxes) ||
         (fromInputs.contains(value) && isPrologueSum(value));
}

/// Returns whether no op that reads the value, or a copy of it, has been
/// propagated yet.
bool ShardingPropagation::isUnread(Value value) const {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto copy = dyn_cast<CopyOp>(user))
      return isUnread(copy);
    if (isa<YieldOp>(user))
      user = user->getParentOp();
    return user->getNumResults() == 0 ||
           !table.values.contains(user->getResult(0));
  });
}

/// Returns the rows' cuts with those of a value over axes of the model.
Sharding ShardingPropagation::withCutsOfModel(Sharding rows,
                                              Value value) const {
  Sharding others = of(value).onlyCuts(~batchAxes);
  for (auto [cuts, before] : llvm::zip(rows.dims, others.dims))
    mergeCuts(cuts, before);
  return rows;
}

void ShardingPropagation::becomeCut(Value value, const Sharding &sharding) {
  table.values.find(value)->second = sharding;
  for (Operation *user : value.getUsers())
    if (auto known = table.ops.find(user);
        isa<CopyOp>(user) && known != table.ops.end()) {
      known->second.reads[0] = sharding;
      known->second.loops.assign(sharding.dims.begin(), sharding.dims.end());
      becomeCut(user->getResult(0), sharding);
    }
}

/// Makes a region yield a result cut. Copies of the result to other places are
/// then cut as well. If the result was read before, the next sweep begins with
/// that.
bool ShardingPropagation::yieldCut(OpResult result, const Sharding &wanted) {
  // Where rows meet others may need it whole, and a rank can take its part.
  if (!isComplete(result) || (met && !result.hasOneUse()))
    return false;
  if (!isUnread(result)) {
    missedYields.try_emplace(result, wanted);
    return false;
  }
  Operation *yield = result.getOwner()->getRegion(0).front().getTerminator();
  unsigned number = result.getResultNumber();
  if (!canHave(yield->getOperand(number), wanted))
    return false;
  Sharding sharding = withCutsOfModel(wanted, result);
  table.ops[yield].reads[number] = sharding;
  becomeCut(result, sharding);
  return true;
}

/// Returns whether a value can be had with its rows cut as `wanted` says, which
/// has batch axes alone: it is so, a region yields it so, or an op computes it
/// so.
bool ShardingPropagation::canHave(Value value, const Sharding &wanted) {
  if (of(value).onlyCuts(batchAxes) == wanted)
    return true;
  Value source = value;
  while (auto copy = source.getDefiningOp<CopyOp>())
    source = copy.getX();
  if (isa_and_nonnull<OnOp, PlaceOp>(source.getDefiningOp()))
    return yieldCut(cast<OpResult>(source), wanted);
  if (llvm::is_contained(computable.lookup(value), wanted))
    return true;
  if (!computeCut(value, wanted))
    return false;
  computable[value].push_back(wanted);
  return true;
}

/// Returns whether the op of a value can compute it for a part of the rows: its
/// loop is parallel, and its operands are complete or can be had cut.
bool ShardingPropagation::computeCut(Value value, const Sharding &wanted) {
  std::optional<SmallVector<Cuts>> loops = findPartLoops(value, wanted, axes);
  if (!loops || !isComplete(value))
    return false;
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  IterationSpace space = op.getIterationSpace();
  // The op may read what is no complete sum of inputs completed by a task.
  auto isRead = [&](Value operand, const Sharding &read) {
    return isComplete(operand) || !(read.getAxes() & batchAxes);
  };
  bool canRead = llvm::all_of(
      llvm::zip(op->getOperands(), space.operands, table.of(op).reads),
      [&](auto entry) {
        auto [operand, tensor, read] = entry;
        Sharding needed = projectToTensor(space, tensor, *loops);
        return needed.getCutAxes() ? canHave(operand, needed)
                                   : isRead(operand, read);
      });
  if (auto iota = dyn_cast<IotaOp>(*op);
      canRead && iota && !wanted.dims[iota.getDim()].empty())
    rowNumbers.insert(iota);
  return canRead;
}

//===----------------------------------------------------------------------===//
// Sums over the batch
//===----------------------------------------------------------------------===//

/// Reads the partial operands that follow from inputs alone, or only the counts
/// among them, as complete.
void ShardingPropagation::completeInputSums(OpState &state, bool countsOnly) {
  for (auto [operand, read] : llvm::zip(state.op->getOperands(), state.reads))
    if ((!countsOnly || findCount(operand)) && fromInputs.contains(operand) &&
        isPrologueSum(operand))
      read.sums &= ~batchAxes;
}

/// Returns whether the op reads a whole value that does not follow from inputs.
/// A sum of inputs must be complete where it meets such a value; otherwise only
/// linear ops could read the result.
bool ShardingPropagation::readsParameters(const OpState &state) const {
  return llvm::any_of(state.op->getOperands(), [&](Value operand) {
    return !(of(operand).getAxes() & batchAxes) &&
           !fromInputs.contains(operand);
  });
}

/// Returns whether the op reads a sum of inputs, or what follows from one, as
/// complete.
bool ShardingPropagation::readsComplete(const OpState &state,
                                        unsigned operand) const {
  Value value = state.op->getOperand(operand);
  return fromSums.contains(value) ||
         (of(value).sums & batchAxes & ~state.reads[operand].sums);
}

/// Checks that an incomplete sum over the batch passes through linear ops only.
/// Where a whole value meets one, it is read as a sum too. A copy passes a sum
/// on as it is: what is completed is never sent, its readers complete it.
LogicalResult ShardingPropagation::admitBatchSums(OpState &state) {
  if (isa<CopyOp>(*state.op))
    return success();
  // Added to what follows from a complete sum, a sum would be one of sums: it
  // could be complete only after another prologue.
  bool isNested = llvm::any_of(state.op->getOperands(), [&](Value operand) {
    return fromSums.contains(operand);
  });
  if (readsParameters(state) || isNested)
    completeInputSums(state, /*countsOnly=*/false);
  auto all =
      llvm::to_vector(llvm::seq<unsigned>(0, state.op->getNumOperands()));
  auto admits = [&](SmallVector<Sharding> &reads) {
    for (unsigned axis = 0; axis < axes.size(); ++axis) {
      SmallVector<unsigned> partial = findPartialSums(reads, axis);
      if (!contains(getApart(), axis) || partial.empty())
        continue;
      if (contains(state.cut, axis))
        return false;
      if (state.op.isLinearIn(partial))
        continue;
      if (!state.op.isLinearIn(all))
        return false;
      for (Sharding &read : reads)
        read.sums |= onlyAxis(axis);
    }
    return true;
  };
  for (bool completed : {false, true}) {
    SmallVector<Sharding> reads = state.reads;
    if (admits(reads)) {
      state.reads = std::move(reads);
      return success();
    }
    if (!completed)
      completeInputSums(state, /*countsOnly=*/false);
  }
  InFlightDiagnostic diag = refuse(
      state.op, "it is not linear in a sum over the batch that depends on "
                "activations, so that no microbatch could compute its part; "
                "move it before the sum, or compute it from inputs alone");
  for (auto [i, read] : llvm::enumerate(state.reads))
    if (read.sums & batchAxes)
      diag.attachNote(state.op->getOperand(i).getLoc())
          << "operand " << i << " is such a sum";
  return diag;
}

//===----------------------------------------------------------------------===//
// Rows that meet
//===----------------------------------------------------------------------===//

/// A partial sum over ranks passes through an op that is linear in it, cuts no
/// loop over them and has no larger results. Other sums are read complete: the
/// prologue completes what follows from inputs, a task all else.
void ShardingPropagation::admitMetSums(OpState &state) {
  if (isa<CopyOp>(*state.op))
    return;
  int64_t resultBytes = 0;
  for (Value result : state.op->getResults())
    resultBytes += getBytes(result);
  auto all =
      llvm::to_vector(llvm::seq<unsigned>(0, state.op->getNumOperands()));
  // A whole number has no n-th part.
  bool hasShares =
      llvm::all_of(state.op->getOperandTypes(),
                   [](Type type) {
                     return isa<FloatType>(getElementTypeOrSelf(type));
                   }) &&
      state.op.isLinearIn(all);
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    SmallVector<unsigned> partial = findPartialSums(state.reads, axis);
    if (!contains(met, axis) || partial.empty())
      continue;
    int64_t bytes = 0;
    for (unsigned i : partial)
      bytes += getBytes(state.op->getOperand(i));
    bool isLinear = state.op.isLinearIn(partial);
    bool passes = !contains(state.cut, axis) && resultBytes <= bytes &&
                  (isLinear || hasShares);
    for (Sharding &read : state.reads)
      if (!passes)
        read.sums &= ~onlyAxis(axis);
      else if (!isLinear)
        read.sums |= onlyAxis(axis);
  }
}

/// Where one reader of a partial sum over met axes reads its part of it, all
/// do: the sum is scattered once.
void ShardingPropagation::readScattered(Value value, Sharding &read) const {
  auto found = scattered.find(value);
  if (found == scattered.end())
    return;
  AxisSet cut = found->second.getCutAxes();
  Sharding part = read;
  part.sums &= ~cut;
  for (auto [to, from, size] :
       llvm::zip(part.dims, found->second.dims, getShape(value)))
    for (Cut each : from)
      if (!addCut(to, each, size, axes))
        return;
  if ((read.sums & cut) == cut)
    read = std::move(part);
}

//===----------------------------------------------------------------------===//
// Rows of a microbatch
//===----------------------------------------------------------------------===//

/// What enters a microbatch or leaves it is cut over ranks there, and over
/// microbatches and ranks outside.
LogicalResult ShardingPropagation::cutMicrobatches(OpState &state) {
  Sharding &read = state.reads[0];
  bool enters = isa<EnterMicrobatchOp>(*state.op);
  AxisSet others = batchAxes & ~axes.getRankAxes();
  if (enters && (read.sums & others))
    completeInputSums(state, /*countsOnly=*/false);
  if (enters && (read.sums & others)) {
    InFlightDiagnostic diag =
        refuse(state.op, "in a pp.per_microbatch it reads a sum over all "
                         "microbatches, which is not complete before the last "
                         "one");
    diag.attachNote(state.op->getOperand(0).getLoc())
        << "this is the sum; compute it in the region too";
    return diag;
  }
  std::optional<unsigned> dim = getMicrobatchDim(state.op);
  if (!dim)
    return success();
  const DimLoops &loops =
      (enters ? state.space.operands : state.space.results)[0][*dim];
  Value whole = enters ? state.op->getOperand(0) : state.op->getResult(0);
  int64_t period = getShape(whole)[*dim];
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    if (!contains(batchAxes, axis))
      continue;
    std::optional<LoopCut> cut =
        projectToLoop(state.space, loops, axes[axis].parts, period);
    if (!cut)
      return refuse(state.op,
                    "a pp.per_microbatch computes with all rows of one "
                    "microbatch together");
    auto known = read.findCut(axis);
    if (known && contains(getApart(), axis) &&
        (known->first != *dim || known->second.period != period))
      return refuse(state.op,
                    "its rows are not those of dimension " + Twine(*dim));
    (void)addCut(state.loops[cut->loop], {axis, cut->period},
                 state.space.loops[cut->loop].extent, axes);
    state.cut |= onlyAxis(axis);
    period /= axes[axis].parts;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Choosing loops
//===----------------------------------------------------------------------===//

/// Refuses to cut the batch along a loop that mixes its rows.
LogicalResult ShardingPropagation::checkBatchKind(OpState &state, unsigned axis,
                                                  const LoopCut &cut) {
  LoopKind kind = state.space.loops[cut.loop].kind;
  bool mayCut =
      isResize || (kind != LoopKind::Max && kind != LoopKind::Lookup &&
                   canCut(state, axis, cut));
  if (mayCut)
    return success();
  return refuse(state.op, kind == LoopKind::Max
                              ? "it mixes rows of the batch (a maximum over "
                                "them)"
                              : "it mixes rows of the batch (each result needs "
                                "all of them)");
}

/// Returns the loop along which the operands are cut over a batch axis, if any.
FailureOr<std::optional<LoopCut>>
ShardingPropagation::chooseBatchLoop(OpState &state, unsigned axis) {
  std::optional<LoopCut> chosen;
  for (auto [i, read] : llvm::enumerate(state.reads)) {
    auto cut = read.findCut(axis);
    if (!cut)
      continue;
    std::optional<LoopCut> loop =
        projectToLoop(state.space, state.space.operands[i][cut->first],
                      axes[axis].parts, cut->second.period);
    if (!loop)
      return refuse(state.op, "it mixes rows of the batch, which are "
                              "dimension " +
                                  Twine(cut->first) + " of operand " +
                                  Twine(i)),
             failure();
    if (chosen &&
        (chosen->loop != loop->loop || chosen->period != loop->period))
      return refuse(state.op, "the batch lies along different dimensions of "
                              "its operands"),
             failure();
    chosen = loop;
  }
  return chosen;
}
