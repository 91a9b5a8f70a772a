//===- SlotUses.cpp - Which slots actions read and write ------------------===//

#include "ppopt/Transforms/Scheduling/SlotUses.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

SlotUses::SlotUses(ModuleOp module) {
  for (auto transfer : module.getOps<TransferOp>())
    transfers[transfer.getSymNameAttr()] = transfer;
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    SmallVector<SlotUse, 0> &uses = ofTask[task];
    operands[task] = task.getBoundOperands();
    for (auto [i, operand] : llvm::enumerate(operands[task]))
      if (isValue(operand.role.getKind()))
        uses.push_back({operand.role, operand.type, task.getPlace(),
                        operand.isResult, static_cast<unsigned>(i)});
  }
}

/// Returns the use of a bucket's buffer by an end of a transfer of the step.
static SlotUse useBuffer(TransferOp transfer, BufferKind kind, int64_t place,
                         bool isWrite) {
  SlotUse use;
  use.type = transfer.getType();
  use.place = place;
  use.isWrite = isWrite;
  use.buffer =
      BufferAttr::get(transfer.getContext(), kind, transfer.getValue());
  return use;
}

SlotUse SlotUses::getRead(TransferOp transfer) {
  if (transfer.getStep())
    return useBuffer(transfer,
                     transfer.getGradientOf() ? BufferKind::Grads
                                              : BufferKind::Params,
                     transfer.getFrom(), /*isWrite=*/false);
  return {RoleAttr::get(transfer.getContext(), RoleKind::Saved,
                        transfer.getValue()),
          transfer.getType(), transfer.getFrom()};
}

SlotUse SlotUses::getWrite(TransferOp transfer) {
  if (transfer.getStep() && !transfer.getGradientOf())
    return useBuffer(transfer, BufferKind::Params, transfer.getTo(),
                     /*isWrite=*/true);
  return {RoleAttr::get(transfer.getContext(), RoleKind::Received,
                        transfer.getSymName()),
          transfer.getType(), transfer.getTo(),
          /*isWrite=*/true};
}

SlotUse SlotUses::of(SendOp send) const {
  return getRead(getTransfer(send.getTransferAttr()));
}

SlotUse SlotUses::of(RecvOp recv) const {
  return getWrite(getTransfer(recv.getTransferAttr()));
}

int64_t SlotUses::getPlace(RunOp run) const { return getTask(run).getPlace(); }

int64_t SlotUses::getPlace(SendOp send) const {
  return getTransfer(send.getTransferAttr()).getFrom();
}

int64_t SlotUses::getPlace(RecvOp recv) const {
  return getTransfer(recv.getTransferAttr()).getTo();
}

int64_t SlotUses::getPlace(StartOp start) {
  if (std::optional<int64_t> place = start.getPlace())
    return *place;
  return cast<ScheduleOp>(start->getParentOp()).getPlace();
}

SmallVector<SlotLifetime> pp::findLifetimes(ScheduleOp schedule,
                                            const SlotUses &uses) {
  SmallVector<SlotLifetime> lifetimes;
  int64_t alignment = getBufferAlignment(schedule);
  DenseMap<std::pair<Attribute, int64_t>, unsigned> known;
  DenseMap<int64_t, std::optional<unsigned>> inTransfer; // by id
  unsigned position = 0;
  // Returns null if the use is not of a slot.
  auto use = [&](Operation *action, const SlotUse &use,
                 int64_t microbatch) -> std::optional<unsigned> {
    if (!liesInSlot(use))
      return std::nullopt;
    auto [it, isNew] =
        known.try_emplace({use.role, microbatch}, lifetimes.size());
    if (isNew)
      lifetimes.push_back({use.role, use.place, microbatch,
                           getAlignedBytes(use.type, alignment),
                           getSlot(action, use), position, position});
    lifetimes[it->second].end = position;
    return it->second;
  };
  for (Operation &action : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(action)) {
      for (const SlotUse &each : uses.of(run))
        use(run, each, run.getMicrobatch());
    } else if (auto send = dyn_cast<SendOp>(action)) {
      inTransfer[send.getId()] = use(send, uses.of(send), send.getMicrobatch());
    } else if (auto recv = dyn_cast<RecvOp>(action)) {
      inTransfer[recv.getId()] = use(recv, uses.of(recv), recv.getMicrobatch());
    } else if (auto wait = dyn_cast<WaitOp>(action);
               wait && !wait.getCarried()) {
      auto found = inTransfer.find(wait.getId());
      if (found != inTransfer.end() && found->second)
        lifetimes[*found->second].end = position;
    }
    ++position;
  }
  return lifetimes;
}

DenseMap<Operation *, DenseSet<Attribute>>
pp::findDyingArguments(ModuleOp module) {
  DenseMap<Operation *, DenseSet<Attribute>> dying, living;
  SlotUses uses(module);
  for (auto schedule : module.getOps<ScheduleOp>()) {
    DenseMap<std::pair<Attribute, int64_t>, unsigned> ends;
    for (const SlotLifetime &life : findLifetimes(schedule, uses))
      ends[{life.role, life.microbatch}] = life.end;
    for (auto [position, action] :
         llvm::enumerate(schedule.getBody().front())) {
      auto run = dyn_cast<RunOp>(action);
      if (!run)
        continue;
      TaskOp task = uses.getTask(run);
      for (const SlotUse &use : uses.of(run)) {
        if (use.isWrite)
          continue;
        unsigned end = ends.lookup({use.role, run.getMicrobatch()});
        (end == position ? dying : living)[task].insert(use.role);
      }
    }
  }
  for (auto &[task, roles] : living)
    for (Attribute role : roles)
      dying[task].erase(role);
  return dying;
}

Attribute pp::getBinding(Operation *action, const SlotUse &use) {
  if (auto send = dyn_cast<SendOp>(action))
    return send.getBinding();
  if (auto recv = dyn_cast<RecvOp>(action))
    return recv.getBinding();
  std::optional<ArrayAttr> bindings = cast<RunOp>(action).getBindings();
  return bindings ? (*bindings)[use.operand] : Attribute();
}

int64_t pp::getSlot(Operation *action, const SlotUse &use) {
  auto slot = dyn_cast_or_null<SlotAttr>(getBinding(action, use));
  return slot ? slot.getNumber() : SlotAttr::kUnassigned;
}

Attribute pp::makeBinding(const SlotUse &use) {
  if (liesInSlot(use))
    return SlotAttr::get(use.role.getContext(), SlotAttr::kUnassigned);
  return AddressAttr::get(use.buffer, 0);
}
