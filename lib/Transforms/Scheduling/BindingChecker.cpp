//===- BindingChecker.cpp - Checks where operands are bound ---------------===//

#include "BindingChecker.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

LogicalResult BindingChecker::checkAddress(RunOp run, unsigned number,
                                           const TaskOperand &operand) {
  const BufferIndex &buffers = table.index.operandBuffers;
  Attribute binding = (*run.getBindings())[number];
  FailureOr<AddressAttr> address =
      buffers.getAddress(run, table.index.uses.getTask(run), operand);
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
  TaskOp task = table.index.uses.getTask(run);
  if (!run.getBindings())
    return run.emitOpError("binds no operands of @")
           << task.getSymName() << "; run --pp-bind-operands before";
  for (auto [i, operand] :
       llvm::enumerate(table.index.uses.getOperands(task))) {
    if (!isValue(operand.role.getKind())) {
      if (failed(checkAddress(run, i, operand)))
        return failure();
      continue;
    }
    // SlotChecker checks which slot.
    if (Attribute binding = (*run.getBindings())[i]; !isa<SlotAttr>(binding))
      return run.emitOpError("binds operand ")
             << i << ", " << operand.role << ", to " << binding
             << ", which is not a slot";
  }
  return success();
}

LogicalResult BindingChecker::check(Operation *end, const SlotUse &use) {
  Attribute binding = getBinding(end, use);
  if (liesInSlot(use) ? isa<SlotAttr>(binding) : binding == makeBinding(use))
    return success();
  InFlightDiagnostic diag = end->emitOpError(use.isWrite ? "writes " : "reads ")
                            << binding;
  if (liesInSlot(use))
    diag << ", but '" << use.role.getName() << "' is in a slot";
  else
    diag << ", but the transfer is of " << use.buffer;
  return diag;
}
