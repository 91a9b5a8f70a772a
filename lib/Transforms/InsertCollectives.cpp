//===- InsertCollectives.cpp - All-reduces of gradients, loss and counts --===//
//
// Before: schedules of runs. After: what is summed over the data-parallel ranks
// is started behind the last run that adds to it and waited for before the
// first action that needs it.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Entry.h"
#include "ppopt/Transforms/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "ppopt/Transforms/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

constexpr llvm::StringLiteral kDataParallel = "dp";

/// A buffer that runs of a schedule add to and that is summed over dp.
struct Sum {
  Attribute what;     ///< a bucket's symbol, or the role of a scalar
  Operation *lastAdd; ///< the last run that adds to it
};

/// Places starts and waits in one schedule.
class CollectiveInserter {
public:
  CollectiveInserter(ScheduleOp schedule, SymbolTable &symbols)
      : schedule(schedule), symbols(symbols), builder(schedule) {}

  unsigned run(StringRef plant);

private:
  void addSums();
  void insert(const Sum &sum, Operation *before);
  Operation *firstReaderOf(Attribute what);

  ScheduleOp schedule;
  SymbolTable &symbols;
  OpBuilder builder;
  SmallVector<Sum> sums;
  int64_t nextId = 0;
};

/// The sums in the order in which they become complete on this rank: one order
/// on every rank, since all run the same table.
void CollectiveInserter::addSums() {
  llvm::MapVector<Attribute, Operation *> last;
  llvm::StringMap<Attribute> bucketOf;
  schedule->getParentOfType<ModuleOp>().walk([&](BucketOp bucket) {
    auto symbol = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = symbol;
  });
  for (auto run : schedule.getOps<RunOp>()) {
    auto task = symbols.lookup<TaskOp>(run.getTask());
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
      RoleAttr role = task.getResultRole(i);
      Attribute what;
      if (role.getKind() == RoleKind::Grad)
        what = bucketOf.lookup(role.getName());
      else if (role.getKind() == RoleKind::Loss ||
               role.getKind() == RoleKind::Global)
        what = role;
      if (!what)
        continue;
      last.erase(what);
      last.insert({what, run});
    }
  }
  for (auto &[what, run] : last)
    sums.push_back({what, run});
}

/// The action that needs the complete sum: a run that takes it as an argument
/// without adding to it, the check of the counts, the norm; null if only the
/// end of the step does.
Operation *CollectiveInserter::firstReaderOf(Attribute what) {
  auto role = dyn_cast<RoleAttr>(what);
  for (Operation &action : schedule.getBody().front()) {
    if (isa<CheckCountsOp>(action) && role &&
        role.getKind() == RoleKind::Global)
      return &action;
    auto run = dyn_cast<RunOp>(action);
    if (!run)
      continue;
    auto task = symbols.lookup<TaskOp>(run.getTask());
    bool isBucketReader =
        task.getKind() == TaskKind::Norm || task.getKind() == TaskKind::Update;
    if (!role && isBucketReader)
      return &action;
  }
  return nullptr;
}

void CollectiveInserter::insert(const Sum &sum, Operation *reader) {
  builder.setInsertionPointAfter(sum.lastAdd);
  while (builder.getInsertionPoint() != builder.getBlock()->end() &&
         isa<StartOp>(*builder.getInsertionPoint()))
    builder.setInsertionPointAfter(&*builder.getInsertionPoint());
  Location loc = sum.lastAdd->getLoc();
  // One channel: the group's ranks share one order of all their sums.
  StartOp::create(builder, loc, nextId, "all_reduce",
                  builder.getStrArrayAttr({kDataParallel}), /*among=*/{},
                  /*channel=*/0, sum.what);
  if (reader)
    builder.setInsertionPoint(reader);
  else
    builder.setInsertionPointToEnd(&schedule.getBody().front());
  WaitOp::create(builder, loc, nextId++);
}

unsigned CollectiveInserter::run(StringRef plant) {
  addSums();
  // The bug of a norm of one rank's own gradients: they are summed behind it.
  Operation *ownNorm = nullptr, *update = nullptr;
  if (plant == "local-clip-norm")
    for (Operation &action : schedule.getBody().front())
      if (isa<NormOp>(action)) {
        ownNorm = &action;
        update = action.getNextNode();
      }
  for (const Sum &sum : sums) {
    if (ownNorm && isa<SymbolRefAttr>(sum.what))
      insert({sum.what, ownNorm}, update);
    else
      insert(sum, firstReaderOf(sum.what));
  }
  return nextId;
}

struct InsertCollectives : pp::impl::InsertCollectivesBase<InsertCollectives> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    if (plan->getAxisSize(kDataParallel) == 1)
      return;
    SymbolTable symbols(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      numCollectives += CollectiveInserter(schedule, symbols)
                            .run(plan->getPlant().value_or(""));
  }
};

} // namespace
