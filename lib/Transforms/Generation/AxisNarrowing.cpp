//===- AxisNarrowing.cpp - A model on one iteration of an axis ------------===//

#include "AxisNarrowing.h"

#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

RankedTensorType AxisNarrowing::getNarrowType(Value value,
                                              BatchState state) const {
  auto type = cast<RankedTensorType>(value.getType());
  if (state.kind != BatchState::Split)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[state.dim] = state.unit;
  return type.clone(shape);
}

/// Returns how the axis cuts the loops of an op: into single iterations.
Localization AxisNarrowing::describeCut(IterationSpaceOpInterface op,
                                        std::optional<BatchLoop> cut) const {
  Localization localization(op);
  if (cut && extent > 1)
    localization.loops[cut->loop].push_back(
        {builder.getStringAttr(nameAxis()), indexOf(KeyElement::Microbatch),
         extent, localization.space.loops[cut->loop].extent});
  return localization;
}

/// Clones the op on new operands and checks the clone against the iteration
/// space where it is cut. Returns null if the clone can't know the position of
/// its iteration.
Operation *AxisNarrowing::build(Operation &op, ArrayRef<Value> operands,
                                ArrayRef<BatchState> states,
                                std::optional<BatchLoop> cut) {
  Operation *clone = builder.clone(op);
  clone->setOperands(operands);
  for (auto [old, made, state] :
       llvm::zip(op.getResults(), clone->getResults(), states))
    made.setType(getNarrowType(old, state));
  if (auto constant = dyn_cast<ConstantOp>(clone))
    if (auto splat = dyn_cast<SplatElementsAttr>(constant.getValue()))
      constant.setValueAttr(splat.resizeSplat(constant.getType()));
  bool isPart =
      !cut || succeeded(verifyPart(cast<IterationSpaceOpInterface>(op), clone,
                                   *cut, /*rows=*/1));
  auto whole = cast<IterationSpaceOpInterface>(op);
  if (isPart &&
      locate(cast<IterationSpaceOpInterface>(clone), describeCut(whole, cut)))
    return clone;
  clone->erase();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// One iteration of a whole value
//===----------------------------------------------------------------------===//

/// Computes one iteration of a whole value again, if the value depends only on
/// leaves and parallel loops; else returns null.
Value AxisNarrowing::compute(Value whole, BatchState state) {
  std::optional<IterationComputation> found =
      findIterationComputation(whole, state, extent);
  if (!found || isTable(found->op))
    return nullptr;
  SmallVector<Value> operands;
  for (auto [operand, loops] :
       llvm::zip(found->op->getOperands(), found->space.operands)) {
    std::optional<BatchState> needed =
        getStateFor(found->space, loops, found->cut);
    if (!needed)
      return nullptr;
    operands.push_back(needed->kind == BatchState::Split
                           ? demand(operand, *needed)
                           : lookup(operand));
    if (!operands.back())
      return nullptr;
  }
  Operation *made = build(*found->op, operands, state, found->cut);
  return made ? made->getResult(0) : Value();
}

/// Returns the iteration of a whole value; null if it can't be had.
Value AxisNarrowing::demand(Value whole, BatchState state) {
  std::pair<Value, std::pair<int64_t, int64_t>> key{whole,
                                                    {state.dim, state.unit}};
  if (Value known = demanded.lookup(key))
    return known;
  Value made = compute(whole, state);
  if (!made)
    made = read(whole, state);
  return demanded[key] = made;
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

/// Returns the loop of the op that is the axis, if there is one.
FailureOr<std::optional<BatchLoop>>
AxisNarrowing::findCut(Operation &op, const IterationSpace &space) {
  std::optional<BatchLoop> cut;
  for (OpOperand &operand : op.getOpOperands()) {
    if (!isNarrowed(operand.get()))
      continue;
    unsigned i = operand.getOperandNumber();
    BatchState state = stateOf(operand.get());
    std::optional<BatchLoop> loop =
        getBatchLoop(space, space.operands[i], state, extent);
    if (!loop)
      return refuse(&op) << "it mixes " << nameIterations() << ", which are "
                         << "dimension " << state.dim << " of operand " << i,
             failure();
    if (cut && (cut->loop != loop->loop || cut->unit != loop->unit))
      return refuse(&op) << "it mixes " << nameIterations() << ", which lie "
                         << "along different dimensions of its operands",
             failure();
    cut = loop;
  }
  if (cut && space.loops[cut->loop].kind != LoopKind::Parallel)
    return refuse(&op) << "it mixes " << nameIterations(), failure();
  return cut;
}

LogicalResult AxisNarrowing::collectOperands(Operation &op,
                                             const IterationSpace &space,
                                             std::optional<BatchLoop> cut,
                                             SmallVectorImpl<Value> &operands) {
  for (OpOperand &operand : op.getOpOperands()) {
    Value value = operand.get();
    unsigned i = operand.getOperandNumber();
    std::optional<BatchState> needed =
        cut && !isNarrowed(value) ? getStateFor(space, space.operands[i], *cut)
                                  : BatchState();
    bool isRead = !needed || needed->kind == BatchState::Split;
    Value narrow = !isRead  ? lookup(value)
                   : needed ? demand(value, *needed)
                            : Value();
    if (!narrow) {
      InFlightDiagnostic diag = refuse(&op);
      diag << "operand " << i << " has a dimension for the " << nameIterations()
           << " that does not come from the tokens";
      diag.attachNote(value.getLoc()) << "it is made here";
      return diag;
    }
    operands.push_back(narrow);
  }
  return success();
}

LogicalResult AxisNarrowing::narrow(Operation &op) {
  bool isOnAxis =
      llvm::any_of(op.getOperands(), [&](Value x) { return isNarrowed(x); });
  if (isOnAxis) {
    FailureOr<bool> isDone = narrowSpecially(op);
    if (failed(isDone) || *isDone)
      return isDone;
  }
  auto interface = dyn_cast<IterationSpaceOpInterface>(op);
  if (!interface)
    return refuse(&op) << "it does not say over which loops it runs";
  IterationSpace space = getBatchSpace(interface);
  FailureOr<std::optional<BatchLoop>> cut = findCut(op, space);
  SmallVector<Value> operands;
  if (failed(cut) || failed(collectOperands(op, space, *cut, operands)))
    return failure();
  SmallVector<BatchState> results(op.getNumResults());
  for (auto [state, loops] : llvm::zip(results, space.results)) {
    if (!*cut)
      continue;
    std::optional<BatchState> found = getStateFor(space, loops, **cut);
    if (!found || found->kind != BatchState::Split)
      return refuse(&op) << "it mixes " << nameIterations();
    state = *found;
  }
  Operation *made = build(op, operands, results, *cut);
  if (!made)
    return refuse(&op) << "its result depends on which of the "
                       << nameIterations() << " it is";
  for (auto [old, narrow, state] :
       llvm::zip(op.getResults(), made->getResults(), results))
    set(old, narrow, state);
  return success();
}
