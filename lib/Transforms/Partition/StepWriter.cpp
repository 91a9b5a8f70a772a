//===- StepWriter.cpp - Builds pp.step from the tasks of stages -----------===//

#include "StepWriter.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/StepOps.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Fills one region of a step.
class RegionWriter {
public:
  RegionWriter(EntryParts &parts, Region &region)
      : parts(parts), builder(region) {
    builder.setInsertionPointToEnd(&region.emplaceBlock());
  }

  void write(ArrayRef<const TaskCall *> calls);

private:
  void write(const TaskCall &call);
  void copyResults(const TaskCall &call);

  EntryParts &parts;
  OpBuilder builder;
  /// By the region that hands a value on, and the value; copies by themselves.
  DenseMap<std::pair<Block *, Value>, Value> values;
  DenseMap<Value, Value> copies;
  DenseSet<Value> read; ///< copies that some call takes
};

} // namespace

/// Copies what a call makes to the places that read it.
void RegionWriter::copyResults(const TaskCall &call) {
  for (CopyOp copy : parts.copies) {
    Value value = throughPlace(copy.getX());
    if (!read.contains(copy) || parts.getSender(copy) != call.maker ||
        !llvm::is_contained(call.makes, value))
      continue;
    copies[copy] = CopyOp::create(
        builder, copy.getLoc(), values.lookup({call.maker, value}),
        copy.getFrom(), copy.getTo(), copy.getId(), copy.getGradientOfAttr());
  }
}

void RegionWriter::write(const TaskCall &call) {
  SmallVector<Value> operands;
  for (Value value : call.takes)
    operands.push_back(value.getDefiningOp<CopyOp>()
                           ? copies.lookup(value)
                           : values.lookup({value.getParentBlock(), value}));
  SmallVector<Type> types;
  for (Value value : call.makes)
    types.push_back(value.getType());
  TaskOp task = call.task;
  auto made = CallOp::create(builder, task.getLoc(), types, task.getSymName(),
                             operands);
  for (auto [value, result] : llvm::zip(call.makes, made.getResults()))
    values[{call.maker, value}] = result;
  copyResults(call);
}

void RegionWriter::write(ArrayRef<const TaskCall *> calls) {
  for (const TaskCall *call : calls)
    for (Value value : call->takes)
      if (value.getDefiningOp<CopyOp>())
        read.insert(value);
  for (const TaskCall *call : calls)
    write(*call);
}

void pp::writeStep(StepOp step, EntryParts &parts, ArrayRef<TaskCall> calls) {
  auto write = [&](Region &region, ArrayRef<TaskKind> kinds) {
    SmallVector<const TaskCall *> some;
    for (const TaskCall &call : calls)
      if (TaskOp task = call.task; llvm::is_contained(kinds, task.getKind()))
        some.push_back(&call);
    if (!some.empty())
      RegionWriter(parts, region).write(some);
  };
  write(step.getPrologue(), {TaskKind::Prologue});
  write(step.getMicrobatch(),
        {TaskKind::Forward, TaskKind::Backward, TaskKind::BackwardInput,
         TaskKind::BackwardWeight});
  // The losses come after all forwards.
  SmallVector<const TaskCall *> forwards, losses;
  for (const TaskCall &call : calls) {
    TaskKind kind = TaskOp(call.task).getKind();
    if (kind ==
        (parts.hasEvaluations() ? TaskKind::Evaluation : TaskKind::Forward))
      forwards.push_back(&call);
    else if (kind == TaskKind::Loss)
      losses.push_back(&call);
  }
  forwards.append(losses);
  if (!forwards.empty())
    RegionWriter(parts, step.getEvaluation()).write(forwards);
}
