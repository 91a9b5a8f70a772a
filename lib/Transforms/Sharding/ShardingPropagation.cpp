//===- ShardingPropagation.cpp - How each value is cut --------------------===//

#include "ppopt/Transforms/Sharding/ShardingPropagation.h"

#include "ppopt/Analysis/AxisParts.h"
#include "ppopt/Analysis/Cost.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/EntryParts.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

/// Sweeps after which further demands are left unmet: a value is then computed
/// whole and sliced.
static constexpr int kMostSweeps = 16;

static constexpr AxisSet only(unsigned axis) { return AxisSet(1) << axis; }

FailureOr<int64_t> pp::getModelBatch(func::FuncOp entry) {
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() > 0)
      return type.getDimSize(0);
  }
  return entry.emitError("the model has no input with a first dimension, so "
                         "there is no batch to split"),
         failure();
}

/// Begins an error that says why, and which plan accepts the op.
InFlightDiagnostic ShardingPropagation::refuse(Operation *op,
                                               const Twine &why) const {
  return op->emitOpError("can't be split over the batch: ")
         << why
         << (isResize ? "; leave --batch out and change the model's shapes"
                      : "; it compiles with --microbatches 1 and a --mesh "
                        "without dp, which split nothing");
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
  return !(sharding.sums & batchAxes) || fromInputs.contains(value);
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
/// then cut as well.
bool ShardingPropagation::yieldCut(OpResult result, const Sharding &wanted) {
  if (!isComplete(result) || !isUnread(result))
    return false;
  Operation *yield = result.getOwner()->getRegion(0).front().getTerminator();
  unsigned number = result.getResultNumber();
  if (!canHave(yield->getOperand(number), wanted))
    return false;
  Sharding sharding = wanted;
  for (auto [cuts, before] : llvm::zip(sharding.dims, of(result).dims))
    mergeCuts(cuts, before);
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
  std::pair<Value, Sharding> key(value, wanted);
  if (llvm::is_contained(computable, key))
    return true;
  if (!computeCut(value, wanted))
    return false;
  computable.push_back(std::move(key));
  return true;
}

/// Returns whether the op of a value can compute it for a part of the rows: its
/// loop is parallel, and its operands are complete or can be had cut.
bool ShardingPropagation::computeCut(Value value, const Sharding &wanted) {
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  if (!op || op->getNumResults() != 1 || isa<ParamOp>(op) || isTable(op) ||
      !isComplete(value))
    return false;
  IterationSpace space = op.getIterationSpace();
  std::optional<SmallVector<Cuts>> loops =
      projectToLoops(space, space.results[0], wanted, axes);
  if (!loops)
    return false;
  for (auto [loop, cuts] : llvm::zip(space.loops, *loops))
    if (!cuts.empty() && loop.kind != LoopKind::Parallel)
      return false;
  return llvm::all_of(
      llvm::zip(op->getOperands(), space.operands), [&](auto entry) {
        auto [operand, tensor] = entry;
        Sharding needed = projectToTensor(space, tensor, *loops);
        return needed.getCutAxes() ? canHave(operand, needed)
                                   : isComplete(operand);
      });
}

//===----------------------------------------------------------------------===//
// Sums of inputs
//===----------------------------------------------------------------------===//

/// Reads the partial operands that follow from inputs alone, or only the counts
/// among them, as complete.
void ShardingPropagation::completeInputSums(OpState &state, bool countsOnly) {
  for (auto [operand, read] : llvm::zip(state.op->getOperands(), state.reads))
    if ((!countsOnly || findCount(operand)) && fromInputs.contains(operand))
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

static SmallVector<unsigned> getPartialOperands(ArrayRef<Sharding> reads,
                                                unsigned axis) {
  SmallVector<unsigned> partial;
  for (auto [i, read] : llvm::enumerate(reads))
    if (contains(read.sums, axis))
      partial.push_back(i);
  return partial;
}

/// Checks that an incomplete sum over the batch passes through linear ops only.
/// Where a whole value meets one, it is read as a sum too.
LogicalResult ShardingPropagation::admitBatchSums(OpState &state) {
  if (readsParameters(state))
    completeInputSums(state, /*countsOnly=*/false);
  auto all =
      llvm::to_vector(llvm::seq<unsigned>(0, state.op->getNumOperands()));
  auto admits = [&](SmallVector<Sharding> &reads) {
    for (unsigned axis = 0; axis < axes.size(); ++axis) {
      SmallVector<unsigned> partial = getPartialOperands(reads, axis);
      if (!contains(batchAxes, axis) || partial.empty())
        continue;
      if (contains(state.cut, axis))
        return false;
      if (state.op.isLinearIn(partial))
        continue;
      if (!state.op.isLinearIn(all))
        return false;
      for (Sharding &read : reads)
        read.sums |= only(axis);
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
// Choosing loops
//===----------------------------------------------------------------------===//

/// Returns whether the axis may cut the loop: of its kind, in all results that
/// it must be in, and besides the axes that cut it already.
bool ShardingPropagation::canCut(const OpState &state, unsigned axis,
                                 LoopCut cut) const {
  const Loop &loop = state.space.loops[cut.loop];
  Cuts cuts = state.loops[cut.loop];
  if (!addCut(cuts, {axis, cut.period}, loop.extent, axes))
    return false;
  bool isInAll =
      llvm::all_of(state.space.results, [&](const TensorLoops &result) {
        return runsOver(result, cut.loop);
      });
  switch (loop.kind) {
  case LoopKind::Parallel:
  case LoopKind::Permute:
    return isInAll;
  case LoopKind::Sum:
  case LoopKind::Max:
  case LoopKind::Lookup:
    return true;
  case LoopKind::Replicate:
    return false;
  }
  llvm_unreachable("all kinds are listed");
}

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

/// Returns the bytes that are sent if an op cuts a loop over an axis, or none.
/// An annotated parameter is never gathered.
double ShardingPropagation::countBytes(const OpState &state, unsigned axis,
                                       std::optional<LoopCut> cut) const {
  double bytes = 0, parts = static_cast<double>(axes[axis].parts);
  SmallVector<Cuts> loops(state.space.loops.size());
  if (cut)
    loops[cut->loop].push_back({axis, cut->period});
  for (auto [operand, tensor, read] :
       llvm::zip(state.op->getOperands(), state.space.operands, state.reads)) {
    auto before = read.findCut(axis);
    auto after = projectToTensor(state.space, tensor, loops).findCut(axis);
    if (!before || before == after)
      continue;
    if (auto param = operand.getDefiningOp<ParamOp>())
      if (annotated.contains(param.getParamNameAttr()))
        return std::numeric_limits<double>::infinity();
    auto size = static_cast<double>(getBytes(operand));
    bytes += (parts - 1) / parts * (after ? size / parts : size);
  }
  if (cut)
    for (auto [result, tensor] :
         llvm::zip(state.op->getResults(), state.space.results))
      if (!runsOver(tensor, cut->loop))
        bytes +=
            2 * (parts - 1) / parts * static_cast<double>(getBytes(result));
  return bytes;
}

/// Returns the loop that an axis of the model cuts: what an operand is cut
/// along, or what all readers of the result want. Where several are possible,
/// the one with the fewest bytes.
FailureOr<std::optional<LoopCut>>
ShardingPropagation::chooseCheapest(OpState &state, unsigned axis) {
  SmallVector<LoopCut> choices;
  bool isConflict = false;
  auto propose = [&](const TensorLoops &tensor, const Sharding &sharding) {
    auto cut = sharding.findCut(axis);
    if (!cut)
      return;
    std::optional<LoopCut> loop = projectToLoop(
        state.space, tensor[cut->first], axes[axis].parts, cut->second.period);
    if (loop && canCut(state, axis, *loop)) {
      auto isSame = [&](LoopCut other) {
        return other.loop == loop->loop && other.period == loop->period;
      };
      if (!llvm::any_of(choices, isSame))
        choices.push_back(*loop);
      return;
    }
    isConflict = true;
    auto composite = dyn_cast<DecomposableOpInterface>(*state.op);
    if (loop && state.space.loops[loop->loop].kind == LoopKind::Replicate &&
        composite && composite.getDecomposeAt() != DecomposeAt::Never)
      composites.insert(composite);
  };
  for (auto [tensor, read] : llvm::zip(state.space.operands, state.reads))
    propose(tensor, read);
  if (choices.empty() && !isConflict && state.op->getNumResults() == 1 &&
      !isTable(state.op))
    if (auto found = demands.find(state.op->getResult(0));
        found != demands.end()) {
      propose(state.space.results[0], found->second);
      isConflict = false;
    }
  if (choices.empty())
    return std::optional<LoopCut>();
  if (choices.size() == 1 && !isConflict)
    return std::optional(choices.front());
  std::optional<LoopCut> best;
  double fewest = countBytes(state, axis, std::nullopt);
  for (LoopCut choice : choices)
    if (double bytes = countBytes(state, axis, choice);
        bytes < fewest || (bytes == fewest && !best)) {
      fewest = bytes;
      best = choice;
    }
  if (fewest < std::numeric_limits<double>::infinity())
    return best;
  InFlightDiagnostic diag =
      state.op->emitOpError("has operands that are cut over ");
  diag << axes[axis].name.getValue()
       << " along different dimensions of it; annotate them alike, or leave "
          "one annotation out";
  for (Value operand : state.op->getOperands())
    if (auto param = operand.getDefiningOp<ParamOp>())
      if (annotated.contains(param.getParamNameAttr()))
        diag.attachNote(param.getLoc()) << "this parameter is annotated";
  return diag;
}

LogicalResult ShardingPropagation::chooseLoop(OpState &state, unsigned axis) {
  bool isBatch = contains(batchAxes, axis);
  FailureOr<std::optional<LoopCut>> chosen =
      isBatch ? chooseBatchLoop(state, axis) : chooseCheapest(state, axis);
  if (failed(chosen))
    return failure();
  if (!*chosen)
    return success();
  const LoopCut &cut = **chosen;
  if (isBatch && failed(checkBatchKind(state, axis, cut)))
    return failure();
  (void)addCut(state.loops[cut.loop], {axis, cut.period},
               state.space.loops[cut.loop].extent, axes);
  state.cut |= only(axis);
  return success();
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// A parameter that is not annotated, or what is computed of such alone, is cut
/// as a reader wants it, from the next sweep on.
void ShardingPropagation::adopt(Value value, unsigned axis, unsigned dim,
                                int64_t period) {
  if (of(value).getAxes() & only(axis))
    return;
  if (auto param = value.getDefiningOp<ParamOp>()) {
    StringAttr name = param.getParamNameAttr();
    if (annotated.contains(name))
      return;
    Sharding &sharding =
        params.try_emplace(name, Sharding(getShape(value).size()))
            .first->second;
    if (!(sharding.getCutAxes() & only(axis)) &&
        addCut(sharding.dims[dim], {axis, period}, getShape(value)[dim], axes))
      changed = true;
    return;
  }
  auto op = value.getDefiningOp<IterationSpaceOpInterface>();
  if (!op || op->getNumResults() != 1)
    return;
  IterationSpace space = op.getIterationSpace();
  std::optional<LoopCut> cut =
      projectToLoop(space, space.results[0][dim], axes[axis].parts, period);
  if (!cut || (space.loops[cut->loop].kind != LoopKind::Parallel &&
               space.loops[cut->loop].kind != LoopKind::Permute))
    return;
  SmallVector<Cuts> loops(space.loops.size());
  loops[cut->loop].push_back({axis, cut->period});
  for (auto [operand, tensor] : llvm::zip(op->getOperands(), space.operands))
    if (auto found = projectToTensor(space, tensor, loops).findCut(axis))
      adopt(operand, axis, found->first, found->second.period);
}

/// Reads operands as the cuts of the loops want them.
LogicalResult ShardingPropagation::readAlongLoops(OpState &state) {
  for (OpOperand &operand : state.op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Sharding &read = state.reads[i];
    Sharding wanted =
        projectToTensor(state.space, state.space.operands[i], state.loops);
    Sharding rows = wanted.onlyCuts(batchAxes);
    if (rows.getCutAxes() && !(read.getCutAxes() & batchAxes) &&
        !canHave(operand.get(), rows)) {
      const char *why =
          isTable(operand.get().getDefiningOp())
              ? " is a constant with elements of its own for each row of the "
                "batch; make it an input of the model (pp.input), or compute "
                "it (pp.iota)"
          : read.sums & batchAxes
              ? " has rows of the batch's size that are made of a sum over the "
                "batch that depends on activations"
              : " has a dimension of the batch's size that does not come from "
                "the model's inputs";
      InFlightDiagnostic diag = refuse(state.op, "operand " + Twine(i) + why);
      diag.attachNote(operand.get().getLoc()) << "it is made here";
      return diag;
    }
    for (auto [dim, cuts] : llvm::enumerate(wanted.dims))
      for (Cut cut : cuts)
        if (!contains(batchAxes, cut.axis))
          adopt(operand.get(), cut.axis, dim, cut.period);
    // What is cut is complete there.
    wanted.sums = read.sums & ~wanted.getCutAxes();
    read = wanted;
  }
  return success();
}

/// A partial result over an axis of the model passes through an op that is
/// linear in it and whose results on a rank are no larger, if no other op reads
/// it; all else reads it complete. So do matmuls: a weight's gradient is then
/// complete too.
void ShardingPropagation::admitPartials(OpState &state) {
  auto countLocalBytes = [&](Value value, const TensorLoops &tensor) {
    AxisSet cut =
        projectToTensor(state.space, tensor, state.loops).getCutAxes();
    return getBytes(value) / axes.countParts(cut);
  };
  int64_t resultBytes = 0;
  for (auto [result, tensor] :
       llvm::zip(state.op->getResults(), state.space.results))
    resultBytes += countLocalBytes(result, tensor);
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    SmallVector<unsigned> partial = getPartialOperands(state.reads, axis);
    if (partial.empty() || contains(batchAxes, axis))
      continue;
    int64_t bytes = 0;
    bool isOnlyReader = true;
    for (unsigned i : partial) {
      Value operand = state.op->getOperand(i);
      bytes += countLocalBytes(operand, state.space.operands[i]);
      isOnlyReader &= llvm::all_of(operand.getUsers(), [&](Operation *user) {
        return user == state.op;
      });
    }
    if (isOnlyReader && !contains(state.cut, axis) && !isMatmul(state.op) &&
        state.op.isLinearIn(partial) && resultBytes <= bytes)
      continue;
    for (Sharding &read : state.reads)
      read.sums &= ~only(axis);
  }
}

void ShardingPropagation::setResults(OpState &state) {
  AxisSet passes = 0;
  for (const Sharding &read : state.reads)
    passes |= read.sums;
  bool isFromInputs = !isa<ParamOp>(*state.op) &&
                      llvm::all_of(state.op->getOperands(), [&](Value operand) {
                        return fromInputs.contains(operand);
                      });
  for (auto [result, tensor] :
       llvm::zip(state.op->getResults(), state.space.results)) {
    Sharding sharding = projectToTensor(state.space, tensor, state.loops);
    sharding.sums = passes;
    for (auto [i, cuts] : llvm::enumerate(state.loops))
      if (!isResize && !runsOver(tensor, i))
        for (Cut cut : cuts)
          (state.space.loops[i].kind == LoopKind::Max ? sharding.maxima
                                                      : sharding.sums) |=
              only(cut.axis);
    table.values[result] = std::move(sharding);
    if (isFromInputs)
      fromInputs.insert(result);
  }
  table.ops[state.op] = {std::move(state.loops), std::move(state.reads)};
}

/// The gradient of a value is sent cut as the value is, even if it is the same
/// for all rows.
void ShardingPropagation::readLikeForward(OpState &state, CopyOp copy) {
  if (!copy.getGradientOf()) {
    copyOf[copy.getId()] = copy;
    return;
  }
  const Sharding &forward = of(copyOf.lookup(*copy.getGradientOf()));
  Sharding rows = forward.onlyCuts(batchAxes);
  Sharding &read = state.reads[0];
  AxisSet cut = forward.getCutAxes();
  if (rows.getCutAxes() && !canHave(copy.getX(), rows))
    cut &= ~batchAxes;
  read.dims = forward.onlyCuts(cut).dims;
  read.sums &= ~cut;
}

LogicalResult ShardingPropagation::propagate(IterationSpaceOpInterface op) {
  OpState state{op, op.getIterationSpace(), {}, {}};
  state.loops.resize(state.space.loops.size());
  for (Value operand : op->getOperands()) {
    state.reads.push_back(of(operand));
    state.reads.back().maxima = 0; // read complete, at once
    state.reads.back().sums &= ~completed.lookup(operand);
  }
  if (auto copy = dyn_cast<CopyOp>(*op))
    readLikeForward(state, copy);
  else
    completeInputSums(state, /*countsOnly=*/true);
  if (auto param = dyn_cast<ParamOp>(*op)) {
    auto known = params.find(param.getParamNameAttr());
    if (known != params.end())
      state.loops.assign(known->second.dims.begin(), known->second.dims.end());
    setResults(state);
    return success();
  }
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    if (failed(chooseLoop(state, axis)))
      return failure();
  if (failed(readAlongLoops(state)) || failed(admitBatchSums(state)))
    return failure();
  admitPartials(state);
  setResults(state);
  return success();
}

/// A gradient is read as its parameter is cut. Over batch axes each coordinate
/// adds its part; so it does over an axis of the model over which the gradient
/// is a partial sum. The sum of these parts is left to the end of the step.
LogicalResult ShardingPropagation::checkGradient(AddGradOp add) {
  const Sharding &param = of(add.getParam()), &gradient = of(add.getGradient());
  if (gradient.getCutAxes() & batchAxes)
    return refuse(add, "its operand has one value for each row of the batch, "
                       "where a sum over the batch is needed");
  Sharding read = param;
  read.sums = (gradient.sums & ~param.getCutAxes()) | batchAxes;
  table.ops[add] = {{}, {param, std::move(read)}};
  return success();
}

LogicalResult ShardingPropagation::checkLoss(func::ReturnOp ret) {
  SmallVector<Sharding> reads;
  for (Value loss : ret.getOperands()) {
    const Sharding &sharding = of(loss);
    if (isResize) {
      reads.push_back(sharding);
      continue;
    }
    if (sharding.getCutAxes() & batchAxes)
      return refuse(ret, "its operand has one value for each row of the batch, "
                         "where a sum over the batch is needed");
    Sharding &read = reads.emplace_back(sharding.dims.size());
    read.sums = batchAxes;
  }
  table.ops[ret] = {{}, std::move(reads)};
  return success();
}

LogicalResult ShardingPropagation::propagate(Block &block) {
  for (Operation &op : block) {
    if (isa<OnOp, PlaceOp>(op)) {
      Block &body = op.getRegion(0).front();
      if (failed(propagate(body)))
        return failure();
      Operation *yield = body.getTerminator();
      for (auto [i, result] : llvm::enumerate(op.getResults())) {
        table.values[result] = table.of(yield).reads[i];
        if (fromInputs.contains(yield->getOperand(i)))
          fromInputs.insert(result);
      }
    } else if (auto space = dyn_cast<IterationSpaceOpInterface>(op)) {
      if (failed(propagate(space)))
        return failure();
    } else if (auto add = dyn_cast<AddGradOp>(op)) {
      if (failed(checkGradient(add)))
        return failure();
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      if (failed(checkLoss(ret)))
        return failure();
    } else if (isa<YieldOp>(op)) {
      SmallVector<Sharding> &reads = table.ops[&op].reads;
      reads.clear();
      // Between stages a value is complete over the axes of the model.
      for (Value value : op.getOperands()) {
        reads.push_back(of(value));
        reads.back().sums &= batchAxes;
        reads.back().maxima = 0;
      }
    } else {
      return refuse(&op, "it does not say over which loops it runs");
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Annotations and sweeps
//===----------------------------------------------------------------------===//

/// Returns how an input is cut: its rows over the batch axes, and as its author
/// wrote.
static FailureOr<Sharding> getInputSharding(const ShardingAxes &axes,
                                            BlockArgument input) {
  ArrayRef<int64_t> shape = getShape(input);
  Sharding sharding(shape.size());
  auto entry = cast<func::FuncOp>(input.getOwner()->getParentOp());
  auto refuse = [&] { return emitError(input.getLoc()) << "this input "; };
  int64_t period = shape.empty() ? 1 : shape[0];
  for (unsigned axis = 0; axis < axes.size(); ++axis) {
    if (!axes[axis].splitsBatch)
      continue;
    if (shape.empty() ||
        !addCut(sharding.dims[0], {axis, period}, shape[0], axes))
      return refuse() << "has no rows that " << axes[axis].name.getValue()
                      << "=" << axes[axis].parts << " divides",
             failure();
    period /= axes[axis].parts;
  }
  auto attr =
      entry.getArgAttrOfType<ShardingAttr>(input.getArgNumber(), kShardAttr);
  if (!attr)
    return sharding;
  FailureOr<Sharding> annotation = readSharding(axes, attr, shape, refuse);
  if (failed(annotation))
    return failure();
  if (annotation->getPartial() ||
      (annotation->getCutAxes() & axes.getBatchAxes()))
    return refuse() << "is annotated with an axis that splits the batch, or as "
                       "a partial result; rows are cut without an annotation",
           failure();
  for (auto [dim, cuts] : llvm::enumerate(annotation->dims))
    for (Cut cut : cuts)
      if (!addCut(sharding.dims[dim], cut, shape[dim], axes))
        return refuse() << "is annotated so that "
                        << axes[cut.axis].name.getValue()
                        << " cuts the same rows as an axis that splits the "
                           "batch; put more outer parts before it",
               failure();
  return sharding;
}

/// Reads what the model's author wrote on parameters and inputs.
LogicalResult ShardingPropagation::readAnnotations() {
  for (auto param : entry.getOps<ParamOp>()) {
    ShardingAttr attr = param.getShardAttr();
    if (!attr)
      continue;
    FailureOr<Sharding> sharding = readSharding(
        axes, attr, getShape(param), [&] { return param.emitOpError(); });
    if (failed(sharding))
      return failure();
    if (sharding->getPartial())
      return param.emitOpError("is annotated as a partial result; a parameter "
                               "is cut or the same on all ranks");
    if (sharding->getCutAxes() & batchAxes)
      return param.emitOpError("is annotated with an axis that splits the "
                               "batch; name an axis that no input is cut over");
    if (!sharding->getCutAxes())
      continue;
    annotated.insert(param.getParamNameAttr());
    params[param.getParamNameAttr()] = std::move(*sharding);
  }
  for (BlockArgument argument : entry.getArguments()) {
    FailureOr<Sharding> sharding = getInputSharding(axes, argument);
    if (failed(sharding))
      return failure();
    inputs.push_back(std::move(*sharding));
  }
  return success();
}

LogicalResult ShardingPropagation::sweep() {
  table.values.clear();
  table.ops.clear();
  fromInputs.clear();
  computable.clear();
  composites.clear();
  for (auto [argument, sharding] : llvm::zip(entry.getArguments(), inputs)) {
    fromInputs.insert(argument);
    table.values[argument] = sharding;
  }
  return propagate(entry.getBody().front());
}

/// Where all readers of a value read a part of it over an axis over which it is
/// whole, its op computes that part alone, from the next sweep on. Where one
/// reader reads a partial sum over an axis of the model complete, all do: it is
/// completed once.
void ShardingPropagation::collectDemands() {
  DenseMap<Value, SmallVector<const Sharding *>> readsOf;
  entry.walk([&](Operation *op) {
    auto found = table.ops.find(op);
    if (found == table.ops.end())
      return;
    for (auto [operand, read] :
         llvm::zip(op->getOperands(), found->second.reads))
      readsOf[operand].push_back(&read);
  });
  entry.walk([&](IterationSpaceOpInterface op) {
    if (isa<ParamOp>(*op) || op->getNumResults() != 1)
      return;
    Value value = op->getResult(0);
    auto found = readsOf.find(value);
    if (found == readsOf.end())
      return;
    const Sharding &sharding = of(value), &first = *found->second.front();
    AxisSet complete = 0;
    for (const Sharding *read : found->second)
      complete |= sharding.sums & ~read->sums & ~batchAxes;
    if (AxisSet &known = completed[value]; complete & ~known) {
      known |= complete;
      changed = true;
    }
    AxisSet wanted = first.getCutAxes() & ~batchAxes & ~sharding.getAxes();
    for (const Sharding *read : found->second)
      if (read->onlyCuts(wanted) != first.onlyCuts(wanted))
        return;
    if (!wanted || demands.contains(value))
      return;
    demands[value] = first.onlyCuts(wanted);
    changed = true;
  });
}

/// Some ops may add parts of a parameter's gradient over an axis, and others
/// the whole: these then add shares.
void ShardingPropagation::shareGradients() {
  DenseMap<StringAttr, AxisSet> sums;
  auto nameOf = [](AddGradOp add) {
    return add.getParam().getDefiningOp<ParamOp>().getParamNameAttr();
  };
  entry.walk([&](AddGradOp add) {
    sums[nameOf(add)] |= table.ops[add].reads[1].sums;
  });
  entry.walk(
      [&](AddGradOp add) { table.ops[add].reads[1].sums = sums[nameOf(add)]; });
}

LogicalResult ShardingPropagation::checkAxesAreUsed() {
  AxisSet used = 0;
  for (auto &[value, sharding] : table.values)
    used |= sharding.getCutAxes();
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    if (!contains(used, axis))
      return entry.emitError("the mesh's axis ")
             << axes[axis].name.getValue() << "=" << axes[axis].parts
             << " cuts nothing: all of its ranks would compute the same; "
                "annotate a parameter (shard) or an input (pp.shard) with it, "
                "or leave it out of --mesh";
  return success();
}

LogicalResult ShardingPropagation::run() {
  if (failed(readAnnotations()))
    return failure();
  if (axes.empty())
    return success();
  for (int i = 0; i < kMostSweeps; ++i) {
    changed = false;
    if (failed(sweep()))
      return failure();
    if (isResize)
      return success();
    collectDemands();
    if (!changed)
      break;
  }
  shareGradients();
  return checkAxesAreUsed();
}
