//===- InsertCollectives.cpp - All-reduces of gradients, loss, counts -----===//
//
// Before: schedules of runs and transfers. After: each sum over ranks is
// started, on each rank of its group, after the last run that adds to it, and
// waited for before the first action that needs it. In a local schedule it is
// started on each of its places just before that reader.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;
using geometry::AxisUse;

namespace {

/// A buffer that runs add to and that is summed over a group of ranks.
struct Sum {
  Attribute what; ///< a bucket's symbol, or a scalar's role
  GroupAttr group;
  /// The places that take part; all if empty.
  SmallVector<int64_t> places;
  int64_t channel = 0;

  bool isBucket() const { return isa<SymbolRefAttr>(what); }
  bool isScalar(RoleKind kind) const {
    auto role = dyn_cast<RoleAttr>(what);
    return role && role.getKind() == kind;
  }
};

/// All sums of a module in one order: the order in which sums over several
/// places start. Counts come first and the norm last, as on every rank.
class SumList {
public:
  SumList(ModuleOp module, PlanOp plan) : module(module), plan(plan) {
    find();
    numberChannels();
  }
  ArrayRef<Sum> get() const { return sums; }

private:
  void find();
  void addScalars(RoleKind kind);
  void addBucket(BucketOp bucket);
  /// The axes of the mesh over which what tasks add up is a partial sum.
  using Axes = llvm::SmallDenseSet<StringAttr>;
  Axes getPartialAxes(llvm::function_ref<bool(RoleAttr)> isAdded);
  void add(Attribute what, const Axes &axes, bool overPlaces,
           ArrayRef<int64_t> among, ArrayRef<int64_t> places);
  void numberChannels();

  ModuleOp module;
  PlanOp plan;
  SmallVector<Sum> sums;
};

/// The shardings of the accumulators say it. Over microbatches tasks add up one
/// after the other.
SumList::Axes
SumList::getPartialAxes(llvm::function_ref<bool(RoleAttr)> isAdded) {
  Axes axes;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (isAdded(task.getResultRole(i)))
        if (auto sharding =
                task.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
          axes.insert_range(sharding.getSums());
  return axes;
}

/// Adds a sum over some axes, and over the places if each has a part of the
/// value, unless one rank has it all.
void SumList::add(Attribute what, const Axes &axes, bool overPlaces,
                  ArrayRef<int64_t> among, ArrayRef<int64_t> places) {
  Builder builder(module.getContext());
  SmallVector<StringAttr> present;
  for (auto axis : plan.getMesh().getAsRange<MeshAxisAttr>()) {
    StringAttr name = builder.getStringAttr(axis.getName());
    bool isPlaces = geometry::useOf(axis.getName()) == AxisUse::Places;
    if (axis.getSize() > 1 && (isPlaces ? overPlaces : axes.contains(name)))
      present.push_back(name);
  }
  if (present.empty())
    return;
  if (plan.getPlaces() == 1)
    among = {};
  auto group = GroupAttr::get(builder.getContext(), present, among);
  sums.push_back({what, group, SmallVector<int64_t>(places), 0});
}

/// Each place adds its part to a scalar.
void SumList::addScalars(RoleKind kind) {
  llvm::SetVector<Attribute> roles;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (task.getResultRole(i).getKind() == kind)
        roles.insert(task.getResultRole(i));
  for (Attribute role : roles)
    add(role, getPartialAxes([&](RoleAttr other) { return other == role; }),
        /*overPlaces=*/true, /*among=*/{}, /*places=*/{});
}

void SumList::addBucket(BucketOp bucket) {
  auto what = FlatSymbolRefAttr::get(bucket.getSymNameAttr());
  ArrayRef<int64_t> places = bucket.getUpdatePlaces();
  Axes axes = getPartialAxes([&](RoleAttr role) {
    return role.getKind() == RoleKind::Grad &&
           llvm::is_contained(bucket.getParams().getAsValueRange<StringAttr>(),
                              role.getName());
  });
  bool isTied = places.size() > 1;
  add(what, axes, isTied, isTied ? places : ArrayRef<int64_t>(), places);
}

void SumList::find() {
  addScalars(RoleKind::Global);
  addScalars(RoleKind::Loss);
  for (auto bucket : module.getOps<BucketOp>())
    addBucket(bucket);
  // The gradients that it is made of are complete sums.
  addScalars(RoleKind::Norm);
}

/// Numbers a channel for each group; channel 0 is for transfers.
void SumList::numberChannels() {
  DenseMap<GroupAttr, int64_t> channels;
  for (Sum &sum : sums)
    sum.channel =
        channels.insert({sum.group, channels.size() + 1}).first->second;
}

/// The buffers that the runs of each task add to; a schedule has many runs of
/// few tasks.
class TaskSums {
public:
  explicit TaskSums(ModuleOp module);
  ArrayRef<Attribute> of(RunOp run) const {
    return added.find(run.getTaskAttr().getAttr())->second;
  }
  /// Returns the complete sums that the runs of a prologue read.
  ArrayRef<Attribute> readByPrologue(RunOp run) const {
    return readFirst.find(run.getTaskAttr().getAttr())->second;
  }
  TaskOp getTask(RunOp run) const {
    return tasks.lookup(run.getTaskAttr().getAttr());
  }

private:
  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<StringAttr, SmallVector<Attribute, 0>> added, readFirst;
};

TaskSums::TaskSums(ModuleOp module) {
  // The bucket of each parameter; every place that holds it has the bucket.
  llvm::StringMap<Attribute> bucketOf;
  for (auto bucket : module.getOps<BucketOp>())
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] =
          FlatSymbolRefAttr::get(bucket.getSymNameAttr());
  for (auto task : module.getOps<TaskOp>()) {
    tasks[task.getSymNameAttr()] = task;
    llvm::SetVector<Attribute> found;
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
      RoleAttr role = task.getResultRole(i);
      if (role.getKind() == RoleKind::Grad) {
        if (Attribute bucket = bucketOf.lookup(role.getName()))
          found.insert(bucket);
      } else if (role.getKind() == RoleKind::GradRange) {
        found.insert(FlatSymbolRefAttr::get(role.getContext(), role.getName()));
      } else if (role.getKind() == RoleKind::Loss ||
                 role.getKind() == RoleKind::Global ||
                 role.getKind() == RoleKind::Norm) {
        found.insert(role);
      }
    }
    added[task.getSymNameAttr()].assign(found.begin(), found.end());
    SmallVector<Attribute, 0> &read = readFirst[task.getSymNameAttr()];
    if (task.getKind() == TaskKind::Prologue)
      for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
        if (RoleAttr role = task.getArgRole(i);
            role.getKind() == RoleKind::Global && !found.contains(role))
          read.push_back(role);
  }
}

