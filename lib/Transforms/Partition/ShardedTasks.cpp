//===- ShardedTasks.cpp - Tasks that work on shards of buckets ------------===//

#include "ShardedTasks.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::pp;

BucketMembers pp::findMembers(ModuleOp module, TaskOp task, RoleKind kind,
                              bool isOfResults,
                              llvm::function_ref<bool(BucketOp)> isSharded) {
  unsigned end = isOfResults ? task.getNumResults() : task.getNumArguments();
  auto getRole = [&](unsigned i) {
    return isOfResults ? task.getResultRole(i) : task.getArgRole(i);
  };
  if (llvm::none_of(llvm::seq(end),
                    [&](unsigned i) { return getRole(i).getKind() == kind; }))
    return {};
  llvm::StringMap<std::pair<BucketOp, int64_t>> bucketOf;
  for (auto bucket : module.getOps<BucketOp>())
    if (isSharded(bucket))
      for (auto [name, first] :
           llvm::zip(bucket.getParams().getAsRange<StringAttr>(),
                     bucket.getOffsets()))
        bucketOf[name.getValue()] = {bucket, first};
  BucketMembers members;
  for (unsigned i = 0; i < end; ++i) {
    RoleAttr role = getRole(i);
    auto found = bucketOf.find(role.getName());
    if (role.getKind() == kind && found != bucketOf.end())
      members[found->second.first].push_back({i, found->second.second});
  }
  return members;
}

Value pp::createPart(OpBuilder &builder, Location loc, Value flat,
                     int64_t first, RankedTensorType type) {
  auto range =
      RankedTensorType::get({type.getNumElements()}, type.getElementType());
  Value part = flat;
  if (flat.getType() != range)
    part = SliceOp::create(builder, loc, range, flat, ArrayRef<int64_t>{first});
  return type == range
             ? part
             : ReshapeOp::create(builder, loc, type, part).getResult();
}

Value pp::addArgument(TaskOp task, RoleAttr role, Type type, Location loc) {
  unsigned number = task.getNumArguments();
  Builder builder(task.getContext());
  (void)task.insertArgument(
      number, type,
      builder.getDictionaryAttr(builder.getNamedAttr(kRoleAttr, role)), loc);
  return task.getArgument(number);
}
