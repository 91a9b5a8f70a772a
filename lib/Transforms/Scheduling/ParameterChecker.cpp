//===- ParameterChecker.cpp - Checks gathers of parameters ----------------===//

#include "ParameterChecker.h"

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

ParameterChecker::ParameterChecker(CheckedTable table) : table(table) {
  for (auto &[symbol, bucket] : table.index.buckets)
    for (int64_t place : BucketOp(bucket).getUpdatePlaces())
      if (BucketOp(bucket).hasShardedStates() &&
          !BucketOp(bucket).hasShardedParams() && table.schedule.isOf(place))
        states[{place, symbol}].isWhole = table.schedule.isLocal();
}

ParameterChecker::State *ParameterChecker::find(int64_t place,
                                                Attribute bucket) {
  auto found = states.find({place, bucket});
  return found == states.end() ? nullptr : &found->second;
}

LogicalResult ParameterChecker::checkIsWhole(Operation *reader, StringRef verb,
                                             Attribute bucket,
                                             const State &state) {
  if (state.isWhole)
    return success();
  InFlightDiagnostic diag = reader->emitOpError(verb)
                            << " parameters of " << bucket;
  if (state.gather) {
    diag << " while they are being gathered";
    diag.attachNote(state.gather->getLoc()) << "this start is not waited for";
  } else if (state.updated) {
    diag << ", of which each rank has updated its chunk only";
    diag.attachNote(state.updated->getLoc()) << "the chunk is updated here";
  } else {
    diag << ", which the step before may still be gathering; wait "
            "for the schedule's argument before it";
  }
  return diag;
}

LogicalResult ParameterChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  for (const TaskOperand &operand : table.index.step.getOperands(task)) {
    RoleKind kind = operand.role.getKind();
    Attribute bucket;
    if (kind == RoleKind::Param)
      bucket = table.index.bucketOf.lookup(operand.role.getName());
    else if (kind == RoleKind::ParamRange)
      bucket = getBucket(operand.role);
    State *state = bucket ? find(task.getPlace(), bucket) : nullptr;
    if (!state)
      continue;
    bool isUpdate = kind == RoleKind::ParamRange;
    if (failed(
            checkIsWhole(run, isUpdate ? "updates" : "reads", bucket, *state)))
      return failure();
    if (isUpdate) {
      state->isWhole = false;
      state->updated = run;
    }
  }
  return success();
}

LogicalResult ParameterChecker::check(Operation *send, const StepCopy &copy) {
  Attribute bucket = getBucket(copy);
  State *state = find(copy.from, bucket);
  return state ? checkIsWhole(send, "sends", bucket, *state) : success();
}

LogicalResult ParameterChecker::check(StartOp start) {
  Attribute bucket = getBucket(cast<RoleAttr>(start.getWhat()));
  State *state = find(start.getPlaceOfStart(), bucket);
  BucketOp op = table.index.buckets.lookup(bucket);
  if (!op)
    return start.emitOpError("gathers parameters of ")
           << bucket << ", which is no bucket";
  if (!state)
    return start.emitOpError("gathers parameters of ")
           << bucket
           << (op.hasShardedParams() ? ", which tasks gather"
                                     : ", of which each rank has all");
  if (start.getKind() != geometry::Collective::AllGather || start.getShard() ||
      start.getGroup() != op.getShardGroupAttr())
    return start.emitOpError("must be an all_gather of ")
           << bucket << " over " << op.getShardGroupAttr();
  if (!state->updated || state->gather)
    return start.emitOpError("gathers parameters of ")
           << bucket
           << (state->gather ? ", which are being gathered already"
                             : " that no rank has updated");
  state->gather = start;
  return success();
}

bool ParameterChecker::isOfShards(StartOp start) {
  return start.gathersParameters() &&
         find(start.getPlaceOfStart(),
              getBucket(cast<RoleAttr>(start.getWhat())));
}

LogicalResult ParameterChecker::finish(StartOp start, WaitOp wait) {
  Attribute bucket = getBucket(cast<RoleAttr>(start.getWhat()));
  State *state = find(start.getPlaceOfStart(), bucket);
  if (wait.isCarried())
    state->carried = wait;
  state->isWhole = true;
  state->gather = {};
  return success();
}

LogicalResult ParameterChecker::checkComplete() {
  bool isLocal = table.schedule.isLocal();
  bool carries = !isLocal && !table.schedule.getEvaluation();
  for (Value token : table.schedule.getYielded())
    if (auto start = token.getDefiningOp<StartOp>(); start && !carries)
      return start.emitOpError(
          "is left in flight by an evaluation, after which "
          "nothing is");
  for (auto &[key, state] : states) {
    StringRef lack;
    if (carries && !state.gather)
      lack = "does not gather";
    else if (!isLocal && !state.carried)
      lack = "does not wait for the step before to gather";
    else if (!carries && !state.isWhole)
      lack = "does not complete";
    if (!lack.empty())
      return table.schedule.emitOpError(lack)
             << " the parameters of " << key.second << " on place "
             << key.first;
  }
  return success();
}
