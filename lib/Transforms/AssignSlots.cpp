//===- AssignSlots.cpp - Colours lifetimes of saved values into slots -----===//
//
// Before: runs name tasks only. After: each run says for every saved value of
// its task in which slot it lies; the schedule has the slots' sizes.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/TypeSizes.h"
#include "ppopt/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_ASSIGNSLOTS
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// A saved value of one microbatch, from the run that makes it to the last that
/// reads it.
struct Lifetime {
  int64_t bytes = 0;
  unsigned begin = 0, end = 0;
  int64_t slot = -1;
};

using Key = std::tuple<int64_t, int64_t, StringRef>; // stage, microbatch, name

class SlotAssigner {
public:
  SlotAssigner(ScheduleOp schedule, SymbolTable &symbols)
      : schedule(schedule), symbols(symbols) {}
  int64_t run();

private:
  template <typename Fn> void forEachSaved(RunOp run, Fn visit);
  void findLifetimes();
  void colour();

  ScheduleOp schedule;
  SymbolTable &symbols;
  llvm::MapVector<Key, Lifetime, std::map<Key, unsigned>> lifetimes;
  SmallVector<int64_t> slots;
};

/// Calls `visit(key, type)` for the saved values that a run reads or makes.
template <typename Fn> void SlotAssigner::forEachSaved(RunOp run, Fn visit) {
  auto task = symbols.lookup<TaskOp>(run.getTask());
  auto key = [&](RoleAttr role) {
    return Key(task.getStage(), run.getMicrobatch(), role.getName());
  };
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
    if (task.getArgRole(i).getKind() == RoleKind::Saved)
      visit(key(task.getArgRole(i)), task.getArgumentTypes()[i]);
  for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
    if (task.getResultRole(i).getKind() == RoleKind::Saved)
      visit(key(task.getResultRole(i)), task.getResultTypes()[i]);
}

void SlotAssigner::findLifetimes() {
  for (auto [position, run] : llvm::enumerate(schedule.getOps<RunOp>()))
    forEachSaved(run, [&, position = position](Key key, Type type) {
      auto [it, isNew] = lifetimes.insert({key, Lifetime()});
      if (isNew) {
        it->second.bytes = getAlignedBytes(type);
        it->second.begin = position;
      }
      it->second.end = position;
    });
}

/// In order of birth: the smallest slot that is free and large enough, else a
/// new one. A slot frees after the run of the last reader.
void SlotAssigner::colour() {
  SmallVector<unsigned> busyUntil;
  for (auto &[key, life] : lifetimes) {
    int64_t best = -1;
    for (int64_t slot = 0, e = slots.size(); slot < e; ++slot)
      if (busyUntil[slot] < life.begin && slots[slot] >= life.bytes &&
          (best < 0 || slots[slot] < slots[best]))
        best = slot;
    if (best < 0) {
      best = slots.size();
      slots.push_back(life.bytes);
      busyUntil.push_back(0);
    }
    life.slot = best;
    busyUntil[best] = life.end;
  }
}

int64_t SlotAssigner::run() {
  findLifetimes();
  colour();
  Builder builder(schedule.getContext());
  for (auto run : schedule.getOps<RunOp>()) {
    SmallVector<NamedAttribute> named;
    forEachSaved(run, [&](Key key, Type) {
      named.push_back(builder.getNamedAttr(
          std::get<2>(key), builder.getI64IntegerAttr(lifetimes[key].slot)));
    });
    run.setSlotsAttr(builder.getDictionaryAttr(named));
  }
  schedule.setSlots(slots);
  int64_t bytes = 0;
  for (int64_t slot : slots)
    bytes += slot;
  return bytes;
}

struct AssignSlots : pp::impl::AssignSlotsBase<AssignSlots> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>()) {
      int64_t bytes = SlotAssigner(schedule, symbols).run();
      if (!schedule.getEvaluation())
        slotBytes += bytes;
    }
  }
};

} // namespace
