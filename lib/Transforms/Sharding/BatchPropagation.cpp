//===- BatchPropagation.cpp - Propagates one sharded axis -----------------===//

#include "ppopt/Transforms/Sharding/BatchPropagation.h"

#include "ppopt/Transforms/Model/EntryParts.h"

#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "llvm/ADT/STLExtras.h"

#include <set>
#include <tuple>
#include <vector>

using namespace mlir;
using namespace mlir::pp;

FailureOr<int64_t> mlir::pp::getModelBatch(func::FuncOp entry) {
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
InFlightDiagnostic BatchPropagation::refuse(Operation *op,
                                            const Twine &why) const {
  return op->emitOpError("can't be split over the batch: ")
         << why
         << (isResize ? "; leave --batch out and change the model's shapes"
                      : "; it compiles with --microbatches 1 and a --mesh "
                        "without dp, which split nothing");
}

SmallVector<unsigned>
BatchPropagation::operandsIn(Operation *op, BatchState::Kind kind) const {
  SmallVector<unsigned> found;
  for (OpOperand &operand : op->getOpOperands())
    if (stateOf(operand.get()).kind == kind)
      found.push_back(operand.getOperandNumber());
  return found;
}

//===----------------------------------------------------------------------===//
// Converting a value to the state that its user needs
//===----------------------------------------------------------------------===//

/// Returns whether no op that reads the value, or a copy of it, has been
/// propagated yet.
bool BatchPropagation::canBecomeSplit(Value value) const {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (auto copy = dyn_cast<CopyOp>(user))
      return canBecomeSplit(copy);
    if (isa<YieldOp>(user))
      user = user->getParentOp();
    return user->getNumResults() == 0 || !states.contains(user->getResult(0));
  });
}

void BatchPropagation::becomeSplit(Value value, BatchState state) {
  states[value] = state;
  for (Operation *user : value.getUsers())
    if (auto copy = dyn_cast<CopyOp>(user))
      becomeSplit(copy, state);
}

/// Makes a region yield a result split. Copies of the result to other places
/// are then split as well.
bool BatchPropagation::splitInRegion(OpResult result, BatchState state) {
  if (!isComplete(result) || !canBecomeSplit(result))
    return false;
  Operation *yield = result.getOwner()->getRegion(0).front().getTerminator();
  OpOperand &yielded = yield->getOpOperand(result.getResultNumber());
  Value split = demandSplit(yielded.get(), state);
  if (!split)
    return false;
  yielded.set(split);
  becomeSplit(result, state);
  return true;
}

/// Returns a whole value, or a sum of inputs, split for a user. Computes it
/// again on the tile if it depends only on leaves, complete sums and parallel
/// loops. Returns null if that is impossible.
Value BatchPropagation::demandSplit(Value value, BatchState state) {
  if (stateOf(value) == state)
    return value;
  if (Value whole = undivided.lookup(value))
    return demandSplit(whole, state);
  if (auto sum = value.getDefiningOp<BatchSumOp>())
    return demandSplit(sum.getPartial(), state);
  Value source = value;
  while (auto copy = source.getDefiningOp<CopyOp>())
    source = copy.getX();
  if (Operation *region = source.getDefiningOp();
      isa_and_nonnull<OnOp, PlaceOp>(region))
    return splitInRegion(cast<OpResult>(source), state) ? value : Value();
  Value &known = demanded[{value, {state.dim, state.unit}}];
  if (known)
    return known;
  std::optional<IterationComputation> found;
  if (isComplete(value) && (isUncut() || !isTable(value.getDefiningOp())))
    found = findIterationComputation(value, state, batch);
  if (!found)
    return nullptr;
  Operation *op = found->op;
  SmallVector<Value> operands;
  for (auto [operand, loops] :
       llvm::zip(op->getOperands(), found->space.operands)) {
    std::optional<BatchState> needed =
        getStateFor(found->space, loops, found->cut);
    if (!needed)
      return nullptr;
    Value split = needed->kind == BatchState::Split
                      ? demandSplit(operand, *needed)
                      : demandComplete(operand);
    if (!split)
      return nullptr;
    operands.push_back(split);
  }
  OpBuilder builder(op);
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  Value result = clone->getResult(0);
  states[result] = state;
  if (fromInputs.contains(value))
    fromInputs.insert(result);
  // The map may have grown under the reference.
  return demanded[{value, {state.dim, state.unit}}] = result;
}

