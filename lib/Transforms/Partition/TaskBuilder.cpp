//===- TaskBuilder.cpp - Builds a task whose signature grows --------------===//

#include "ppopt/Transforms/Partition/TaskBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/IndexSources.h"

#include <limits>
#include <set>
#include <tuple>

using namespace mlir;
using namespace mlir::pp;

TaskBuilder::TaskBuilder(OpBuilder &builder, StringRef name, TaskKind kind,
                         int64_t stage, int64_t place, Location loc, Type loss)
    : task(TaskOp::create(builder, loc, name, kind, stage, place,
                          builder.getFunctionType({}, {}))),
      inner(builder.getContext()), loss(loss) {
  task.getBody().emplaceBlock();
  inner.setInsertionPointToEnd(&task.getBody().front());
}

Value TaskBuilder::addArgument(RoleAttr role, Type type, Location loc,
                               ShardingAttr sharding) {
  argRoles.push_back(role);
  argShardings.push_back(sharding);
  return task.getBody().addArgument(type, loc);
}

Value TaskBuilder::getArgument(RoleAttr role, Type type, Location loc,
                               ShardingAttr sharding) {
  for (auto [i, known] : llvm::enumerate(argRoles))
    if (known == role)
      return task.getBody().getArgument(i);
  return addArgument(role, type, loc, sharding);
}

void TaskBuilder::addResult(RoleAttr role, Value value, ShardingAttr sharding) {
  resultRoles.push_back(role);
  resultShardings.push_back(sharding);
  results.push_back(value);
}

void TaskBuilder::accumulate(RoleAttr role, Value value,
                             ShardingAttr sharding) {
  auto type = cast<RankedTensorType>(value.getType());
  RoleKind kind = role.getKind();
  Type element = kind == RoleKind::Metric || kind == RoleKind::MetricCount
                     ? inner.getF64Type()
                     : getStatisticsType(type.getElementType());
  if (element != type.getElementType())
    value = CastOp::create(inner, value.getLoc(), type.clone(element), value);
  auto known = llvm::find(resultRoles, role);
  if (known != resultRoles.end()) {
    Value &sum = results[known - resultRoles.begin()];
    sum = AccumulateOp::create(inner, value.getLoc(), sum, value);
    return;
  }
  Value sum = addArgument(role, value.getType(), value.getLoc(), sharding);
  addResult(role, AccumulateOp::create(inner, value.getLoc(), sum, value),
            sharding);
}

void TaskBuilder::clone(Operation *op,
                        llvm::function_ref<Value(Value)> resolve) {
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, mapping.lookup(resolve(operand)));
  inner.clone(*op, mapping);
  ++ops;
}

/// Computes a status for each value that marked ops index by. If a status is
/// not 0 the loss becomes NaN, so that all ranks skip the step. A task that
/// generates has no loss; its status is read instead.
void TaskBuilder::checkIds() {
  MLIRContext *context = inner.getContext();
  auto i64 = RankedTensorType::get({}, inner.getI64Type());
  std::set<std::tuple<const void *, int64_t, std::optional<int64_t>>> checked;
  auto check = [&](Operation *op, Value ids, IndexRange range) {
    if (!checked
             .insert({ids.getAsOpaquePointer(), range.end, range.ignoreIndex})
             .second)
      return;
    Location loc = op->getLoc();
    auto role =
        RoleAttr::get(context, RoleKind::Check,
                      (task.getSymName() + ".c" + Twine(checks.size())).str());
    checks.push_back(
        {argRoles.size(),
         IdRangeAttr::get(context, inner.getDenseI64ArrayAttr({}),
                          inner.getDenseI64ArrayAttr({}), range.end,
                          range.ignoreIndex, describeSource(op))});
    Value status = addArgument(role, i64, loc);
    IntegerAttr ignored = range.ignoreIndex
                              ? inner.getI64IntegerAttr(*range.ignoreIndex)
                              : IntegerAttr();
    Value noted =
        CheckIdsOp::create(inner, loc, status, ids, range.end, ignored);
    addResult(role, noted);
    if (!loss)
      return;
    auto number = [&](double value) -> Value {
      return ConstantOp::create(inner, loc, cast<RankedTensorType>(loss),
                                value);
    };
    Value zero = ConstantOp::create(inner, loc, i64, 0.0);
    Value isBad =
        CompareOp::create(inner, loc, ComparePredicate::Ne, noted, zero);
    accumulate(
        RoleAttr::get(context, RoleKind::Loss, "loss"),
        SelectOp::create(inner, loc, isBad,
                         number(std::numeric_limits<double>::quiet_NaN()),
                         number(0)));
  };
  SmallVector<Operation *> marked;
  for (Operation &op : task.getBody().front())
    if (op.hasAttr(kCheckIdsAttr))
      marked.push_back(&op);
  for (Operation *op : marked) {
    op->removeAttr(kCheckIdsAttr);
    for (OpOperand &operand : op->getOpOperands())
      if (auto range = cast<IterationSpaceOpInterface>(op).getIndexRange(
              operand.getOperandNumber()))
        check(op, operand.get(), *range);
  }
}

TaskOp TaskBuilder::finish() {
  checkIds();
  ReturnOp::create(inner, task.getLoc(), results);
  SmallVector<Type> types;
  for (Value result : results)
    types.push_back(result.getType());
  task.setFunctionType(
      inner.getFunctionType(task.getBody().getArgumentTypes(), types));
  auto dictionaries = [&](ArrayRef<RoleAttr> roles,
                          ArrayRef<ShardingAttr> shardings) {
    SmallVector<Attribute> attrs;
    for (auto [role, sharding] : llvm::zip(roles, shardings)) {
      NamedAttrList list;
      if (role)
        list.append(kRoleAttr, role);
      if (sharding)
        list.append(kShardingAttr, sharding);
      attrs.push_back(list.getDictionary(task.getContext()));
    }
    return inner.getArrayAttr(attrs);
  };
  task.setArgAttrsAttr(dictionaries(argRoles, argShardings));
  task.setResAttrsAttr(dictionaries(resultRoles, resultShardings));
  eraseShardings(task.getBody());
  for (auto [argument, range] : checks)
    task.setArgAttr(argument, kIdRangeAttr, range);
  return task;
}

ParamDeclOp pp::declareParam(OpBuilder &builder, ParamOp param, bool learns,
                             ArrayRef<int64_t> places) {
  auto decl = ParamDeclOp::create(
      builder, param.getLoc(), param.getParamNameAttr(),
      TypeAttr::get(param.getType()), param.getInitAttr(),
      param.getFrozenAttr(), param.getStateAttr(), param.getNoDecayAttr(),
      param.getLrScaleAttr(), param.getDecayScaleAttr(),
      learns ? builder.getUnitAttr() : UnitAttr(),
      builder.getDenseI64ArrayAttr(places));
  if (Attribute aliases = param->getAttr(kAliasesAttr))
    decl->setAttr(kAliasesAttr, aliases);
  return decl;
}
