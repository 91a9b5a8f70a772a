//===- AxisNarrowing.cpp - A model on one iteration of an axis ------------===//

#include "AxisNarrowing.h"

#include "ppopt/Dialect/PP/RandomKey.h"

using namespace mlir;
using namespace mlir::pp;

/// Clones the op on new operands, for one iteration where it is cut. Returns
/// null if the clone can't know the position of its iteration.
FailureOr<Operation *> AxisNarrowing::build(IterationSpaceOpInterface op,
                                            const std::optional<CutOp> &cut,
                                            ArrayRef<Value> operands) {
  Operation *clone = nullptr;
  Localization localization(op);
  if (cut) {
    FailureOr<Operation *> part =
        axis.clonePart(builder, *cut, operands, /*count=*/1);
    if (failed(part))
      return failure();
    clone = *part;
    localization = axis.localize(*cut, builder.getStringAttr(nameAxis()),
                                 indexOf(KeyElement::Microbatch));
  } else {
    clone = builder.clone(*op);
    clone->setOperands(operands);
  }
  if (locate(cast<IterationSpaceOpInterface>(clone), localization))
    return clone;
  clone->erase();
  return nullptr;
}

//===----------------------------------------------------------------------===//
// One iteration of a whole value
//===----------------------------------------------------------------------===//

/// Computes one iteration of a whole value again, if the value depends only on
/// leaves and parallel loops; else returns null.
FailureOr<Value> AxisNarrowing::compute(Value whole, unsigned dim) {
  std::optional<CutOp> cut = axis.findComputation(whole, dim);
  if (!cut)
    return Value();
  SmallVector<Value> operands;
  for (auto [operand, tensor] :
       llvm::zip(cut->op->getOperands(), cut->space.operands)) {
    FailureOr<AxisDim> needed = cut->findDim(tensor);
    if (failed(needed))
      return Value();
    FailureOr<Value> part = lookup(operand);
    if (*needed)
      part = demand(operand, **needed);
    if (failed(part) || !*part)
      return part;
    operands.push_back(*part);
  }
  FailureOr<Operation *> made = build(cut->op, cut, operands);
  if (failed(made))
    return failure();
  return *made ? (*made)->getResult(0) : Value();
}

/// Returns the iteration of a whole value; null if it can't be had.
FailureOr<Value> AxisNarrowing::demand(Value whole, unsigned dim) {
  if (Value known = demanded.lookup({whole, dim}))
    return known;
  FailureOr<Value> made = compute(whole, dim);
  if (failed(made))
    return failure();
  if (!*made)
    made = read(whole, dim);
  return demanded[{whole, dim}] = *made;
}

//===----------------------------------------------------------------------===//
// Propagation
//===----------------------------------------------------------------------===//

/// Returns the loop of the op that is the axis, if there is one.
FailureOr<std::optional<CutOp>>
AxisNarrowing::findCut(IterationSpaceOpInterface op) {
  IterationSpace space = op.getIterationSpace();
  std::optional<unsigned> cut;
  for (OpOperand &operand : op->getOpOperands()) {
    AxisDim dim = dimOf(operand.get());
    if (!dim)
      continue;
    unsigned i = operand.getOperandNumber();
    std::optional<unsigned> loop =
        axis.findLoop(space, space.operands[i][*dim]);
    if (!loop)
      return refuse(op) << "it mixes " << nameIterations() << ", which are "
                        << "dimension " << *dim << " of operand " << i,
             failure();
    if (cut && cut != loop)
      return refuse(op) << "it mixes " << nameIterations() << ", which lie "
                        << "along different dimensions of its operands",
             failure();
    cut = loop;
  }
  if (!cut)
    return std::optional<CutOp>();
  CutOp found{op, std::move(space), *cut};
  auto isSplit = [&](const TensorLoops &result) {
    FailureOr<AxisDim> dim = found.findDim(result);
    return succeeded(dim) && dim->has_value();
  };
  if (found.getKind() != LoopKind::Parallel ||
      !llvm::all_of(found.space.results, isSplit))
    return refuse(op) << "it mixes " << nameIterations(), failure();
  return std::optional(found);
}

LogicalResult AxisNarrowing::collectOperands(IterationSpaceOpInterface op,
                                             const std::optional<CutOp> &cut,
                                             SmallVectorImpl<Value> &operands) {
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    unsigned i = operand.getOperandNumber();
    FailureOr<AxisDim> needed = AxisDim();
    if (cut && !dimOf(value))
      needed = cut->findDim(cut->space.operands[i]);
    FailureOr<Value> narrow = Value();
    if (succeeded(needed))
      narrow = *needed ? demand(value, **needed) : lookup(value);
    if (failed(narrow))
      return failure();
    if (!*narrow) {
      InFlightDiagnostic diag = refuse(op);
      diag << "operand " << i << " has a dimension for the " << nameIterations()
           << " that does not come from the tokens";
      diag.attachNote(value.getLoc()) << "it is made here";
      return diag;
    }
    operands.push_back(*narrow);
  }
  return success();
}

LogicalResult AxisNarrowing::narrow(Operation &op) {
  bool isOnAxis = llvm::any_of(op.getOperands(),
                               [&](Value x) { return dimOf(x).has_value(); });
  if (isOnAxis) {
    FailureOr<bool> isDone = narrowSpecially(op);
    if (failed(isDone) || *isDone)
      return isDone;
  }
  auto interface = dyn_cast<IterationSpaceOpInterface>(op);
  if (!interface)
    return refuse(&op) << "it does not say over which loops it runs";
  FailureOr<std::optional<CutOp>> cut = findCut(interface);
  SmallVector<Value> operands;
  if (failed(cut) || failed(collectOperands(interface, *cut, operands)))
    return failure();
  FailureOr<Operation *> made = build(interface, *cut, operands);
  if (failed(made))
    return failure();
  if (!*made)
    return refuse(&op) << "its result depends on which of the "
                       << nameIterations() << " it is";
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    set(result, (*made)->getResult(i),
        *cut ? *(*cut)->findDim((*cut)->space.results[i]) : AxisDim());
  return success();
}
