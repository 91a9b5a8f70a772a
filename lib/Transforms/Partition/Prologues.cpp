//===- Prologues.cpp - The tasks that sum over the batch ------------------===//

#include "StageTasks.h"

#include "ppopt/Analysis/ShardingTable.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the text that a message gives for a batch in which the count is
/// zero.
static StringAttr describeCount(BatchSumOp sum) {
  Builder builder(sum.getContext());
  CountOp count = findCount(sum.getPartial());
  if (!count)
    return builder.getStringAttr("targets");
  return builder.getStringAttr("targets, ignore_index " +
                               Twine(count.getIgnoreIndex()));
}

/// Computes everything that the sums depend on, whichever stage it belongs to.
static void buildPrologue(const TaskSources &sources, int64_t place,
                          unsigned level, OpBuilder &builder) {
  SmallVector<BatchSum> sums;
  for (const BatchSum &sum : sources.sums.getAll())
    if (sum.place == place && sum.level == level)
      sums.push_back(sum);
  if (sums.empty())
    return;
  std::string name = ("p" + Twine(place) + "_P").str();
  if (level > 0)
    name += std::to_string(level);
  TaskBuilder task(builder, name, TaskKind::Prologue, TaskOp::kNoStage, place,
                   sources.parts.entry->getLoc());
  TaskScope everything{throughCopies, [](Value) { return true; }};
  TaskCloner cloner(task, everything, sources.shared);
  for (BatchSum &sum : sums) {
    Value partial = sum.op.getPartial();
    task.accumulate(sources.shared.getRole(sum.op), cloner.get(partial),
                    getShardingAttr(partial));
  }
  TaskOp made = task.finish();
  sources.calls.push_back({made, nullptr, {}, {}});
  // The schedule's check of counts needs to know which sums count targets. The
  // task's checks of ids come after them.
  for (auto [i, sum] : llvm::enumerate(sums))
    if (sum.isCount)
      made.setArgAttr(*made.getTiedArgument(i), kCountAttr,
                      describeCount(sum.op));
}

/// A sum that depends on other sums is in a prologue after theirs. Prologues
/// are built level by level because collectives start in the order of the
/// tasks.
void pp::buildPrologues(const TaskSources &sources, OpBuilder &builder) {
  llvm::SetVector<int64_t> places;
  for (StageParts &stage : sources.parts.stages)
    places.insert(stage.place);
  unsigned levels = 0;
  for (const BatchSum &sum : sources.sums.getAll())
    levels = std::max(levels, sum.level + 1);
  for (unsigned level = 0; level < levels; ++level)
    for (int64_t place : places)
      buildPrologue(sources, place, level, builder);
}
