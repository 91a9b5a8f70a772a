//===- StepOps.cpp - A step as a graph of values --------------------------===//

#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/TaskValues.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the numbers of the arguments or results, of `types`, without a role.
static SmallVector<unsigned> findValues(ArrayRef<Type> types, ArrayAttr attrs) {
  SmallVector<unsigned> numbers;
  // Each of many runs of a task is verified: each check must be cheap.
  auto role =
      attrs ? StringAttr::get(attrs.getContext(), kRoleAttr) : StringAttr();
  for (unsigned i = 0, e = types.size(); i < e; ++i)
    if (!attrs || !cast<DictionaryAttr>(attrs[i]).contains(role))
      numbers.push_back(i);
  return numbers;
}

SmallVector<unsigned> TaskOp::getValueArguments() {
  return findValues(getArgumentTypes(), getArgAttrsAttr());
}

SmallVector<unsigned> TaskOp::getValueResults() {
  return findValues(getResultTypes(), getResAttrsAttr());
}

/// Returns whether values of the step are those of a task, whose signature may
/// be of buffers.
static bool areSame(TypeRange values, ArrayRef<Type> task) {
  return llvm::equal(values, task, [](Type a, Type b) {
    if (a == b)
      return true;
    auto value = cast<ShapedType>(a), of = cast<ShapedType>(b);
    return value.getShape() == of.getShape() &&
           value.getElementType() == of.getElementType();
  });
}

LogicalResult pp::verifyValues(Operation *op, TaskOp task, TypeRange operands,
                               TypeRange results) {
  auto select = [](ArrayRef<Type> types, ArrayRef<unsigned> numbers) {
    return llvm::map_to_vector(numbers, [&](unsigned i) { return types[i]; });
  };
  SmallVector<Type> takes = select(task.getArgumentTypes(),
                                   task.getValueArguments()),
                    makes =
                        select(task.getResultTypes(), task.getValueResults());
  // Results are arguments of tasks on buffers: the last ones.
  if (makes.empty() && takes.size() >= results.size() &&
      task.getNumResults() == 0) {
    makes.assign(takes.end() - results.size(), takes.end());
    takes.resize(takes.size() - results.size());
  }
  auto expect = [&](StringRef what, TypeRange found,
                    ArrayRef<Type> expected) -> LogicalResult {
    if (areSame(found, expected))
      return success();
    InFlightDiagnostic diag = op->emitOpError("has ");
    diag << found.size() << " " << what;
    if (!found.empty())
      diag << ", " << found << ",";
    diag << " and @" << task.getSymName() << " " << expected.size();
    if (!expected.empty())
      diag << ", " << expected;
    return diag;
  };
  return success(succeeded(expect("operands", operands, takes)) &&
                 succeeded(expect("results", results, makes)));
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto task = symbols.lookupNearestSymbolFrom<TaskOp>(*this, getTaskAttr());
  if (!task)
    return emitOpError("calls ") << getTaskAttr() << ", which is not a task";
  return verifyValues(*this, task, getOperandTypes(), getResultTypes());
}

LogicalResult CopyBucketOp::verify() {
  if (getFrom() == getTo())
    return emitOpError("goes from place ") << getFrom() << " to itself";
  if (getSlot() && (!getGradients() || isa<StepOp>((*this)->getParentOp())))
    return emitOpError("has a slot, which only gradients of a schedule have");
  if (getGradients() && !getGradientOf())
    return emitOpError("brings gradients back, and does not say of which copy");
  if (!getGradients() && getGradientOf())
    return emitOpError("is of gradients, and has no result");
  return success();
}

LogicalResult CopyBucketOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<BucketOp>(*this, getBucketAttr()))
    return emitOpError("copies ")
           << getBucketAttr() << ", which is not a bucket";
  return success();
}

namespace {

/// The copies of a training step, or of an evaluation.
class CopyChecker {
public:
  /// Checks the copies of a region against those of the regions before it.
  LogicalResult add(Region &region) {
    for (Operation &op : region.getOps()) {
      LogicalResult result = success();
      if (auto copy = dyn_cast<CopyOp>(op))
        result = add(copy);
      else if (auto copy = dyn_cast<CopyBucketOp>(op))
        result = add(copy);
      else if (!isa<CallOp>(op))
        return op.emitOpError("is no part of a step");
      if (failed(result))
        return failure();
    }
    return success();
  }

private:
  template <typename OpT> LogicalResult add(OpT copy) {
    auto [known, isNew] = copies.try_emplace(copy.getId(), copy);
    if (!isNew)
      return refuse(copy, known->second, "has the id of another copy");
    if (!copy.getGradientOf())
      return success();
    auto of = dyn_cast_or_null<OpT>(copies.lookup(*copy.getGradientOf()));
    if (!of)
      return copy.emitOpError("is the gradient of copy ")
             << *copy.getGradientOf() << ", and there is none before it";
    if (of.getFrom() != copy.getTo() || of.getTo() != copy.getFrom())
      return refuse(copy, of,
                    "does not go in the opposite direction of its copy");
    return isOfSame(copy, of)
               ? success()
               : refuse(copy, of, "is of something else than its copy");
  }
  static bool isOfSame(CopyOp a, CopyOp b) {
    return a.getType() == b.getType();
  }
  static bool isOfSame(CopyBucketOp a, CopyBucketOp b) {
    return a.getBucketAttr() == b.getBucketAttr();
  }
  static LogicalResult refuse(Operation *copy, Operation *other,
                              StringRef why) {
    InFlightDiagnostic diag = copy->emitOpError(why);
    diag.attachNote(other->getLoc()) << "the other is here";
    return diag;
  }

  DenseMap<int64_t, Operation *> copies; ///< by id
};

} // namespace

LogicalResult StepOp::verifyRegions() {
  CopyChecker training, evaluation;
  for (Region *region :
       {&getPrologue(), &getBegin(), &getMicrobatch(), &getEnd()})
    if (failed(training.add(*region)))
      return failure();
  for (Region *region : {&getBegin(), &getEvaluation()})
    if (failed(evaluation.add(*region)))
      return failure();
  for (Operation &op : getAverage().getOps())
    if (!isa<CallOp>(op))
      return op.emitOpError("is no exchange with averages: a task is");
  return success();
}
