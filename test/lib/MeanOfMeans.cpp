//===- MeanOfMeans.cpp - Divides each microbatch by its own count ---------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Transforms/Model/Entry.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::pp {
#define GEN_PASS_DEF_MEANOFMEANS
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Makes a part of a sum in the tasks that read the complete one.
class PartBuilder {
public:
  PartBuilder(TaskOp reader, TaskOp maker)
      : reader(reader), maker(maker),
        builder(OpBuilder::atBlockBegin(&reader.getBody().front())) {}

  /// What `value` of the maker is in the reader.
  Value clone(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      mapping.map(value, getArgument(argument));
    } else {
      Operation *op = value.getDefiningOp();
      for (Value operand : op->getOperands())
        clone(operand);
      builder.clone(*op, mapping);
    }
    return mapping.lookup(value);
  }

  Value scale(Value part, double factor) {
    auto type = cast<RankedTensorType>(part.getType());
    Value constant = ConstantOp::create(builder, part.getLoc(), type, factor);
    return MulOp::create(builder, part.getLoc(), part, constant);
  }

private:
  /// The reader's argument of the same role; added if it has none.
  Value getArgument(BlockArgument argument) {
    RoleAttr role = maker.getArgRole(argument.getArgNumber());
    unsigned count = reader.getNumArguments();
    for (unsigned i = 0; i < count; ++i)
      if (reader.getArgRole(i) == role)
        return reader.getArgument(i);
    (void)reader.insertArgument(count, argument.getType(),
                                maker.getArgAttrDict(argument.getArgNumber()),
                                argument.getLoc());
    return reader.getArgument(count);
  }

  TaskOp reader, maker;
  OpBuilder builder;
  IRMapping mapping;
};

struct MeanOfMeans : pp::impl::MeanOfMeansBase<MeanOfMeans> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    findMakers();
    int64_t parts = plan->getBatchTiles();
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      if (task.getKind() != TaskKind::Prologue)
        isChanged |= readOwnPart(task, parts);
    if (failed(requireChange(isChanged && parts > 1, getOperation(),
                             "sum over several parts of a batch")))
      signalPassFailure();
  }

private:
  bool readOwnPart(TaskOp task, int64_t parts) {
    bool isChanged = false;
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      auto made = sums.find(task.getArgRole(i));
      if (made == sums.end())
        continue;
      auto [maker, added] = made->second;
      PartBuilder builder(task, maker);
      Value part = builder.clone(added);
      task.getArgument(i).replaceAllUsesWith(
          builder.scale(part, static_cast<double>(parts)));
      isChanged = true;
    }
    return isChanged;
  }

  /// Which task adds up each sum, and what it adds.
  void findMakers() {
    for (auto task : getOperation().getOps<TaskOp>()) {
      Operation *ret = task.getBody().front().getTerminator();
      for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
        if (task.getResultRole(i).getKind() == RoleKind::Global)
          if (auto sum = ret->getOperand(i).getDefiningOp<AccumulateOp>())
            sums[task.getResultRole(i)] = {task, sum.getValue()};
    }
  }

  DenseMap<Attribute, std::pair<TaskOp, Value>> sums;
};

} // namespace
