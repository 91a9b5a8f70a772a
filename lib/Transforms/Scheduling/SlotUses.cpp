//===- SlotUses.cpp - Which slots actions read and write ------------------===//

#include "ppopt/Transforms/Scheduling/SlotUses.h"

#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

bool pp::liesInSlot(RoleAttr role) {
  return role.getKind() == RoleKind::Saved ||
         role.getKind() == RoleKind::Received;
}

SlotUses::SlotUses(ModuleOp module) {
  for (auto transfer : module.getOps<TransferOp>())
    transfers[transfer.getSymNameAttr()] = transfer;
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    SmallVector<SlotUse, 0> &uses = ofTask[task];
    int64_t place = task.getPlace();
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      // From phase kernels on, results are arguments too.
      if (liesInSlot(task.getArgRole(i)))
        uses.push_back({task.getArgRole(i), task.getArgumentTypes()[i], place});
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (liesInSlot(task.getResultRole(i)))
        uses.push_back({task.getResultRole(i), task.getResultTypes()[i], place,
                        /*isWrite=*/true});
  }
}

SlotUse SlotUses::getRead(TransferOp transfer) {
  RoleKind kind = RoleKind::Saved;
  if (transfer.getStep())
    kind =
        transfer.getGradientOf() ? RoleKind::GradRange : RoleKind::ParamRange;
  return {RoleAttr::get(transfer.getContext(), kind, transfer.getValue()),
          transfer.getType(), transfer.getFrom()};
}

SlotUse SlotUses::getWrite(TransferOp transfer) {
  bool isBorrowed = transfer.getStep() && !transfer.getGradientOf();
  return {
      RoleAttr::get(transfer.getContext(),
                    isBorrowed ? RoleKind::ParamRange : RoleKind::Received,
                    isBorrowed ? transfer.getValue() : transfer.getSymName()),
      transfer.getType(), transfer.getTo(),
      /*isWrite=*/true};
}

SlotUse SlotUses::of(SendOp send) const {
  return getRead(getTransfer(send.getTransferAttr()));
}

SlotUse SlotUses::of(RecvOp recv) const {
  return getWrite(getTransfer(recv.getTransferAttr()));
}

std::array<SlotUse, 2> SlotUses::of(CopyValueOp copy) const {
  TransferOp transfer = getTransfer(copy.getTransferAttr());
  return {getRead(transfer), getWrite(transfer)};
}

SmallVector<SlotLifetime> pp::findLifetimes(ScheduleOp schedule,
                                            const SlotUses &uses) {
  SmallVector<SlotLifetime> lifetimes;
  DenseMap<std::pair<Attribute, int64_t>, unsigned> known;
  DenseMap<int64_t, std::optional<unsigned>> inTransfer; // by id
  unsigned position = 0;
  // Returns null if the use is not of a slot.
  auto use = [&](const SlotUse &use,
                 int64_t microbatch) -> std::optional<unsigned> {
    if (!liesInSlot(use.role))
      return std::nullopt;
    auto [it, isNew] =
        known.try_emplace({use.role, microbatch}, lifetimes.size());
    if (isNew)
      lifetimes.push_back({use.role, use.place, microbatch,
                           getAlignedBytes(use.type), position, position});
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
    } else if (auto copy = dyn_cast<CopyValueOp>(action)) {
      for (const SlotUse &each : uses.of(copy))
        use(each, copy.getMicrobatch());
    } else if (auto wait = dyn_cast<WaitOp>(action)) {
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

int64_t pp::getSlot(Operation *action, RoleAttr role) {
  if (auto send = dyn_cast<SendOp>(action))
    return send.getSlot();
  if (auto recv = dyn_cast<RecvOp>(action))
    return recv.getSlot();
  if (auto copy = dyn_cast<CopyValueOp>(action))
    return role.getKind() == RoleKind::Saved ? copy.getFromSlot()
                                             : copy.getToSlot();
  auto slot = cast<RunOp>(action).getSlots().getAs<IntegerAttr>(role.getName());
  return slot ? slot.getInt() : -1;
}