/// Inserts starts and waits into one schedule.
class CollectiveInserter {
public:
  CollectiveInserter(ScheduleOp schedule, const TaskSums &tasks,
                     const geometry::Mesh &mesh)
      : schedule(schedule), tasks(tasks), mesh(mesh), builder(schedule) {}

  void run(ArrayRef<Sum> sums);

private:
  void scan();
  void selectSums(ArrayRef<Sum> sums);
  void orderStarts();
  Operation *getReader(const Sum &sum) const;
  void insert(const Sum &sum, Operation *after, Operation *reader);
  void insertLocally(const Sum &sum, Operation *reader);
  void setBefore(Operation *action);
  void createStart(Location loc, int64_t id, const Sum &sum, IntegerAttr place);

  /// A sum that this place takes part in.
  struct Pending {
    const Sum *sum;
    /// The action after which it starts, and the action's position.
    Operation *after;
    unsigned position;
  };

  ScheduleOp schedule;
  const TaskSums &tasks;
  const geometry::Mesh &mesh;
  OpBuilder builder;
  /// The last run that adds to each buffer.
  DenseMap<Attribute, Operation *> lastAdd;
  /// The first prologue that reads a count, if one does.
  DenseMap<Attribute, Operation *> nestedReader;
  DenseMap<Operation *, unsigned> positions;
  Operation *zero = nullptr, *decide = nullptr;
  /// The last prologue, or the zeroing.
  Operation *prologue = nullptr;
  Operation *globalReader = nullptr, *bucketReader = nullptr;
  SmallVector<Pending> pending;
  int64_t nextId = 0;
};

/// Finds the actions after and before which starts and waits are inserted.
void CollectiveInserter::scan() {
  auto setFirst = [](Operation *&first, Operation *action) {
    if (!first)
      first = action;
  };
  for (Operation &action : schedule.getBody().front()) {
    positions[&action] = positions.size();
    if (auto id = action.getAttrOfType<IntegerAttr>("id"))
      nextId = std::max(nextId, id.getInt() + 1);
    if (isa<ZeroOp>(action)) {
      setFirst(zero, &action);
      prologue = &action;
    }
    auto run = dyn_cast<RunOp>(action);
    if (!run)
      continue;
    for (Attribute what : tasks.of(run))
      lastAdd[what] = run;
    for (Attribute what : tasks.readByPrologue(run))
      nestedReader.try_emplace(what, run);
    TaskKind kind = tasks.getTask(run).getKind();
    if (kind == TaskKind::Decide)
      setFirst(decide, run);
    if (kind == TaskKind::Norm || kind == TaskKind::Decide ||
        kind == TaskKind::Update)
      setFirst(bucketReader, run);
    if (kind == TaskKind::Prologue)
      prologue = run;
    else
      setFirst(globalReader, run);
  }
}

