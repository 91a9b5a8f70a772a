//===- TaskValues.cpp - Values that a task takes and computes -------------===//

#include "TaskValues.h"

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/Entry.h"

using namespace mlir;
using namespace mlir::pp;

RoleAttr SharedValues::getRole(Value value) const {
  MLIRContext *context = value.getContext();
  func::FuncOp function = entry;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned i = argument.getArgNumber();
    if (auto known = function.getArgAttrOfType<RoleAttr>(i, kRoleAttr))
      return known;
    auto name = function.getArgAttrOfType<StringAttr>(i, kInputAttr);
    return RoleAttr::get(context, RoleKind::Input, name.getValue());
  }
  if (auto param = value.getDefiningOp<ParamOp>())
    return RoleAttr::get(context, RoleKind::Param, param.getParamName());
  if (auto proposed = value.getDefiningOp<ProposedOp>())
    return RoleAttr::get(
        context, RoleKind::Proposal,
        proposed.getTarget().getDefiningOp<ParamOp>().getParamName());
  if (auto sum = value.getDefiningOp<BatchSumOp>())
    return RoleAttr::get(context, RoleKind::Global, sums.getName(sum));
  return {};
}

/// Returns the scope of a task that computes everything in some blocks except
/// `taken`.
static TaskScope makeScope(SmallVector<Block *> blocks, ArrayRef<Value> taken) {
  DenseSet<Value> isTaken(taken.begin(), taken.end());
  return {throughPlace, [blocks = std::move(blocks),
                         isTaken = std::move(isTaken)](Value value) {
            return !isTaken.contains(value) &&
                   llvm::is_contained(blocks, value.getParentBlock());
          }};
}

TaskScope pp::getForwardScope(EntryParts &parts, StageParts &stage) {
  return makeScope({stage.getForwardBlock(), parts.getBlock()}, {});
}

TaskScope pp::getLossScope(EntryParts &parts, StageParts &stage,
                           ArrayRef<Value> saved) {
  return makeScope(
      {stage.getForwardBlock(), parts.getBlock(), stage.getEvaluationBlock()},
      saved);
}

TaskScope pp::getEvaluationScope(EntryParts &parts, StageParts &stage) {
  SmallVector<Block *> blocks{stage.getForwardBlock(), parts.getBlock()};
  if (stage.evaluation)
    blocks.push_back(stage.getEvaluationBlock());
  return makeScope(blocks, {});
}

TaskScope pp::getSavingScope(EntryParts &parts, StageParts &stage) {
  return makeScope({stage.getBackwardBlock(), parts.getBlock()}, {});
}

TaskScope pp::getBackwardScope(EntryParts &parts, StageParts &stage,
                               ArrayRef<Value> taken) {
  return makeScope(
      {stage.getForwardBlock(), parts.getBlock(), stage.getBackwardBlock()},
      taken);
}

void TaskNeeds::add(ArrayRef<Value> roots, const TaskScope &scope,
                    const SharedValues &shared) {
  SmallVector<Value> worklist(roots);
  while (!worklist.empty()) {
    Value value = scope.resolve(worklist.pop_back_val());
    if (shared.getRole(value))
      continue;
    if (scope.isTaken(value))
      taken.insert(value);
    else if (computed.insert(value).second)
      worklist.append(value.getDefiningOp()->operand_begin(),
                      value.getDefiningOp()->operand_end());
  }
}
