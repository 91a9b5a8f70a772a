//===- InsertCollectives.cpp - Sums of gradients, loss, counts; gathers ---===//
//
// Before: schedules of runs and transfers. After: each sum over ranks is
// started, on each rank of its group, after the last run that adds to it, and
// waited for before the first action that needs it. A sum of several levels
// starts the next one where another bucket's sum starts, or at that reader. The
// parameters of a sharded bucket are gathered after their update, and waited
// for before the first action of the next step, or of an evaluation, that reads
// them. In a local schedule all this is done at once, by all places, before the
// reader, or at the end.
//
//===----------------------------------------------------------------------===//

#include "CollectiveList.h"

#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Scheduling/Passes.h"
#include "ppopt/Transforms/Scheduling/StepIndex.h"

#include "llvm/ADT/SetVector.h"

#include <map>

namespace mlir::pp {
#define GEN_PASS_DEF_INSERTCOLLECTIVES
#include "ppopt/Transforms/Scheduling/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// The buffers that the runs of each task add to and read; a schedule has many
/// runs of few tasks.
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
  /// Returns the buckets, as roles param_range, whose parameters the runs of a
  /// task read.
  ArrayRef<Attribute> getParams(RunOp run) const {
    return params.find(run.getTaskAttr().getAttr())->second;
  }
  TaskOp getTask(RunOp run) const {
    return tasks.lookup(run.getTaskAttr().getAttr());
  }

private:
  DenseMap<StringAttr, TaskOp> tasks;
  DenseMap<StringAttr, SmallVector<Attribute, 0>> added, readFirst, params;
};

RoleAttr getParamRange(MLIRContext *context, StringRef bucket) {
  return RoleAttr::get(context, RoleKind::ParamRange, bucket);
}

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
    llvm::SetVector<Attribute> read;
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      RoleAttr role = task.getArgRole(i);
      if (role.getKind() == RoleKind::ParamRange)
        read.insert(role);
      else if (auto bucket = llvm::dyn_cast_or_null<FlatSymbolRefAttr>(
                   bucketOf.lookup(role.getName()));
               bucket && role.getKind() == RoleKind::Param)
        read.insert(getParamRange(role.getContext(), bucket.getValue()));
    }
    params[task.getSymNameAttr()].assign(read.begin(), read.end());
    SmallVector<Attribute, 0> &first = readFirst[task.getSymNameAttr()];
    if (task.getKind() == TaskKind::Prologue)
      for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
        if (RoleAttr role = task.getArgRole(i);
            role.getKind() == RoleKind::Global && !found.contains(role))
          first.push_back(role);
  }
}

/// Inserts starts and waits into one schedule.
class CollectiveInserter {
public:
  CollectiveInserter(ScheduleOp schedule, const TaskSums &tasks,
                     const StepIndex &index, const geometry::Mesh &mesh)
      : schedule(schedule), tasks(tasks), index(index), mesh(mesh),
        builder(schedule) {}

  void run(ArrayRef<RankValue> values);

private:
  /// A sum that this place takes part in.
  struct Pending {
    const RankValue *value;
    /// The action after which it starts, and the action's position.
    Operation *after;
    unsigned position;
  };
  /// A sum that has been started: the token and the number of its level.
  struct Open {
    const RankValue *value;
    Value token;
    unsigned level;

    bool hasNext() const { return level + 1 < value->levels.size(); }
  };

  void scan();
  void select(ArrayRef<RankValue> values);
  void orderStarts();
  Operation *getReader(const RankValue &value) const;
  bool spansPlaces(const RankValue &value);
  void insert(const Pending &each);
  void advance(Open &each);
  void advanceFirst(unsigned count, unsigned position);
  void complete(Operation *reader);
  void insertSums();
  void insertLocally(const RankValue &value, Operation *reader);
  void gather();
  void setBefore(Operation *action);
  void setAfter(Operation *action);
  Value createStart(Location loc, const RankValue &value, unsigned level,
                    IntegerAttr place = {});
  void createWait(Value token) {
    WaitOp::create(builder, schedule.getLoc(), token);
  }

  ScheduleOp schedule;
  const TaskSums &tasks;
  const StepIndex &index;
  const geometry::Mesh &mesh;
  OpBuilder builder;
  /// The last run that adds to each buffer.
  DenseMap<Attribute, Operation *> lastAdd;
  /// The first prologue that reads a count, if one does.
  DenseMap<Attribute, Operation *> nestedReader;
  /// The first action that reads the parameters of a bucket, and the run that
  /// updates them.
  DenseMap<Attribute, Operation *> paramReader, update;
  DenseMap<Operation *, unsigned> positions;
  Operation *zero = nullptr, *decide = nullptr;
  /// The last prologue, or the zeroing.
  Operation *prologue = nullptr;
  Operation *globalReader = nullptr, *bucketReader = nullptr;
  SmallVector<Pending> pending;
  /// The parameters that this place gathers, in the order of the list.
  SmallVector<const RankValue *> gathered;
  SmallVector<Open> open;
};

