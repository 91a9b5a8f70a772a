//===- StepTransfers.cpp - Transfers of borrowed buckets ------------------===//

#include "StepTransfers.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class StepInserter {
public:
  StepInserter(ScheduleOp schedule, const SlotUses &uses)
      : schedule(schedule), uses(uses), builder(schedule) {}

  void run();

private:
  void scan();
  Operation *findReader(TransferOp transfer);
  void setBefore(Operation *action);
  void start(TransferOp transfer, int64_t id);

  ScheduleOp schedule;
  const SlotUses &uses;
  OpBuilder builder;
  int64_t nextId = 0;
  Operation *first = nullptr;   ///< after the last prologue
  Operation *closing = nullptr; ///< after the last run of a stage
  Operation *decide = nullptr;
  /// The first run that reads a role.
  DenseMap<Attribute, Operation *> readers;
  llvm::StringMap<StringRef> bucketOf; // by parameter
};

void StepInserter::scan() {
  for (auto bucket : schedule->getParentOfType<ModuleOp>().getOps<BucketOp>())
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = bucket.getSymName();
  for (Operation &action : schedule.getBody().front()) {
    if (auto id = action.getAttrOfType<IntegerAttr>("id"))
      nextId = std::max(nextId, id.getInt() + 1);
    auto run = dyn_cast<RunOp>(action);
    TaskOp task = run ? uses.getTask(run) : TaskOp();
    std::optional<TaskKind> kind;
    if (task)
      kind = task.getKind();
    if (isa<ZeroOp>(action) || kind == TaskKind::Prologue)
      first = action.getNextNode();
    if (kind == TaskKind::Decide)
      decide = run;
    bool isClosing = kind == TaskKind::Collect || kind == TaskKind::Norm ||
                     kind == TaskKind::Decide;
    if (isClosing && !closing)
      closing = &action;
    for (unsigned i = 0, e = task ? task.getNumArguments() : 0; i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      if (role.getKind() == RoleKind::Param &&
          bucketOf.contains(role.getName()))
        role = RoleAttr::get(role.getContext(), RoleKind::ParamRange,
                             bucketOf.lookup(role.getName()));
      readers.try_emplace(role, run);
    }
  }
}

/// Returns the action before which an end of a transfer is waited for; null for
/// the end of the list.
Operation *StepInserter::findReader(TransferOp transfer) {
  bool isGradient = transfer.getGradientOf().has_value();
  bool isSend = transfer.getFrom() == schedule.getPlace();
  if (isSend)
    return isGradient ? nullptr : decide; // parameters are updated after it
  auto kind = isGradient ? RoleKind::Received : RoleKind::ParamRange;
  auto role =
      RoleAttr::get(schedule.getContext(), kind,
                    isGradient ? transfer.getSymName() : transfer.getValue());
  Operation *reader = readers.lookup(role);
  return reader ? reader : decide;
}

void StepInserter::setBefore(Operation *action) {
  if (action)
    builder.setInsertionPoint(action);
  else
    builder.setInsertionPointToEnd(&schedule.getBody().front());
}

void StepInserter::start(TransferOp transfer, int64_t id) {
  setBefore(transfer.getGradientOf() ? closing : first);
  if (transfer.getFrom() == schedule.getPlace())
    SendOp::create(builder, transfer.getLoc(), id, transfer.getSymName(),
                   /*microbatch=*/0, makeBinding(SlotUses::getRead(transfer)));
  else
    RecvOp::create(builder, transfer.getLoc(), id, transfer.getSymName(),
                   /*microbatch=*/0, makeBinding(SlotUses::getWrite(transfer)));
}

void StepInserter::run() {
  scan();
  SmallVector<TransferOp> transfers;
  for (auto transfer :
       schedule->getParentOfType<ModuleOp>().getOps<TransferOp>())
    if (transfer.getStep() &&
        (schedule.isOf(transfer.getFrom()) ||
         schedule.isOf(transfer.getTo())) &&
        !(schedule.getEvaluation() && transfer.getGradientOf()))
      transfers.push_back(transfer);
  for (auto [i, transfer] : llvm::enumerate(transfers))
    start(transfer, nextId + i);
  // Waits come after all starts, even where one is waited for at once.
  for (auto [i, transfer] : llvm::enumerate(transfers)) {
    setBefore(findReader(transfer));
    WaitOp::create(builder, transfer.getLoc(), nextId + i);
  }
}

} // namespace

void pp::insertStepTransfers(ScheduleOp schedule, const SlotUses &uses) {
  StepInserter(schedule, uses).run();
}
