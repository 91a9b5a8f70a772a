//===- VerifySchedule.cpp - Proves that a schedule computes the step ------===//
//
// The contract of phase `scheduled`. Nothing is changed. Walks each table once
// and holds that every task runs, in dependency order, that no slot is reused
// while its value is still read, and that what is being summed over ranks is
// left alone until it is waited for.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYSCHEDULE
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Kinds of tasks that run once for each microbatch; the others once a step.
bool isPerMicrobatch(TaskKind kind) {
  return kind != TaskKind::Norm && kind != TaskKind::Update;
}

/// Walks one schedule, action by action.
class ScheduleChecker {
public:
  ScheduleChecker(ScheduleOp schedule, PlanOp plan, SymbolTable &symbols)
      : schedule(schedule), plan(plan), symbols(symbols) {
    for (auto bucket : schedule->getParentOfType<ModuleOp>().getOps<BucketOp>())
      for (auto name : bucket.getParams().getAsRange<StringAttr>())
        bucketOf[name.getValue()] =
            FlatSymbolRefAttr::get(bucket.getSymNameAttr());
  }

  LogicalResult check();

private:
  LogicalResult check(RunOp run);
  LogicalResult check(StartOp start);
  LogicalResult check(WaitOp wait);
  LogicalResult checkSaved(RunOp run, TaskOp task);
  LogicalResult checkSums(RunOp run, TaskOp task);
  LogicalResult checkComplete();
  Attribute getSummed(RoleAttr role);

  ScheduleOp schedule;
  PlanOp plan;
  SymbolTable &symbols;
  llvm::StringMap<Attribute> bucketOf;
  std::map<std::pair<StringRef, int64_t>, RunOp> ran;
  /// The saved value (stage, microbatch, name) that a slot holds.
  using Saved = std::tuple<int64_t, int64_t, StringRef>;
  std::map<int64_t, Saved> slotHolds;
  std::map<int64_t, StartOp> started;
  DenseMap<Attribute, StartOp> inFlight;
  DenseSet<int64_t> ids;
};

/// The buffer, as starts name it, that a role belongs to; null if it is never
/// summed.
Attribute ScheduleChecker::getSummed(RoleAttr role) {
  switch (role.getKind()) {
  case RoleKind::Grad:
    return bucketOf.lookup(role.getName());
  case RoleKind::GradRange:
    return FlatSymbolRefAttr::get(role.getContext(), role.getName());
  case RoleKind::Loss:
  case RoleKind::Global:
    return role;
  default:
    return {};
  }
}

LogicalResult ScheduleChecker::checkSaved(RunOp run, TaskOp task) {
  auto slotOf = [&](RoleAttr role) {
    auto slot = run.getSlots().getAs<IntegerAttr>(role.getName());
    return slot ? slot.getInt() : -1;
  };
  auto isSlot = [&](int64_t slot) {
    return slot >= 0 && slot < static_cast<int64_t>(schedule.getSlots().size());
  };
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    if (role.getKind() != RoleKind::Saved)
      continue;
    Saved wanted(task.getStage(), run.getMicrobatch(), role.getName());
    auto holds = slotHolds.find(slotOf(role));
    if (holds == slotHolds.end() || holds->second != wanted)
      return run.emitOpError("reads '")
             << role.getName() << "' from a slot that does not hold it: it was "
             << "not computed yet, or something else was written there";
  }
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
    RoleAttr role = task.getResultRole(i);
    if (role.getKind() != RoleKind::Saved)
      continue;
    if (!isSlot(slotOf(role)))
      return run.emitOpError("has no slot for '") << role.getName() << "'";
    slotHolds[slotOf(role)] =
        Saved(task.getStage(), run.getMicrobatch(), role.getName());
  }
  return success();
}

LogicalResult ScheduleChecker::checkSums(RunOp run, TaskOp task) {
  auto check = [&](RoleAttr role) -> LogicalResult {
    StartOp start = inFlight.lookup(getSummed(role));
    if (!start)
      return success();
    InFlightDiagnostic diag = run.emitOpError("uses ")
                              << role << " while it is being summed over ranks";
    diag.attachNote(start.getLoc()) << "this start is not waited for";
    return diag;
  };
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
    if (failed(check(task.getArgRole(i))))
      return failure();
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    if (failed(check(task.getResultRole(i))))
      return failure();
  return success();
}

LogicalResult ScheduleChecker::check(RunOp run) {
  auto task = symbols.lookup<TaskOp>(run.getTask());
  int64_t microbatch = run.getMicrobatch();
  int64_t end = isPerMicrobatch(task.getKind()) ? plan.getMicrobatches() : 1;
  if (microbatch < 0 || microbatch >= end)
    return run.emitOpError("runs microbatch ") << microbatch << " of " << end;
  auto [it, isNew] = ran.insert({{run.getTask(), microbatch}, run});
  if (!isNew) {
    InFlightDiagnostic diag =
        run.emitOpError("runs the task a second time on this microbatch");
    diag.attachNote(it->second.getLoc()) << "the first is here";
    return diag;
  }
  if (failed(checkSums(run, task)))
    return failure();
  return checkSaved(run, task);
}

LogicalResult ScheduleChecker::check(StartOp start) {
  int64_t id = start.getId();
  if (!ids.insert(id).second)
    return start.emitOpError("has the id of an earlier start");
  if (inFlight.count(start.getWhat()))
    return start.emitOpError("sums what is being summed already");
  if (start.getGroupSize(plan) == 1)
    return start.emitOpError("sums over ")
           << start.getAxes() << ", which is one rank";
  started[id] = start;
  inFlight[start.getWhat()] = start;
  return success();
}

LogicalResult ScheduleChecker::check(WaitOp wait) {
  auto it = started.find(wait.getId());
  if (it == started.end())
    return wait.emitOpError("waits for what was not started, or twice");
  inFlight.erase(it->second.getWhat());
  started.erase(it);
  return success();
}

/// At the end: everything was waited for, and every task ran on all
/// microbatches.
LogicalResult ScheduleChecker::checkComplete() {
  for (auto &[id, start] : started)
    return StartOp(start).emitOpError("is never waited for");
  for (auto task : schedule->getParentOfType<ModuleOp>().getOps<TaskOp>()) {
    TaskKind kind = task.getKind();
    bool isPartOfEvaluation =
        kind == TaskKind::Prologue || kind == TaskKind::Forward;
    if (schedule.getEvaluation() && !isPartOfEvaluation)
      continue;
    int64_t runs = isPerMicrobatch(kind) ? plan.getMicrobatches() : 1;
    for (int64_t i = 0; i < runs; ++i)
      if (!ran.count({task.getSymName(), i}))
        return schedule.emitOpError("never runs @")
               << task.getSymName() << " on microbatch " << i;
  }
  return success();
}

LogicalResult ScheduleChecker::check() {
  for (Operation &action : schedule.getBody().front()) {
    LogicalResult result = success();
    if (auto run = dyn_cast<RunOp>(action))
      result = check(run);
    else if (auto start = dyn_cast<StartOp>(action))
      result = check(start);
    else if (auto wait = dyn_cast<WaitOp>(action))
      result = check(wait);
    if (failed(result))
      return failure();
  }
  return checkComplete();
}

struct VerifySchedule : pp::impl::VerifyScheduleBase<VerifySchedule> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      if (failed(ScheduleChecker(schedule, *plan, symbols).check()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
