//===- ScheduleLocal.cpp - One list of actions for all places -------------===//
//
// Before: tasks of a plan whose launch is local. After: one pp.schedule local
// of training and one of evaluation: the tasks in program order, each run
// followed by the transfers of its results. This is the reference for all other
// orders and shares no code with the passes that make them.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/SlotUses.h"

#include "llvm/ADT/StringSet.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_SCHEDULELOCAL
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct ScheduleLocal : pp::impl::ScheduleLocalBase<ScheduleLocal> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (plan->getLaunch() != Launch::local)
      return;
    sortTasks();
    build(*plan, /*isEvaluation=*/false);
    build(*plan, /*isEvaluation=*/true);
  }

private:
  void sortTasks();
  void build(PlanOp plan, bool isEvaluation);
  void send(TransferOp transfer, int64_t microbatch, OpBuilder &builder);
  void lend(bool isGradient, OpBuilder &builder);
  void run(TaskOp task, int64_t microbatch, const llvm::StringSet<> &received,
           OpBuilder &builder);

  /// In program order: stages up for forwards, down for backwards. The parts of
  /// a split backward are in the order in which they are made.
  std::map<int64_t, SmallVector<TaskOp>> forwards, losses;
  std::map<int64_t, SmallVector<TaskOp>, std::greater<int64_t>> backwards;
  /// Tasks of places, in the order of the module.
  SmallVector<TaskOp> prologues, collects, norms, decides, updates;
  int64_t nextId = 0; ///< of the schedule
};

void ScheduleLocal::sortTasks() {
  for (auto task : getOperation().getOps<TaskOp>()) {
    TaskKind kind = task.getKind();
    if (kind == TaskKind::Prologue)
      prologues.push_back(task);
    else if (kind == TaskKind::Collect)
      collects.push_back(task);
    else if (kind == TaskKind::Norm)
      norms.push_back(task);
    else if (kind == TaskKind::Decide)
      decides.push_back(task);
    else if (kind == TaskKind::Update)
      updates.push_back(task);
    else if (kind == TaskKind::Forward)
      forwards[task.getStage()].push_back(task);
    else if (kind == TaskKind::Loss)
      losses[task.getStage()].push_back(task);
    else
      backwards[task.getStage()].push_back(task);
  }
}

/// Finds the transfers that some of the tasks read.
template <typename StagesT>
void findReceived(StagesT &stages, llvm::StringSet<> &received) {
  for (auto &[stage, tasks] : stages)
    for (TaskOp task : tasks)
      for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
        if (task.getArgRole(i).getKind() == RoleKind::Received)
          received.insert(task.getArgRole(i).getName());
}

/// Adds both ends of a transfer and their waits.
void ScheduleLocal::send(TransferOp transfer, int64_t microbatch,
                         OpBuilder &builder) {
  Location loc = transfer.getLoc();
  int64_t recv = nextId++, send = nextId++;
  RecvOp::create(builder, loc, recv, transfer.getSymName(), microbatch,
                 makeBinding(SlotUses::getWrite(transfer)));
  SendOp::create(builder, loc, send, transfer.getSymName(), microbatch,
                 makeBinding(SlotUses::getRead(transfer)));
  WaitOp::create(builder, loc, send);
  WaitOp::create(builder, loc, recv);
}

/// Sends what is transferred once per step: the parameters that places borrow,
/// or the gradients that they give back.
void ScheduleLocal::lend(bool isGradient, OpBuilder &builder) {
  for (auto transfer : getOperation().getOps<TransferOp>())
    if (transfer.getStep() &&
        transfer.getGradientOf().has_value() == isGradient)
      send(transfer, /*microbatch=*/0, builder);
}

/// Adds a run and the transfers of its results to the places that read them.
void ScheduleLocal::run(TaskOp task, int64_t microbatch,
                        const llvm::StringSet<> &received, OpBuilder &builder) {
  RunOp::create(builder, task.getLoc(), task.getSymName(), microbatch,
                /*chunk=*/IntegerAttr(), /*bindings=*/ArrayAttr());
  llvm::StringSet<> made;
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    if (task.getResultRole(i).getKind() == RoleKind::Saved)
      made.insert(task.getResultRole(i).getName());
  for (auto transfer : getOperation().getOps<TransferOp>())
    if (made.contains(transfer.getValue()) &&
        received.contains(transfer.getSymName()))
      send(transfer, microbatch, builder);
}

void ScheduleLocal::build(PlanOp plan, bool isEvaluation) {
  llvm::StringSet<> received;
  findReceived(forwards, received);
  if (isEvaluation)
    findReceived(losses, received);
  else
    findReceived(backwards, received);
  OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
  auto schedule = ScheduleOp::create(
      builder, plan.getLoc(), ScheduleOp::kAllPlaces, isEvaluation,
      ArrayRef<int64_t>{}, builder.getDenseI64ArrayAttr({}));
  builder.createBlock(&schedule.getBody());
  nextId = 0;
  auto runAll = [&](ArrayRef<TaskOp> tasks, int64_t microbatch) {
    for (TaskOp task : tasks)
      run(task, microbatch, received, builder);
  };
  int64_t microbatches = plan.getMicrobatches();
  ZeroOp::create(builder, plan.getLoc());
  // A nested sum needs all microbatches of the sums inside it.
  for (TaskOp prologue : prologues)
    for (int64_t i = 0; i < microbatches; ++i)
      run(prologue, i, received, builder);
  lend(/*isGradient=*/false, builder);
  for (int64_t i = 0; i < microbatches; ++i) {
    for (auto &[stage, tasks] : forwards)
      runAll(tasks, i);
    if (isEvaluation)
      for (auto &[stage, tasks] : losses)
        runAll(tasks, i);
    else
      for (auto &[stage, tasks] : backwards)
        runAll(tasks, i);
  }
  if (isEvaluation)
    return;
  lend(/*isGradient=*/true, builder);
  runAll(collects, 0);
  runAll(norms, 0);
  runAll(decides, 0);
  runAll(updates, 0);
}

} // namespace
