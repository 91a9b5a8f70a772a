//===- StepChecker.cpp - Checks a step against its tasks ------------------===//

#include "StepChecker.h"

using namespace mlir;
using namespace mlir::pp;

StepChecker::StepChecker(ModuleOp module) : module(module) {
  for (auto task : module.getOps<TaskOp>())
    tasks[task.getSymName()] = task;
  for (auto transfer : module.getOps<TransferOp>())
    transfers[transfer.getSymName()] = transfer;
}

int64_t StepChecker::getPlace(Value value) const {
  Operation *op = value.getDefiningOp();
  if (auto copy = dyn_cast<CopyOp>(op))
    return copy.getTo();
  if (auto copy = dyn_cast<CopyBucketOp>(op))
    return copy.getTo();
  return tasks.lookup(cast<CallOp>(op).getTask()).getPlace();
}

void StepChecker::note(CallOp call, TaskOp task) {
  for (auto [number, result] :
       llvm::zip(task.getValueResults(), call.getResults()))
    saved[result] = task.getResultRole(number);
}

/// Returns whether a call makes the value as the saved value of that name.
bool StepChecker::isSavedAs(Value value, StringRef name) const {
  RoleAttr role = saved.lookup(value);
  return role && role.getName() == name;
}

bool StepChecker::isBroughtBy(Value value, TransferOp transfer) const {
  if (auto bucket = value.getDefiningOp<CopyBucketOp>())
    return transfer.getStep() && bucket.getBucket() == transfer.getValue() &&
           bucket.getFrom() == transfer.getFrom() &&
           bucket.getTo() == transfer.getTo();
  auto copy = value.getDefiningOp<CopyOp>();
  return copy && !transfer.getStep() && copy.getFrom() == transfer.getFrom() &&
         copy.getTo() == transfer.getTo() &&
         isSavedAs(copy.getX(), transfer.getValue());
}

LogicalResult StepChecker::checkOperand(CallOp call, TaskOp task,
                                        unsigned argument, Value operand) {
  RoleAttr role = task.getArgRole(argument);
  TransferOp transfer = transfers.lookup(role.getName());
  bool isRight = role.getKind() == RoleKind::Saved
                     ? isSavedAs(operand, role.getName())
                     : transfer && isBroughtBy(operand, transfer);
  if (!isRight)
    return call.emitOpError("gives ")
           << call.getTaskAttr() << " another value than " << role;
  if (getPlace(operand) == task.getPlace())
    return success();
  return call.emitOpError("gives ")
         << call.getTaskAttr() << ", on place " << task.getPlace()
         << ", a value of place " << getPlace(operand);
}

LogicalResult StepChecker::check(CallOp call, ArrayRef<TaskKind> kinds) {
  TaskOp task = tasks.lookup(call.getTask());
  if (!llvm::is_contained(kinds, task.getKind()))
    return call.emitOpError("calls ")
           << call.getTaskAttr() << ", whose kind belongs elsewhere";
  if (!called.insert(task).second)
    return call.emitOpError("calls ") << call.getTaskAttr() << " again";
  for (auto [argument, operand] :
       llvm::zip(task.getValueArguments(), call.getValues()))
    if (failed(checkOperand(call, task, argument, operand)))
      return failure();
  note(call, task);
  return success();
}

LogicalResult StepChecker::checkRegion(Region &region,
                                       ArrayRef<TaskKind> kinds) {
  called.clear();
  saved.clear();
  for (auto call : region.getOps<CallOp>())
    if (failed(check(call, kinds)))
      return failure();
  for (auto task : module.getOps<TaskOp>())
    if (llvm::is_contained(kinds, task.getKind()) && !called.contains(task))
      return task.emitOpError("is not called by the step");
  return success();
}

LogicalResult StepChecker::check(StepOp step) {
  using Kind = TaskKind;
  auto checkAll = [&](Region &region, ArrayRef<Kind> kinds) {
    return succeeded(checkRegion(region, kinds));
  };
  return success(checkAll(step.getPrologue(), {Kind::Prologue}) &&
                 checkAll(step.getBegin(), {}) &&
                 checkAll(step.getMicrobatch(),
                          {Kind::Forward, Kind::Backward, Kind::BackwardInput,
                           Kind::BackwardWeight}) &&
                 checkAll(step.getEvaluation(), {Kind::Forward, Kind::Loss}) &&
                 checkAll(step.getEnd(), {Kind::Collect, Kind::Norm,
                                          Kind::Decide, Kind::Update}));
}
