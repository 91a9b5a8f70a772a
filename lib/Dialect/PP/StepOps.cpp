//===- StepOps.cpp - A step as a graph of values --------------------------===//

#include "ppopt/Dialect/PP/PP.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the numbers below `count` whose roles are those of values.
static SmallVector<unsigned>
findValues(unsigned count, llvm::function_ref<RoleAttr(unsigned)> getRole) {
  SmallVector<unsigned> numbers;
  for (unsigned i = 0; i < count; ++i)
    if (RoleAttr role = getRole(i); role && isValue(role.getKind()))
      numbers.push_back(i);
  return numbers;
}

SmallVector<unsigned> TaskOp::getValueArguments() {
  return findValues(getNumArguments(),
                    [&](unsigned i) { return getArgRole(i); });
}

SmallVector<unsigned> TaskOp::getValueResults() {
  return findValues(getNumResults(),
                    [&](unsigned i) { return getResultRole(i); });
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto task = symbols.lookupNearestSymbolFrom<TaskOp>(*this, getTaskAttr());
  if (!task)
    return emitOpError("calls ") << getTaskAttr() << ", which is not a task";
  auto expect = [&](StringRef what, ArrayRef<Type> types,
                    ArrayRef<unsigned> numbers,
                    TypeRange found) -> LogicalResult {
    SmallVector<Type> expected;
    for (unsigned number : numbers)
      expected.push_back(types[number]);
    if (TypeRange(expected) == found)
      return success();
    InFlightDiagnostic diag = emitOpError("has ");
    diag << found.size() << " " << what;
    if (!found.empty())
      diag << ", " << found << ",";
    diag << " and " << getTaskAttr() << " " << expected.size();
    if (!expected.empty())
      diag << ", " << expected;
    return diag;
  };
  return success(
      succeeded(expect("operands", task.getArgumentTypes(),
                       task.getValueArguments(), getOperandTypes())) &&
      succeeded(expect("results", task.getResultTypes(), task.getValueResults(),
                       getResultTypes())));
}

LogicalResult CopyBucketOp::verify() {
  if (getFrom() == getTo())
    return emitOpError("goes from place ") << getFrom() << " to itself";
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
  return success();
}
