//===- SlotUses.cpp - What actions do with the values in slots ------------===//

#include "ppopt/Transforms/SlotUses.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

static bool liesInSlot(RoleAttr role) {
  return role.getKind() == RoleKind::Saved ||
         role.getKind() == RoleKind::Received;
}

SlotUses::SlotUses(ModuleOp module) {
  for (auto transfer : module.getOps<TransferOp>())
    transfers[transfer.getSymNameAttr()] = transfer;
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    SmallVector<SlotUse, 0> &uses = ofTask[task];
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      // From phase kernels on results are arguments.
      if (liesInSlot(task.getArgRole(i)))
        uses.push_back({task.getArgRole(i), task.getArgumentTypes()[i]});
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (liesInSlot(task.getResultRole(i)))
        uses.push_back({task.getResultRole(i), task.getResultTypes()[i],
                        /*isWrite=*/true});
  }
}

SlotUse SlotUses::of(SendOp send) const {
  TransferOp transfer = getTransfer(send.getTransferAttr());
  return {
      RoleAttr::get(send.getContext(), RoleKind::Saved, transfer.getValue()),
      transfer.getType()};
}

SlotUse SlotUses::of(RecvOp recv) const {
  TransferOp transfer = getTransfer(recv.getTransferAttr());
  return {RoleAttr::get(recv.getContext(), RoleKind::Received,
                        transfer.getSymName()),
          transfer.getType(), /*isWrite=*/true};
}

SmallVector<SlotLifetime> pp::findLifetimes(ScheduleOp schedule,
                                            const SlotUses &uses) {
  SmallVector<SlotLifetime> lifetimes;
  DenseMap<std::pair<Attribute, int64_t>, unsigned> known;
  DenseMap<int64_t, unsigned> inTransfer; // by id
  unsigned position = 0;
  auto use = [&](const SlotUse &use, int64_t microbatch) {
    auto [it, isNew] =
        known.try_emplace({use.role, microbatch}, lifetimes.size());
    if (isNew)
      lifetimes.push_back({use.role, microbatch, getAlignedBytes(use.type),
                           position, position});
    lifetimes[it->second].end = position;
    return it->second;
  };
  for (Operation &action : schedule.getBody().front()) {
    if (auto run = dyn_cast<RunOp>(action)) {
      for (const SlotUse &each : uses.of(run))
        use(each, run.getMicrobatch());
    } else if (auto send = dyn_cast<SendOp>(action)) {
      inTransfer[send.getId()] = use(uses.of(send), send.getMicrobatch());
    } else if (auto recv = dyn_cast<RecvOp>(action)) {
      inTransfer[recv.getId()] = use(uses.of(recv), recv.getMicrobatch());
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
      auto found = inTransfer.find(wait.getId());
      if (found != inTransfer.end())
        lifetimes[found->second].end = position;
    }
    ++position;
  }
  return lifetimes;
}

int64_t pp::getSlot(Operation *action, RoleAttr role) {
  if (auto send = dyn_cast<SendOp>(action))
    return send.getSlot();
  if (auto recv = dyn_cast<RecvOp>(action))
    return recv.getSlot();
  auto slot = cast<RunOp>(action).getSlots().getAs<IntegerAttr>(role.getName());
  return slot ? slot.getInt() : -1;
}