/// Finds the actions after and before which starts and waits are inserted.
void CollectiveInserter::scan() {
  auto setFirst = [](Operation *&first, Operation *action) {
    if (!first)
      first = action;
  };
  for (Operation &action : schedule.getBody().front()) {
    positions[&action] = positions.size();
    if (isa<ZeroOp>(action)) {
      setFirst(zero, &action);
      prologue = &action;
    }
    if (auto send = dyn_cast<SendOp>(action))
      if (const StepCopy *copy = index.getCopy(send); copy && !copy->isValue())
        paramReader.try_emplace(getParamRange(send.getContext(), copy->value),
                                send);
    auto run = dyn_cast<RunOp>(action);
    if (!run)
      continue;
    TaskKind kind = tasks.getTask(run).getKind();
    for (Attribute what : tasks.of(run))
      lastAdd[what] = run;
    for (Attribute what : tasks.readByPrologue(run))
      nestedReader.try_emplace(what, run);
    for (Attribute what : tasks.getParams(run)) {
      paramReader.try_emplace(what, run);
      if (kind == TaskKind::Update)
        update[what] = run;
    }
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

/// Selects the sums and gathers that this schedule takes part in. If no run of
/// it adds to one (its part stays zero), a count's sum starts after the
/// zeroing, and the others, which are not urgent, after the prologues.
void CollectiveInserter::select(ArrayRef<RankValue> values) {
  for (const RankValue &value : values) {
    bool isOfTraining = value.isBucket() || value.isScalar(RoleKind::Norm);
    if (schedule.getEvaluation() && isOfTraining)
      continue;
    if (!value.places.empty() && llvm::none_of(value.places, [&](int64_t p) {
          return schedule.isOf(p);
        }))
      continue;
    if (value.isGathered()) {
      gathered.push_back(&value);
      continue;
    }
    Operation *after = lastAdd.lookup(value.what);
    if (!after)
      after = value.isScalar(RoleKind::Global) ? zero : prologue;
    pending.push_back({&value, after, after ? positions.lookup(after) : 0});
  }
}

bool CollectiveInserter::spansPlaces(const RankValue &value) {
  return llvm::any_of(value.levels, [&](const CollectiveLevel &level) {
    return mesh.placesOf(level.group.getGeometry(), schedule.getPlace())
               .size() > 1;
  });
}

/// Orders the starts of a channel equally on all ranks of its group. Within one
/// place that is the order in which the sums become complete: all its ranks run
/// this table. Over several places it is the order of the list, so a start may
/// have to move after the starts that precede it in the list.
void CollectiveInserter::orderStarts() {
  DenseMap<int64_t, Pending> last; // by channel
  for (Pending &each : pending) {
    if (!spansPlaces(*each.value))
      continue;
    auto [it, isNew] = last.insert({each.value->levels.front().channel, each});
    if (!isNew && it->second.position > each.position) {
      each.after = it->second.after;
      each.position = it->second.position;
    }
    it->second = each;
  }
  // Addresses are in the order of the list.
  llvm::sort(pending, [](const Pending &a, const Pending &b) {
    return std::tie(a.position, a.value) < std::tie(b.position, b.value);
  });
}

/// Returns the action that needs the complete sum; null if only the end of the
/// list does.
Operation *CollectiveInserter::getReader(const RankValue &value) const {
  if (value.isBucket())
    return bucketReader;
  if (value.isScalar(RoleKind::Global)) {
    Operation *nested = nestedReader.lookup(value.what);
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

/// Inserts after the action, and after the sends that follow it: another place
/// waits for them.
void CollectiveInserter::setAfter(Operation *action) {
  Block &body = schedule.getBody().front();
  Block::iterator at = action ? std::next(action->getIterator()) : body.begin();
  while (at != body.end() && isa<StartOp, SendOp>(*at))
    ++at;
  builder.setInsertionPoint(&body, at);
}

Value CollectiveInserter::createStart(Location loc, const RankValue &value,
                                      unsigned level, IntegerAttr place) {
  const CollectiveLevel &each = value.levels[level];
  return StartOp::create(
      builder, loc, CollectiveAttr::get(builder.getContext(), each.kind),
      each.group, each.channel, value.what, each.isOfShard, place);
}

void CollectiveInserter::insert(const Pending &each) {
  setAfter(each.after);
  Value token =
      createStart(each.after ? each.after->getLoc() : schedule.getLoc(),
                  *each.value, /*level=*/0);
  open.push_back({each.value, token, 0});
}

/// Waits for the level in progress and starts the next one.
void CollectiveInserter::advance(Open &each) {
  createWait(each.token);
  each.token = createStart(schedule.getLoc(), *each.value, ++each.level);
}

/// Advances the first `count` sums that have levels left and are read after the
/// position. What other places take part in waits until the end: here this
/// place could wait for one that needs later actions of this one.
void CollectiveInserter::advanceFirst(unsigned count, unsigned position) {
  for (Open &each : MutableArrayRef(open).take_front(count)) {
    Operation *reader = getReader(*each.value);
    bool isDue = !reader || positions.lookup(reader) > position;
    if (each.hasNext() && isDue && !spansPlaces(*each.value))
      advance(each);
  }
}

/// Completes what the action reads, level by level.
void CollectiveInserter::complete(Operation *reader) {
  SmallVector<Open *> needed;
  for (Open &each : open)
    if (getReader(*each.value) == reader)
      needed.push_back(&each);
  setBefore(reader);
  for (bool isLeft = true; isLeft;) {
    isLeft = false;
    for (Open *each : needed)
      if (each->hasNext()) {
        advance(*each);
        isLeft = true;
      }
  }
  for (Open *each : needed)
    createWait(each->token);
}

/// Starts all sums, each where it is due, and the next level of those that have
/// been started before. Then waits for all of them.
void CollectiveInserter::insertSums() {
  for (auto [i, each] : llvm::enumerate(pending)) {
    unsigned started = open.size();
    if (i > 0 && pending[i - 1].position == each.position) {
      insert(each);
      continue;
    }
    insert(each);
    setAfter(each.after);
    advanceFirst(started, each.position);
  }
  llvm::SetVector<Operation *> readers;
  for (const Open &each : open)
    readers.insert(getReader(*each.value));
  for (Operation *reader : readers)
    complete(reader);
}

/// Completes a sum: all places start a level, then all wait for it.
void CollectiveInserter::insertLocally(const RankValue &value,
                                       Operation *reader) {
  setBefore(reader);
  Location loc = schedule.getLoc();
  for (unsigned level = 0, e = value.levels.size(); level < e; ++level) {
    SmallVector<Value> tokens;
    geometry::Group group = value.levels[level].group.getGeometry();
    for (int64_t place :
         mesh.placesOf(group, value.places.empty() ? 0 : value.places.front()))
      tokens.push_back(
          createStart(loc, value, level, builder.getI64IntegerAttr(place)));
    for (Value token : tokens)
      createWait(token);
  }
}

/// Starts to gather the parameters of each bucket after their update, and
/// leaves that in flight: what reads them in the next step or in an evaluation
/// waits for it.
void CollectiveInserter::gather() {
  if (gathered.empty())
    return;
  Block &body = schedule.getBody().front();
  auto type = TokenType::get(builder.getContext());
  SmallVector<Value> inFlight;
  for (const RankValue *value : gathered) {
    if (!schedule.getEvaluation()) {
      Operation *updated = update.lookup(value->what);
      builder.setInsertionPointAfter(updated);
      inFlight.push_back(createStart(updated->getLoc(), *value, /*level=*/0));
    }
    setBefore(paramReader.lookup(value->what));
    createWait(body.addArgument(type, schedule.getLoc()));
  }
  builder.setInsertionPointToEnd(&body);
  if (schedule.getEvaluation())
    for (size_t i = 0; i < gathered.size(); ++i)
      inFlight.push_back(DoneOp::create(builder, schedule.getLoc()));
  YieldOp::create(builder, schedule.getLoc(), inFlight);
}

void CollectiveInserter::run(ArrayRef<RankValue> values) {
  scan();
  select(values);
  if (schedule.isLocal()) {
    for (const Pending &each : pending)
      insertLocally(*each.value, getReader(*each.value));
    for (const RankValue *value : gathered)
      if (!schedule.getEvaluation())
        insertLocally(*value, /*reader=*/nullptr);
    return;
  }
  orderStarts();
  insertSums();
  gather();
}

struct InsertCollectives : pp::impl::InsertCollectivesBase<InsertCollectives> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    CollectiveList values(getOperation(), *plan);
    if (values.get().empty())
      return;
    TaskSums tasks(getOperation());
    geometry::Mesh mesh = plan->getGeometry();
    StepIndex index(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      CollectiveInserter(schedule, tasks, index, mesh).run(values.get());
  }
};

} // namespace
