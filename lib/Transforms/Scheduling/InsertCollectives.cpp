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

#include "ppopt/Analysis/TaskTimes.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
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

/// Inserts starts and waits into one schedule.
class CollectiveInserter {
public:
  CollectiveInserter(ScheduleOp schedule, const MemoryUses &uses,
                     const StepIndex &index, const geometry::Mesh &mesh)
      : schedule(schedule), uses(uses), index(index), mesh(mesh),
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
  void scan(RunOp run);
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
  const MemoryUses &uses;
  const StepIndex &index;
  const geometry::Mesh &mesh;
  OpBuilder builder;
  /// The last run that adds to each buffer.
  DenseMap<BufferAttr, Operation *> lastAdd;
  /// The first prologue that reads a count, if one does.
  DenseMap<BufferAttr, Operation *> nestedReader;
  /// The first action that reads the parameters of a bucket, and the run that
  /// updates them.
  DenseMap<BufferAttr, Operation *> paramReader, update;
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

static void setFirst(Operation *&first, Operation *action) {
  if (!first)
    first = action;
}

void CollectiveInserter::scan(RunOp run) {
  TaskOp task = index.getTask(run);
  TaskKind kind = task.getKind();
  for (const MemoryUse &use : uses.of(task)) {
    BufferKind of = use.buffer.getKind();
    if (use.access == MemoryUse::Access::Add)
      lastAdd[use.buffer] = run;
    else if (of == BufferKind::Global && kind == TaskKind::Prologue)
      nestedReader.try_emplace(use.buffer, run);
    if (of != BufferKind::Params)
      continue;
    paramReader.try_emplace(use.buffer, run);
    if (use.access == MemoryUse::Access::Update)
      update[use.buffer] = run;
  }
  if (kind == TaskKind::Decide)
    setFirst(decide, run);
  if (kind == TaskKind::Norm || kind == TaskKind::Decide ||
      kind == TaskKind::Update)
    setFirst(bucketReader, run);
  if (kind == TaskKind::Prologue)
    prologue = run;
  else if (kind != TaskKind::Open)
    setFirst(globalReader, run);
}

/// Finds the actions after and before which starts and waits are inserted.
void CollectiveInserter::scan() {
  for (Operation &action : schedule.getBody().front()) {
    positions[&action] = positions.size();
    if (isa<ZeroOp>(action)) {
      setFirst(zero, &action);
      prologue = &action;
    }
    if (isa<SendOp>(action))
      if (const StepCopy *copy = index.getCopy(&action);
          copy && !copy->isValue())
        paramReader.try_emplace(copy->getBuffer(), &action);
    if (auto run = dyn_cast<RunOp>(action))
      scan(run);
  }
}

/// Selects the sums and gathers that this schedule takes part in. If no run of
/// it adds to one (its part stays zero), a count's sum starts after the
/// zeroing, and the others, which are not urgent, after the prologues.
void CollectiveInserter::select(ArrayRef<RankValue> values) {
  for (const RankValue &value : values) {
    bool isOfTraining =
        value.is(BufferKind::Grads) || value.is(BufferKind::Norm);
    bool isOfEvaluation =
        value.is(BufferKind::Metric) || value.is(BufferKind::MetricCount);
    if (schedule.getEvaluation() ? isOfTraining
        : schedule.getAverage()  ? !value.is(BufferKind::Params)
                                 : isOfEvaluation)
      continue;
    if (!value.places.empty() && llvm::none_of(value.places, [&](int64_t p) {
          return schedule.isOf(p);
        }))
      continue;
    if (value.is(BufferKind::Params)) {
      gathered.push_back(&value);
      continue;
    }
    Operation *after = lastAdd.lookup(value.buffer);
    if (!after)
      after = value.is(BufferKind::Global) ? zero : prologue;
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
  if (value.is(BufferKind::Grads))
    return bucketReader;
  if (value.is(BufferKind::Global)) {
    Operation *nested = nestedReader.lookup(value.buffer);
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
      each.group, each.channel, value.buffer, each.isOfShard, place);
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

/// Starts to gather the parameters of each bucket after their update. A step
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
      Operation *updated = update.lookup(value->buffer);
      builder.setInsertionPointAfter(updated);
      inFlight.push_back(createStart(updated->getLoc(), *value, /*level=*/0));
    }
    setBefore(paramReader.lookup(value->buffer));
    createWait(body.addArgument(type, schedule.getLoc()));
  }
  builder.setInsertionPointToEnd(&body);
  if (!schedule.isTraining()) {
    for (Value token : std::exchange(inFlight, {}))
      createWait(token);
    for (size_t i = 0; i < gathered.size(); ++i)
      inFlight.push_back(DoneOp::create(builder, schedule.getLoc()));
  }
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
    markAnalysesPreserved<TaskTimes>();
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    BufferIndex buffers(getOperation());
    MemoryUses uses(getOperation(), buffers);
    CollectiveList values(getOperation(), *plan, uses, buffers.getNorm());
    if (values.get().empty())
      return;
    geometry::Mesh mesh = plan->getGeometry();
    StepIndex index(getOperation());
    for (auto schedule : getOperation().getOps<ScheduleOp>())
      CollectiveInserter(schedule, uses, index, mesh).run(values.get());
  }
};

} // namespace