/// Selects the sums that this schedule takes part in. If no run of it adds to
/// one (its part stays zero), a count's sum starts after the zeroing, and the
/// others, which are not urgent, after the prologues.
void CollectiveInserter::selectSums(ArrayRef<Sum> sums) {
  for (const Sum &sum : sums) {
    bool isOfTraining = sum.isBucket() || sum.isScalar(RoleKind::Norm);
    if (schedule.getEvaluation() && isOfTraining)
      continue;
    if (!sum.places.empty() && llvm::none_of(sum.places, [&](int64_t place) {
          return schedule.isOf(place);
        }))
      continue;
    Operation *after = lastAdd.lookup(sum.what);
    if (!after)
      after = sum.isScalar(RoleKind::Global) ? zero : prologue;
    pending.push_back({&sum, after, after ? positions.lookup(after) : 0});
  }
}

/// Orders the starts of a channel equally on all ranks of its group. Within one
/// place that is the order in which the sums become complete: all its ranks run
/// this table. Over several places it is the order of the list, so a start may
/// have to move after the starts that precede it in the list.
void CollectiveInserter::orderStarts() {
  DenseMap<int64_t, Pending> last; // by channel
  for (Pending &each : pending) {
    geometry::Group group = each.sum->group.getGeometry();
    if (mesh.placesOf(group, schedule.getPlace()).size() == 1)
      continue;
    auto [it, isNew] = last.insert({each.sum->channel, each});
    if (!isNew && it->second.position > each.position) {
      each.after = it->second.after;
      each.position = it->second.position;
    }
    it->second = each;
  }
  // Addresses are in the order of the list.
  llvm::sort(pending, [](const Pending &a, const Pending &b) {
    return std::tie(a.position, a.sum) < std::tie(b.position, b.sum);
  });
}

/// Returns the action that needs the complete sum; null if only the end of the
/// list does.
Operation *CollectiveInserter::getReader(const Sum &sum) const {
  if (sum.isBucket())
    return bucketReader;
  if (sum.isScalar(RoleKind::Global)) {
    Operation *nested = nestedReader.lookup(sum.what);
    return nested ? nested : globalReader;
  }
  return decide; // null in evaluation
}

/// Inserts before the action; at the end of the list if it is null.
void CollectiveInserter::setBefore(Operation *action) {
  if (action)
    builder.setInsertionPoint(action);
  else
    builder.setInsertionPointToEnd(&schedule.getBody().front());
}

void CollectiveInserter::createStart(Location loc, int64_t id, const Sum &sum,
                                     IntegerAttr place) {
  auto kind = CollectiveAttr::get(builder.getContext(),
                                  geometry::Collective::AllReduce);
  StartOp::create(builder, loc, id, kind, sum.group, sum.channel, sum.what,
                  place);
}

void CollectiveInserter::insert(const Sum &sum, Operation *after,
                                Operation *reader) {
  Block &body = schedule.getBody().front();
  Block::iterator at = after ? std::next(after->getIterator()) : body.begin();
  // Sends come first: another place waits for them.
  while (at != body.end() && isa<StartOp, SendOp>(*at))
    ++at;
  builder.setInsertionPoint(&body, at);
  Location loc = after ? after->getLoc() : schedule.getLoc();
  createStart(loc, nextId, sum, /*place=*/IntegerAttr());
  setBefore(reader);
  WaitOp::create(builder, loc, nextId++);
}

/// Inserts the starts of all places, then their waits.
void CollectiveInserter::insertLocally(const Sum &sum, Operation *reader) {
  setBefore(reader);
  Location loc = schedule.getLoc();
  int64_t first = nextId;
  for (int64_t place : mesh.placesOf(sum.group.getGeometry(), /*place=*/0))
    createStart(loc, nextId++, sum, builder.getI64IntegerAttr(place));
  for (int64_t id = first, end = nextId; id < end; ++id)
    WaitOp::create(builder, loc, id);
}

void CollectiveInserter::run(ArrayRef<Sum> sums) {
  scan();
  selectSums(sums);
  if (!schedule.isLocal())
    orderStarts();
  for (const Pending &each : pending)
    if (schedule.isLocal())
      insertLocally(*each.sum, getReader(*each.sum));
    else
      insert(*each.sum, each.after, getReader(*each.sum));
}

struct InsertCollectives : pp::impl::InsertCollectivesBase<InsertCollectives> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    SumList sums(getOperation(), *plan);
    if (sums.get().empty())
      return;
    TaskSums tasks(getOperation());
    geometry::Mesh mesh = plan->getGeometry();
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      CollectiveInserter(schedule, tasks, mesh).run(sums.get());
  }
};

} // namespace
