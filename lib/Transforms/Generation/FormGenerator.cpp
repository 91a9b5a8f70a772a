//===- FormGenerator.cpp - The task of a program that generates -----------===//
//
// Before: the entry that pp-make-generator leaves. After: declarations, one
// task with the entry's body, and an evaluation schedule that runs it.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Generation/Passes.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/IndexSources.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

namespace mlir::pp {
#define GEN_PASS_DEF_FORMGENERATOR
#include "ppopt/Transforms/Generation/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

constexpr int64_t kOnlyPlace = 0;

/// Describes the range of a whole input: [0, range).
IdRangeAttr describeRange(BlockArgument input, IntegerAttr range) {
  Builder builder(input.getContext());
  ArrayRef<int64_t> row = getShape(input).drop_front();
  SmallVector<int64_t> begin(row.size(), 0);
  return IdRangeAttr::get(
      input.getContext(), builder.getDenseI64ArrayAttr(begin),
      builder.getDenseI64ArrayAttr(row), range.getInt(), std::nullopt, "");
}

/// Marks ids that are neither tokens nor positions: the task checks them.
LogicalResult markIds(func::FuncOp entry) {
  return markComputedIds(entry, [&](Operation *, BlockArgument input,
                                    const ElementBox &, IndexRange range) {
    auto known =
        entry.getArgAttrOfType<IntegerAttr>(input.getArgNumber(), kRangeAttr);
    return known && known.getInt() <= range.end;
  });
}

void declare(func::FuncOp entry, OpBuilder &builder) {
  for (BlockArgument argument : entry.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto role = entry.getArgAttrOfType<RoleAttr>(i, kRoleAttr);
    if (role.getKind() == RoleKind::Input)
      InputDeclOp::create(
          builder, argument.getLoc(), builder.getStringAttr(role.getName()),
          TypeAttr::get(argument.getType()), builder.getI64IntegerAttr(0),
          builder.getArrayAttr({describeRange(
              argument, entry.getArgAttrOfType<IntegerAttr>(i, kRangeAttr))}));
  }
  for (auto param : entry.getOps<ParamOp>())
    declareParam(builder, param, /*learns=*/false, {kOnlyPlace});
}

TaskOp buildTask(func::FuncOp entry, OpBuilder &builder) {
  TaskBuilder task(builder, "generate", TaskKind::Forward, /*stage=*/0,
                   kOnlyPlace, entry.getLoc());
  for (BlockArgument argument : entry.getArguments())
    task.map(argument, task.addArgument(entry.getArgAttrOfType<RoleAttr>(
                                            argument.getArgNumber(), kRoleAttr),
                                        argument.getType(), argument.getLoc()));
  auto asItIs = [](Value value) { return value; };
  for (Operation &op : entry.getBody().front().without_terminator()) {
    auto param = dyn_cast<ParamOp>(op);
    if (!param) {
      task.clone(&op, asItIs);
    } else if (!param.use_empty()) {
      auto role = RoleAttr::get(builder.getContext(), RoleKind::Param,
                                param.getParamName());
      task.map(param, task.addArgument(role, param.getType(), param.getLoc()));
    }
  }
  Operation *ret = entry.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands()))
    task.addResult(entry.getResultAttrOfType<RoleAttr>(i, kRoleAttr),
                   task.lookup(value));
  return task.finish();
}

/// A program that generates is an evaluation of one task.
void buildStep(TaskOp task, OpBuilder &builder) {
  OpBuilder::InsertionGuard guard(builder);
  auto step = StepOp::create(builder, task.getLoc());
  builder.createBlock(&step.getEvaluation());
  CallOp::create(builder, task.getLoc(), TypeRange(), task.getSymName(),
                 ValueRange());
}

void buildSchedule(TaskOp task, OpBuilder &builder) {
  auto schedule = ScheduleOp::create(builder, task.getLoc(), kOnlyPlace,
                                     /*evaluation=*/true, /*average=*/false,
                                     ArrayRef<int64_t>{},
                                     /*slot_places=*/DenseI64ArrayAttr());
  builder.createBlock(&schedule.getBody());
  RunOp::create(builder, task.getLoc(), TypeRange(),
                FlatSymbolRefAttr::get(task.getSymNameAttr()),
                builder.getI64IntegerAttr(0), /*chunk=*/IntegerAttr(),
                /*values=*/ValueRange(), /*slots=*/DenseI64ArrayAttr());
}

struct FormGenerator : pp::impl::FormGeneratorBase<FormGenerator> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    for (unsigned i = 0, e = entry->getNumArguments(); i < e; ++i)
      if (!entry->getArgAttrOfType<RoleAttr>(i, kRoleAttr)) {
        entry->emitError(
            "is not the entry of a program that generates: argument ")
            << i << " has no " << kRoleAttr
            << "; run --pp-make-generator first";
        return signalPassFailure();
      }
    if (failed(markIds(*entry)))
      return signalPassFailure();
    OpBuilder builder(*entry);
    declare(*entry, builder);
    TaskOp task = buildTask(*entry, builder);
    buildStep(task, builder);
    buildSchedule(task, builder);
    entry->erase();
  }
};

} // namespace