Value BatchPropagation::divideByTiles(OpBuilder &builder, Value value) {
  auto type = RankedTensorType::get({}, getElementTypeOrSelf(value.getType()));
  Value share = ConstantOp::create(builder, value.getLoc(), type, 1.0 / tiles);
  Value part = MulOp::create(builder, value.getLoc(), value, share);
  states[part] = BatchState::partial();
  undivided[part] = value;
  if (fromInputs.contains(value))
    fromInputs.insert(part);
  return part;
}

/// Returns whether the value is a count of targets, wherever it was made.
static bool isCount(Value value) {
  return throughCopies(value).getDefiningOp<CountOp>() != nullptr;
}

Value BatchPropagation::completeSum(OpBuilder &builder, Value partial) {
  return BatchSumOp::create(builder, partial.getLoc(), partial,
                            isCount(partial));
}

/// Makes each count of targets known before the first forward, whatever the
/// model does with it and wherever it is: a batch in which a count is zero is
/// skipped.
void BatchPropagation::completeCounts() {
  std::set<std::tuple<const void *, int64_t, const void *>> complete;
  auto isNew = [&](CountOp count) {
    return complete
        .insert({throughCopies(count.getTargets()).getAsOpaquePointer(),
                 count.getIgnoreIndex(), count.getType().getAsOpaquePointer()})
        .second;
  };
  entry.walk([&](BatchSumOp sum) {
    if (sum.getCount())
      (void)isNew(throughCopies(sum.getPartial()).getDefiningOp<CountOp>());
  });
  entry.walk([&](CountOp count) {
    if (!fromInputs.contains(count) || !isNew(count))
      return;
    OpBuilder builder(count->getContext());
    builder.setInsertionPointAfter(count);
    BatchSumOp::create(builder, count.getLoc(), count, /*count=*/true);
  });
}

/// Returns a whole value as it is and a sum of inputs completed; null for
/// others.
Value BatchPropagation::demandComplete(Value value) {
  if (stateOf(value).kind != BatchState::Partial)
    return value;
  if (Value whole = undivided.lookup(value))
    return whole;
  if (!fromInputs.contains(value))
    return nullptr;
  Value &complete = demanded[{value, {-1, -1}}];
  if (!complete) {
    // Insert after the value: other stages may need the sum too.
    OpBuilder builder(entry.getContext());
    builder.setInsertionPointAfterValue(value);
    complete = completeSum(builder, value);
    fromInputs.insert(complete);
  }
  return complete;
}

/// Completes the partial operands that follow from inputs alone, or only the
/// counts among them.
void BatchPropagation::completeInputSums(Operation *op, bool countsOnly) {
  for (OpOperand &operand : op->getOpOperands())
    if (!countsOnly || isCount(operand.get()))
      if (Value complete = demandComplete(operand.get()))
        operand.set(complete);
}

/// Returns whether the op reads a whole value that does not follow from inputs.
/// A sum of inputs must be complete where it meets such a value; otherwise only
/// linear ops could read the result.
bool BatchPropagation::readsParameters(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return stateOf(operand).kind == BatchState::Whole &&
           !fromInputs.contains(operand);
  });
}

/// Makes an operand partial, so that each tile has its part of the sum.
LogicalResult BatchPropagation::makePartial(OpOperand &operand) {
  if (tiles == 1)
    return success();
  BatchState state = stateOf(operand.get());
  if (state.kind == BatchState::Split)
    return refuse(operand.getOwner(),
                  "its operand has one value for each row of the batch, where "
                  "a sum over the batch is needed");
  OpBuilder builder(operand.getOwner());
  if (state.kind == BatchState::Whole)
    operand.set(divideByTiles(builder, operand.get()));
  return success();
}

