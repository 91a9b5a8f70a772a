//===- BindingChecker.cpp - Checks where operands are bound ---------------===//

#include "BindingChecker.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

LogicalResult BindingChecker::checkAddress(RunOp run, unsigned number,
                                           const TaskOperand &operand) {
  const BufferIndex &buffers = table.index.operandBuffers;
  Attribute binding = (*run.getAddresses())[number];
  FailureOr<AddressAttr> address =
      buffers.getAddress(run, table.index.step.getTask(run), operand);
  if (failed(address))
    return failure();
  if (binding != *address)
    return run.emitOpError("binds operand ")
           << number << ", " << operand.role << ", to " << binding
           << ", but it is at " << *address;
  BufferAttr buffer = address->getBuffer();
  std::optional<int64_t> bytes = buffers.getBytes(buffer);
  int64_t end = address->getOffset() + getBytes(operand.type);
  if (!bytes)
    return run.emitOpError("binds operand ")
           << number << ", " << operand.role << ", to " << buffer
           << ", which the module does not declare";
  if (end > *bytes)
    return run.emitOpError("binds operand ")
           << number << ", " << operand.role << ", up to byte " << end << " of "
           << buffer << ", which has " << *bytes;
  return success();
}

LogicalResult BindingChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  if (!run.getAddresses())
    return run.emitOpError("has no addresses for @")
           << task.getSymName() << "; run --pp-bind-operands before";
  unsigned number = 0;
  for (const TaskOperand &operand : table.index.step.getOperands(task))
    // Values are in slots.
    if (!isValue(operand.role.getKind()) &&
        failed(checkAddress(run, number++, operand)))
      return failure();
  return success();
}
