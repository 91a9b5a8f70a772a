//===- TaskBuilder.cpp - Builds a task whose signature grows --------------===//

#include "ppopt/Transforms/TaskBuilder.h"

#include "ppopt/Dialect/PP/Shapes.h"

using namespace mlir;
using namespace mlir::pp;

TaskBuilder::TaskBuilder(OpBuilder &builder, StringRef name, TaskKind kind,
                         int64_t stage, int64_t place, Location loc)
    : task(TaskOp::create(builder, loc, name, kind, stage, place,
                          builder.getFunctionType({}, {}))),
      inner(builder.getContext()) {
  task.getBody().emplaceBlock();
  inner.setInsertionPointToEnd(&task.getBody().front());
}

Value TaskBuilder::addArgument(RoleAttr role, Type type, Location loc) {
  argRoles.push_back(role);
  return task.getBody().addArgument(type, loc);
}

Value TaskBuilder::getArgument(RoleAttr role, Type type, Location loc) {
  for (auto [i, known] : llvm::enumerate(argRoles))
    if (known == role)
      return task.getBody().getArgument(i);
  return addArgument(role, type, loc);
}

void TaskBuilder::addResult(RoleAttr role, Value value) {
  resultRoles.push_back(role);
  results.push_back(value);
}

void TaskBuilder::accumulate(RoleAttr role, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = getStatisticsType(type.getElementType());
  if (element != type.getElementType())
    value = CastOp::create(inner, value.getLoc(), type.clone(element), value);
  auto known = llvm::find(resultRoles, role);
  if (known != resultRoles.end()) {
    Value &sum = results[known - resultRoles.begin()];
    sum = AccumulateOp::create(inner, value.getLoc(), sum, value);
    return;
  }
  Value sum = addArgument(role, value.getType(), value.getLoc());
  addResult(role, AccumulateOp::create(inner, value.getLoc(), sum, value));
}

void TaskBuilder::clone(Operation *op,
                        llvm::function_ref<Value(Value)> resolve) {
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, mapping.lookup(resolve(operand)));
  inner.clone(*op, mapping);
  ++ops;
}

TaskOp TaskBuilder::finish() {
  ReturnOp::create(inner, task.getLoc(), results);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  task.setFunctionType(
      inner.getFunctionType(task.getBody().getArgumentTypes(), types));
  auto dictionaries = [&](ArrayRef<RoleAttr> roles) {
    SmallVector<Attribute> attrs;
    for (RoleAttr role : roles)
      attrs.push_back(
          inner.getDictionaryAttr(inner.getNamedAttr("pp.role", role)));
    return inner.getArrayAttr(attrs);
  };
  task.setArgAttrsAttr(dictionaries(argRoles));
  task.setResAttrsAttr(dictionaries(resultRoles));
  return task;
}