/// A gradient that is whole on each tile counts once: each tile adds a share.
LogicalResult BatchPropagation::shareAmongTiles(AddGradOp add) {
  if (tiles > 1 && stateOf(add.getGradient()).kind == BatchState::Whole) {
    add.setTiles(tiles);
    return success();
  }
  return makePartial(add.getGradientMutable());
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

LogicalResult BatchPropagation::cutWholeOperands(IterationSpaceOpInterface op,
                                                 const IterationSpace &space,
                                                 BatchLoop cut) {
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned i = operand.getOperandNumber();
    if (i >= space.operands.size() ||
        stateOf(operand.get()).kind == BatchState::Split)
      continue;
    std::optional<BatchState> needed =
        getStateFor(space, space.operands[i], cut);
    if (needed && needed->kind == BatchState::Whole)
      continue;
    Value split = needed ? demandSplit(operand.get(), *needed) : Value();
    if (split) {
      operand.set(split);
      continue;
    }
    if (isUncut())
      continue;
    const char *why =
        isTable(operand.get().getDefiningOp())
            ? " is a constant with elements of its own for each row of the "
              "batch; make it an input of the model (pp.input), or compute it "
              "(pp.iota)"
        : stateOf(operand.get()).kind == BatchState::Partial
            ? " has rows of the batch's size that are made of a sum over the "
              "batch that depends on activations"
            : " has a dimension of the batch's size that does not come from "
              "the model's inputs";
    InFlightDiagnostic diag = refuse(op, "operand " + Twine(i) + why);
    diag.attachNote(operand.get().getLoc()) << "it is made here";
    return diag;
  }
  return success();
}

/// The gradient of a value that has rows of the batch is sent with the rows of
/// its tile, even if it is the same for all rows.
void BatchPropagation::splitLikeValue(CopyOp copy) {
  if (!copy.getGradientOf()) {
    copyOf[copy.getId()] = copy;
    return;
  }
  BatchState state = stateOf(copyOf.lookup(*copy.getGradientOf()));
  if (state.kind == BatchState::Split)
    if (Value split = demandSplit(copy.getX(), state))
      copy.getXMutable().set(split);
}

/// Checks that an incomplete sum over the batch passes through linear ops only.
LogicalResult
BatchPropagation::admitPartialOperands(IterationSpaceOpInterface op,
                                       bool isCut) {
  if (readsParameters(op))
    completeInputSums(op);
  for (bool completed : {false, true}) {
    SmallVector<unsigned> partial = operandsIn(op, BatchState::Partial);
    if (partial.empty())
      return success();
    if (!isCut) {
      if (op.isLinearIn(partial))
        return success();
      auto all = llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
      if (op.isLinearIn(all)) {
        for (unsigned i : operandsIn(op, BatchState::Whole))
          if (failed(makePartial(op->getOpOperand(i))))
            return failure();
        return success();
      }
    }
    if (!completed)
      completeInputSums(op);
  }
  if (isUncut())
    return success();
  InFlightDiagnostic diag = refuse(
      op, "it is not linear in a sum over the batch that depends on "
          "activations, so that no microbatch could compute its part; move it "
          "before the sum, or compute it from inputs alone");
  for (unsigned i : operandsIn(op, BatchState::Partial))
    diag.attachNote(op->getOperand(i).getLoc())
        << "operand " << i << " is such a sum";
  return diag;
}

