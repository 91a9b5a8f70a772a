//===- ShardingPropagation.cpp - How each value is cut --------------------===//

#include "ppopt/Transforms/Sharding/ShardingPropagation.h"
#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

#include "ppopt/Analysis/AxisParts.h"
#include "ppopt/Transforms/Sharding/Reshards.h"

using namespace mlir;
using namespace mlir::pp;

/// Sweeps after which further demands are left unmet: a value is then computed
/// whole and sliced.
static constexpr int kMostSweeps = 16;

//===----------------------------------------------------------------------===//
// Loops, operands and results of an op
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

LogicalResult ShardingPropagation::chooseLoop(OpState &state, unsigned axis) {
  bool isApart = contains(getApart(), axis);
  FailureOr<std::optional<LoopCut>> chosen =
      isApart ? chooseBatchLoop(state, axis) : chooseCheapest(state, axis);
  if (failed(chosen))
    return failure();
  if (!*chosen)
    return success();
  const LoopCut &cut = **chosen;
  if (isApart && failed(checkBatchKind(state, axis, cut)))
    return failure();
  (void)addCut(state.loops[cut.loop], {axis, cut.period},
               state.space.loops[cut.loop].extent, axes);
  state.cut |= onlyAxis(axis);
  return success();
}

/// Reads operands as the cuts of the loops want them.
LogicalResult ShardingPropagation::readAlongLoops(OpState &state) {
  for (OpOperand &operand : state.op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    Sharding &read = state.reads[i];
    Sharding wanted =
        projectToTensor(state.space, state.space.operands[i], state.loops);
    Sharding rows = wanted.onlyCuts(batchAxes);
    if (training.isRead(operand))
      rows = rows.onlyCuts(~evaluationAxes);
    if (rows.getCutAxes() && !(read.getCutAxes() & batchAxes) &&
        !canHave(operand.get(), rows) && (rows.getCutAxes() & getApart())) {
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

void ShardingPropagation::setResults(OpState &state) {
  AxisSet passes = 0;
  for (const Sharding &read : state.reads)
    passes |= read.sums;
  // What prologues sum is the same in training and evaluation.
  bool isFromInputs =
      !isa<ParamOp, ProposedOp, ByModeOp, EnterMicrobatchOp>(*state.op) &&
      llvm::all_of(state.op->getOperands(),
                   [&](Value operand) { return fromInputs.contains(operand); });
  for (auto [result, tensor] :
       llvm::zip(state.op->getResults(), state.space.results)) {
    Sharding sharding = projectToTensor(state.space, tensor, state.loops);
    sharding.sums = passes;
    for (auto [i, cuts] : llvm::enumerate(state.loops))
      if (!isResize && !runsOver(tensor, i))
        for (Cut cut : cuts)
          (state.space.loops[i].kind == LoopKind::Max ? sharding.maxima
                                                      : sharding.sums) |=
              onlyAxis(cut.axis);
    crossMicrobatches(state.op, axes, sharding);
    table.values[result] = std::move(sharding);
    if (isFromInputs)
      fromInputs.insert(result);
  }
  if (isFromInputs &&
      llvm::any_of(llvm::seq(state.op->getNumOperands()),
                   [&](unsigned i) { return readsComplete(state, i); }))
    fromSums.insert_range(state.op->getResults());
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
  AxisSet cut = forward.getCutAxes() & getAxesOf(copy);
  rows = rows.onlyCuts(cut);
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
    state.reads.back().dims = of(operand).onlyCuts(getAxesOf(op)).dims;
    state.reads.back().maxima = 0; // read complete, at once
    state.reads.back().sums &= getAxesOf(op);
    // A copy sends a sum over the batch as it is.
    if (isa<CopyOp>(*op))
      continue;
    state.reads.back().sums &= ~completed.lookup(operand);
    readScattered(operand, state.reads.back());
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
  if (isa<ProposedOp>(*op)) { // other memory of the state
    state.loops.assign(state.reads[0].dims.begin(), state.reads[0].dims.end());
    setResults(state);
    return success();
  }
  if (isa<EnterMicrobatchOp, LeaveMicrobatchOp>(*op) &&
      failed(cutMicrobatches(state)))
    return failure();
  for (unsigned axis = 0; axis < axes.size(); ++axis)
    if (contains(getAxesOf(op) & ~state.cut, axis) &&
        failed(chooseLoop(state, axis)))
      return failure();
  if (failed(readAlongLoops(state)) || failed(admitBatchSums(state)))
    return failure();
  admitMetSums(state);
  admitPartials(state);
  setResults(state);
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// A gradient is read as its parameter is cut. Over batch axes each coordinate
/// adds its part; so it does over an axis of the model over which the gradient
/// is a partial sum. The sum of these parts is left to the end of the step.
LogicalResult ShardingPropagation::checkGradient(AddGradOp add) {
  const Sharding &param = of(add.getParam()), &gradient = of(add.getGradient());
  if (gradient.getCutAxes() & getApart())
    return refuse(add, "its operand has one value for each row of the batch, "
                       "where a sum over the batch is needed");
  Sharding read = param;
  read.sums = (gradient.sums & ~param.getCutAxes()) | batchAxes;
  table.ops[add] = {{}, {param, std::move(read)}};
  return success();
}

/// Returns the name of an output or of a proposal, as the attribute says, that
/// a value is; null if it is none.
static StringAttr findResult(Value value, StringRef attribute) {
  if (attribute == kProposalAttr && !value.hasOneUse())
    return nullptr; // the return reads it so
  for (OpOperand &use : value.getUses())
    if (auto ret = dyn_cast<func::ReturnOp>(use.getOwner()))
      if (auto name = ret->getParentOfType<func::FuncOp>()
                          .getResultAttrOfType<StringAttr>(
                              use.getOperandNumber(), attribute))
        return name;
  return nullptr;
}

/// An output is read by its rows, complete over the axes of the model.
FailureOr<Sharding> ShardingPropagation::readOutput(Value value,
                                                    StringAttr name) {
  FailureOr<Sharding> rows = cutRows(axes, getShape(value), [&] {
    return emitError(value.getLoc()) << "output " << name << " ";
  });
  if (failed(rows) || canHave(value, *rows))
    return rows;
  return emitError(value.getLoc())
             << "output " << name
             << " can't be computed by rows: each of its rows must follow from "
                "one row of the inputs",
         failure();
}

/// A proposal is complete over all axes, and cut as its state.
FailureOr<Sharding> ShardingPropagation::readProposal(Value value,
                                                      StringAttr name) {
  const Sharding &sharding = of(value);
  AxisSet split = getApart() & ~evaluationAxes;
  bool isPart = (sharding.sums & split) && !fromInputs.contains(value);
  isRefused |= isPart || (sharding.getCutAxes() & split);
  if (isRefused)
    return emitError(value.getLoc())
               << "the proposal of state " << name
               << " needs the whole batch, which is computed in parts: a step "
                  "commits one value; it compiles with --microbatches 1; for "
                  "what is to be of the rows of one microbatch, write "
                  "pp.per_microbatch { ... } around it and the pp.propose",
           failure();
  auto known = params.find(name);
  return known == params.end() ? Sharding(sharding.dims.size()) : known->second;
}

/// Returns how a value must be read if it becomes an output or a proposal,
/// whose name `nameOf` returns for the attribute; nothing for another value.
FailureOr<std::optional<Sharding>> ShardingPropagation::readNamed(
    Value value, llvm::function_ref<StringAttr(StringRef)> nameOf) {
  auto read = [](FailureOr<Sharding> sharding) {
    return failed(sharding) ? FailureOr<std::optional<Sharding>>(failure())
                            : std::optional(std::move(*sharding));
  };
  if (isResize)
    return std::optional<Sharding>();
  if (StringAttr name = nameOf(kOutputAttr))
    return read(readOutput(value, name));
  if (StringAttr name = nameOf(kProposalAttr))
    return read(readProposal(value, name));
  return std::optional<Sharding>();
}

/// The loss and the metrics are sums over the batch.
LogicalResult ShardingPropagation::checkResults(func::ReturnOp ret) {
  SmallVector<Sharding> reads;
  for (auto [number, loss] : llvm::enumerate(ret.getOperands())) {
    const Sharding &sharding = of(loss);
    if (isResize) {
      reads.push_back(sharding);
      continue;
    }
    FailureOr<std::optional<Sharding>> named =
        readNamed(loss, [&, i = number](StringRef attribute) {
          return entry.getResultAttrOfType<StringAttr>(i, attribute);
        });
    if (failed(named))
      return failure();
    if (*named) {
      reads.push_back(std::move(**named));
      continue;
    }
    if (sharding.getCutAxes() & batchAxes)
      return refuse(ret, "its operand has one value for each row of the batch, "
                         "where a sum over the batch is needed");
    Sharding &read = reads.emplace_back(sharding.dims.size());
    read.sums = batchAxes;
    if (training.isRead(ret->getOpOperand(number)))
      read.sums &= ~evaluationAxes;
  }
  table.ops[ret] = {{}, std::move(reads)};
  return success();
}

/// Returns the copy that sends a stage's result as a gradient, or null.
static CopyOp findGradientCopy(Value result) {
  for (Operation *user : result.getUsers())
    if (auto copy = dyn_cast<CopyOp>(user); copy && copy.getGradientOf())
      return copy;
  return nullptr;
}

/// Replaces the cuts over all axes but those of `apart` by those of another
/// sharding.
static void cutLike(Sharding &sharding, const Sharding &other, AxisSet apart) {
  sharding.dims = sharding.onlyCuts(apart).dims;
  sharding.sums &= ~(other.getCutAxes() & ~apart);
  for (auto [to, from] : llvm::zip(sharding.dims, other.onlyCuts(~apart).dims))
    mergeCuts(to, from);
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
        if (fromSums.contains(yield->getOperand(i)))
          fromSums.insert(result);
      }
    } else if (auto space = dyn_cast<IterationSpaceOpInterface>(op)) {
      if (failed(propagate(space)))
        return failure();
    } else if (auto add = dyn_cast<AddGradOp>(op)) {
      if (failed(checkGradient(add)))
        return failure();
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      if (failed(checkResults(ret)))
        return failure();
    } else if (isa<YieldOp>(op)) {
      table.ops[&op].reads.clear();
      // Between stages a value is complete over the axes of the model, and a
      // gradient is cut as its value: the stage that makes it reshards it.
      for (auto [i, value] : llvm::enumerate(op.getOperands())) {
        Value result = op.getParentOp()->getResult(i);
        FailureOr<std::optional<Sharding>> named =
            readNamed(value, [&](StringRef attribute) {
              return findResult(result, attribute);
            });
        if (failed(named))
          return failure();
        if (*named) {
          table.ops[&op].reads.push_back(std::move(**named));
          continue;
        }
        Sharding read = of(value);
        read.sums &= batchAxes;
        read.maxima = 0;
        if (CopyOp copy = findGradientCopy(result))
          cutLike(read, of(copyOf.lookup(*copy.getGradientOf())), getApart());
        auto wanted = wantedYields.find(result);
        if (wanted != wantedYields.end() && canHave(value, wanted->second)) {
          read = withCutsOfModel(wanted->second, value);
        }
        table.ops[&op].reads.push_back(std::move(read));
      }
    } else {
      return refuse(&op, "it does not say over which loops it runs");
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Sweeps
//===----------------------------------------------------------------------===//

LogicalResult ShardingPropagation::sweep() {
  table.values.clear();
  table.ops.clear();
  fromInputs.clear();
  fromSums.clear();
  computable.clear();
  adopted.clear();
  composites.clear();
  rowNumbers.clear();
  isRefused = false;
  for (auto [argument, sharding] : llvm::zip(entry.getArguments(), inputs)) {
    fromInputs.insert(argument);
    table.values[argument] = sharding;
  }
  return propagate(entry.getBody().front());
}

/// Sweeps again as long as a sweep fails for want of a result that its region
/// could have yielded cut, and once more if rows may meet. Emits the errors of
/// the last sweep.
LogicalResult ShardingPropagation::sweepUntilYielded() {
  MLIRContext *context = entry.getContext();
  while (true) {
    missedYields.clear();
    SmallVector<Diagnostic> errors;
    LogicalResult result = failure();
    {
      ScopedDiagnosticHandler hold(context, [&](Diagnostic &diag) {
        errors.push_back(std::move(diag));
        return success();
      });
      result = sweep();
    }
    bool isChanged = false;
    if (failed(result))
      for (auto &[value, wanted] : missedYields)
        isChanged |= wantedYields.try_emplace(value, wanted).second;
    if (isChanged || (failed(result) && letRowsMeet()))
      continue;
    for (Diagnostic &error : errors)
      context->getDiagEngine().emit(std::move(error));
    return result;
  }
}

LogicalResult ShardingPropagation::run() {
  if (failed(readAnnotations()))
    return failure();
  if (axes.empty())
    return success();
  for (unsigned axis = 0; !isResize && axis < axes.size(); ++axis)
    if (axes[axis].isLocal)
      evaluationAxes |= onlyAxis(axis);
  for (int i = 0; i < kMostSweeps; ++i) {
    changed = false;
    if (failed(sweepUntilYielded()))
      return failure();
    if (isResize)
      return success();
    collectDemands();
    if (!changed)
      break;
  }
  shareGradients();
  if (!isTrial && failed(checkAxesAreUsed()))
    return failure();
  // A rank is given whole rows, of which readers take their parts.
  for (BlockArgument argument : entry.getArguments())
    if (auto found = table.values.find(argument); found != table.values.end())
      found->second = found->second.onlyCuts(batchAxes);
  return success();
}