/// Returns the loop of the op along which its operands are cut, if any.
FailureOr<std::optional<BatchLoop>>
BatchPropagation::findCut(IterationSpaceOpInterface op,
                          const IterationSpace &space) const {
  std::optional<BatchLoop> cut;
  for (unsigned i : operandsIn(op, BatchState::Split)) {
    BatchState state = stateOf(op->getOperand(i));
    std::optional<BatchLoop> loop =
        getBatchLoop(space, space.operands[i], state, batch);
    bool isOther =
        loop && cut && (cut->loop != loop->loop || cut->unit != loop->unit);
    if (loop && !isOther) {
      cut = loop;
      continue;
    }
    if (isUncut())
      return std::optional<BatchLoop>();
    return refuse(op, isOther
                          ? Twine("the batch lies along different "
                                  "dimensions of its operands")
                          : "it mixes rows of the batch, which are "
                            "dimension " +
                                Twine(state.dim) + " of operand " + Twine(i));
  }
  return cut;
}

/// Returns the state of a result of an op whose loop `cut` is cut.
FailureOr<BatchState> BatchPropagation::getCutState(Operation *op,
                                                    const IterationSpace &space,
                                                    const TensorLoops &result,
                                                    BatchLoop cut) const {
  std::optional<BatchState> state = getStateFor(space, result, cut);
  LoopKind kind = space.loops[cut.loop].kind;
  if (isResize && state)
    return *state;
  if (kind == LoopKind::Parallel && state && state->kind == BatchState::Split)
    return *state;
  if (kind == LoopKind::Sum && state && state->kind == BatchState::Whole)
    return BatchState::partial();
  if (isUncut())
    return BatchState{};
  return refuse(op, kind == LoopKind::Max
                        ? "it mixes rows of the batch (a maximum over them)"
                        : "it mixes rows of the batch (each result needs all "
                          "of them)");
}

LogicalResult BatchPropagation::propagate(IterationSpaceOpInterface op) {
  if (auto copy = dyn_cast<CopyOp>(op.getOperation()))
    splitLikeValue(copy);
  else
    completeInputSums(op, /*countsOnly=*/true);
  IterationSpace space = getBatchSpace(op);
  FailureOr<std::optional<BatchLoop>> found = findCut(op, space);
  if (failed(found))
    return failure();
  std::optional<BatchLoop> cut = *found;
  if (cut && failed(cutWholeOperands(op, space, *cut)))
    return failure();
  if (failed(admitPartialOperands(op, cut.has_value())))
    return failure();

  bool isFromInputs =
      !isa<ParamOp>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
        return fromInputs.contains(operand);
      });
  bool isPartial = !operandsIn(op, BatchState::Partial).empty();
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    if (isFromInputs)
      fromInputs.insert(result);
    FailureOr<BatchState> state =
        isPartial ? BatchState::partial() : BatchState{};
    if (cut)
      state = getCutState(op, space, space.results[i], *cut);
    if (failed(state))
      return failure();
    states[result] = *state;
  }
  return success();
}

LogicalResult BatchPropagation::propagate(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (isa<OnOp, PlaceOp>(op)) {
      Block &body = op.getRegion(0).front();
      if (failed(propagate(body)))
        return failure();
      for (auto [result, value] :
           llvm::zip(op.getResults(), body.getTerminator()->getOperands())) {
        states[result] = stateOf(value);
        if (fromInputs.contains(value))
          fromInputs.insert(result);
      }
    } else if (auto space = dyn_cast<IterationSpaceOpInterface>(op)) {
      if (failed(propagate(space)))
        return failure();
    } else if (auto add = dyn_cast<AddGradOp>(op)) {
      if (failed(shareAmongTiles(add)))
        return failure();
    } else if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      for (OpOperand &loss : ret->getOpOperands())
        if (failed(makePartial(loss)))
          return failure();
    } else if (!isa<YieldOp>(op)) {
      return refuse(&op, "it does not say over which loops it runs");
    }
  }
  return success();
}

LogicalResult BatchPropagation::propagate() {
  for (BlockArgument argument : entry.getArguments()) {
    fromInputs.insert(argument);
    // With one row there is nothing to cut: everything is whole.
    if (batch != 1 || isResize)
      states[argument] = BatchState::split(0, 1);
  }
  if (failed(propagate(entry.getBody().front())))
    return failure();
  if (!isResize)
    completeCounts();
  return success();
}

//===----------------------------------------------------------------------===//
// Local shapes
//===----------------------------------------------------------------------===//

/// Returns the random key, an argument that the entry gets when the first op
/// needs it.
Value BatchPropagation::getKey() {
  if (key)
    return key;
  Builder builder(entry.getContext());
  auto role = RoleAttr::get(entry.getContext(), RoleKind::StepState, "key");
  (void)entry.insertArgument(
      entry.getNumArguments(), getKeyType(entry.getContext()),
      builder.getDictionaryAttr(builder.getNamedAttr("pp.role", role)),
      entry.getLoc());
  return key = entry.getArguments().back();
}

LogicalResult BatchPropagation::checkSizes(int64_t rows) {
  auto fits = [&](Value value) {
    SmallVector<int64_t> shape(getShape(value));
    BatchState state = stateOf(value);
    if (state.kind != BatchState::Split)
      return true;
    if (!llvm::MulOverflow(rows, state.unit, shape[state.dim]) &&
        !hasTooManyElements(shape))
      return true;
    emitError(value.getLoc())
        << "with a batch of " << rows << " rows this has more than "
        << kMostElements << " elements";
    return false;
  };
  if (!llvm::all_of(entry.getArguments(), fits))
    return failure();
  WalkResult result = entry.getBody().walk([&](Operation *op) {
    return WalkResult(success(llvm::all_of(op->getResults(), fits)));
  });
  return failure(result.wasInterrupted());
}

/// Returns how the axes cut an op's loops, while its shapes are global.
Localization BatchPropagation::describeCuts(IterationSpaceOpInterface op,
                                            ArrayRef<AxisCut> axes) const {
  Localization localization(op);
  IterationSpace space = getBatchSpace(op);
  auto describe = [&](ValueRange values, ArrayRef<TensorLoops> tensors) {
    for (auto [value, loops] : llvm::zip(values, tensors)) {
      BatchState state = stateOf(value);
      std::optional<BatchLoop> cut =
          state.kind == BatchState::Split
              ? getBatchLoop(space, loops, state, batch)
              : std::nullopt;
      if (!cut)
        continue;
      AxisCuts &cuts = localization.loops[cut->loop];
      cuts.assign(axes.begin(), axes.end());
      for (AxisCut &each : cuts)
        each.period *= cut->unit;
    }
  };
  describe(op->getOperands(), space.operands);
  describe(op->getResults(), space.results);
  return localization;
}

void BatchPropagation::applyLocalShapes(int64_t rows, ArrayRef<AxisCut> axes) {
  auto localType = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    BatchState state = stateOf(value);
    if (state.kind != BatchState::Split)
      return type;
    SmallVector<int64_t> shape(type.getShape());
    shape[state.dim] = rows * state.unit;
    return type.clone(shape);
  };
  std::vector<std::pair<IterationSpaceOpInterface, Localization>> localizations;
  if (!isResize)
    entry.walk([&](IterationSpaceOpInterface op) {
      localizations.push_back({op, describeCuts(op, axes)});
    });
  for (BlockArgument argument : entry.getArguments())
    argument.setType(localType(argument));
  entry.walk([&](Operation *op) {
    if (op == entry)
      return;
    for (Value result : op->getResults())
      result.setType(localType(result));
    if (auto constant = dyn_cast<ConstantOp>(op))
      if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
        constant.setValueAttr(splat.resizeSplat(constant.getType()));
  });
  for (auto &[op, localization] : localizations) {
    op.localize(localization);
    if (op.needsRandomKey())
      op->insertOperands(op->getNumOperands(), getKey());
  }
  entry.setFunctionType(FunctionType::get(entry.getContext(),
                                          entry.getBody().getArgumentTypes(),
                                          entry.getResultTypes()));
}
