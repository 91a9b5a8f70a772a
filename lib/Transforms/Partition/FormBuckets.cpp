//===- FormBuckets.cpp - Orders parameters into buckets -------------------===//
//
// Before: tasks and parameter declarations. After: pp.buckets, in the order in
// which their gradients are ready; the same stages add to all gradients of a
// bucket, the same places hold its parameters, and the same axes cut them.
// Then, if ranks shard parameters, those of parameters that nothing updates.
// Each place has a task that sums the squares of a chunk of each bucket that it
// updates (one task for the buckets that the same axes cut), a task that
// decides whether updates change anything, and an update task per bucket.
// Each place that borrows a bucket has the transfers to it and back, and the
// owner has a task that adds the gradients that come back.
//
// Buckets, their chunks and the order of all sums are the same whether state is
// sharded or not. Only what an update works on differs. One exception:
// gradients that are sharded are summed inside tasks, over the ranks of one
// place, so a bucket of several places has a shard on each of them.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/OptimizerStep.h"
#include "ppopt/Transforms/Partition/Passes.h"
#include "ppopt/Transforms/Partition/StateTasks.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

namespace mlir::pp {
#define GEN_PASS_DEF_FORMBUCKETS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;
namespace geometry = ppopt::geometry;

namespace {

/// Parameters and buckets begin at multiples of this number of elements, so
/// that every buffer is aligned to 64 bytes whatever its type.
constexpr int64_t kElementAlignment = 32;

/// The type that all tasks convert a parameter to before they use it; null if
/// some use it as it is.
using ReadTypes = llvm::StringMap<Type>;

/// What is known of a parameter's gradient from the tasks that add to it.
struct Gradient {
  std::set<int64_t> stages;  ///< of these tasks
  ArrayRef<StringAttr> sums; ///< axes that it is a partial sum over
};

/// What the parameters of a bucket have in common.
struct BucketKey {
  /// Of what nothing updates.
  BucketKey(ParamDeclOp param, std::set<int64_t> readers, Type readType,
            const geometry::Mesh &mesh)
      : places(param.getPlaces()), stages(std::move(readers)),
        cutAxes(getTileAxes(param, mesh)),
        type(cast<RankedTensorType>(param.getType()).getElementType()),
        readType(readType) {}
  BucketKey(ParamDeclOp param, const Gradient &gradient, Type readType,
            const geometry::Mesh &mesh)
      : BucketKey(param, gradient.stages, readType, mesh) {
    isConstant = false;
    sums = gradient.sums;
    if (std::optional<APFloat> scale = param.getLrScale())
      lrScale = scale->convertToDouble();
    if (std::optional<APFloat> scale = param.getDecayScale())
      decayScale = scale->convertToDouble();
    if (param.getNoDecay())
      decayScale = 0;
  }

  bool operator==(const BucketKey &other) const {
    auto fields = [](const BucketKey &key) {
      return std::tie(key.isConstant, key.places, key.stages, key.sums,
                      key.cutAxes, key.type, key.readType, key.lrScale,
                      key.decayScale);
    };
    return fields(*this) == fields(other);
  }

  bool isConstant = true;
  ArrayRef<int64_t> places;
  std::set<int64_t> stages; ///< that add to its gradients, or that read it
  ArrayRef<StringAttr> sums;
  SmallVector<StringAttr> cutAxes;
  Type type, readType;
  double lrScale = 1, decayScale = 1;
};

struct OpenBucket {
  BucketKey key;
  Location loc;
  SmallVector<StringRef> params;
  SmallVector<int64_t> offsets;
  int64_t elements = 0;
};

/// The ranks that sum a bucket's gradients. A group is null if it is one rank.
struct SumGroups {
  GroupAttr shard, replica;
};

/// Returns the tasks whose results add to gradients, in the order in which a
/// microbatch runs them: the last stage first.
SmallVector<TaskOp> findBackwardTasks(ModuleOp module) {
  std::map<int64_t, SmallVector<TaskOp>, std::greater<int64_t>> byStage;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (task.getResultRole(i).getKind() == RoleKind::Grad) {
        byStage[task.getStage()].push_back(task);
        break;
      }
  SmallVector<TaskOp> tasks;
  for (auto &[stage, ofStage] : byStage)
    tasks.append(ofStage);
  return tasks;
}

/// Finds the parameters that all tasks convert to one narrower type.
ReadTypes findReadTypes(ModuleOp module) {
  ReadTypes types;
  auto note = [&](StringRef param, Value value, Operation *reader) {
    auto cast = dyn_cast<CastOp>(reader);
    Type type = cast ? getElementTypeOrSelf(cast.getResult()) : Type();
    bool isNarrower = type && isa<FloatType>(type) &&
                      type.getIntOrFloatBitWidth() <
                          getElementTypeOrSelf(value).getIntOrFloatBitWidth();
    auto [it, isNew] = types.insert({param, isNarrower ? type : Type()});
    if (!isNarrower || it->second != type)
      it->second = Type();
  };
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
      if (RoleAttr role = task.getArgRole(i); role.getKind() == RoleKind::Param)
        for (Operation *reader : task.getArgument(i).getUsers())
          note(role.getName(), task.getArgument(i), reader);
  return types;
}

/// Returns the parameters whose gradient accumulates in some task, in the order
/// in which the last addition to each is done.
SmallVector<StringRef> orderByReadiness(ModuleOp module) {
  llvm::StringMap<unsigned> last;
  SmallVector<StringRef> additions;
  for (TaskOp task : findBackwardTasks(module)) {
    SmallVector<std::pair<Operation *, StringRef>> ready;
    Operation *ret = task.getBody().front().getTerminator();
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (task.getResultRole(i).getKind() == RoleKind::Grad)
        ready.push_back({ret->getOperand(i).getDefiningOp(),
                         task.getResultRole(i).getName()});
    llvm::sort(ready, [](auto &a, auto &b) {
      return a.first->isBeforeInBlock(b.first);
    });
    for (auto &[op, name] : ready) {
      last[name] = additions.size();
      additions.push_back(name);
    }
  }
  SmallVector<StringRef> order;
  for (auto [i, name] : llvm::enumerate(additions))
    if (last.lookup(name) == i)
      order.push_back(name);
  return order;
}

/// Returns the parameters that no step changes, in the order in which stages
/// first read them, with the stages that do. Those that none reads are last.
llvm::MapVector<StringRef, std::set<int64_t>> findConstants(ModuleOp module) {
  llvm::MapVector<StringRef, std::set<int64_t>> constants;
  DenseSet<StringRef> changed;
  for (auto param : module.getOps<ParamDeclOp>())
    if (param.getLearns() || param.getState()) // steps change a state
      changed.insert(param.getParamName());
  std::map<int64_t, SmallVector<TaskOp>> byStage;
  for (auto task : module.getOps<TaskOp>())
    byStage[task.getStage()].push_back(task);
  for (auto &[stage, tasks] : byStage)
    for (TaskOp task : tasks) {
      SmallVector<std::pair<Operation *, StringRef>> reads;
      for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
        if (RoleAttr role = task.getArgRole(i);
            role.getKind() == RoleKind::Param &&
            !changed.contains(role.getName()))
          for (Operation *user : task.getArgument(i).getUsers())
            reads.push_back({user, role.getName()});
      llvm::stable_sort(reads, [](auto &a, auto &b) {
        return a.first->isBeforeInBlock(b.first);
      });
      for (auto &[user, name] : reads)
        constants[name].insert(stage);
    }
  for (auto param : module.getOps<ParamDeclOp>())
    if (!changed.contains(param.getParamName()))
      constants.try_emplace(param.getParamName());
  return constants;
}

/// Warns that --zero has no effect, and says what gives it one: a local launch
/// takes no axis that splits the batch.
void warnOfNoShards(PlanOp plan) {
  InFlightDiagnostic diag = plan.emitWarning("--zero ")
                            << plan.getZero() << " shards nothing: ";
  if (plan.getLaunch() == Launch::local)
    diag << "--launch local is one process without data-parallel ranks; leave "
            "out --zero, or replace --launch local by an axis that splits the "
            "batch, as --mesh dp=2";
  else
    diag << "no axis of --mesh splits the batch over more than one rank; add "
            "one, as --mesh dp=2, or leave out --zero";
}

/// Returns whether another place adds the squares of the chunk that this place
/// has too.
bool isNormedElsewhere(BucketOp bucket, int64_t place) {
  std::optional<GroupAttr> replicas = bucket.getReplicaGroup();
  return replicas &&
         llvm::is_contained(replicas->getGeometry().axes,
                            geometry::placeAxis) &&
         bucket.getUpdatePlaces().front() != place;
}

/// Checks that what the plan's stage and its trainers need is there.
LogicalResult checkStage(BucketOp bucket, PlanOp plan) {
  if (bucket.getOwners() && bucket.getPlaces().size() > 1)
    return emitError(bucket.getLoc(), "--sync ")
           << schema::spell(plan.getSync()) << ": places " << bucket.getPlaces()
           << " use " << bucket.getParams()
           << ", whose copies would be updated in different orders; use --sync "
              "step, or a cut that leaves them on one place";
  if (plan.getZero() < 2 || !bucket.getBorrowed())
    return success();
  return emitError(bucket.getLoc(), "--zero ")
         << plan.getZero() << " with --tied owner: places "
         << bucket.getPlaces() << " use " << bucket.getParams()
         << ", whose gradients the owner would have to gather; use --tied sum, "
            "or --zero 1";
}

/// Returns the states that tasks of each place propose values of.
std::map<int64_t, SmallVector<ParamDeclOp>> findProposed(ModuleOp module) {
  llvm::StringMap<ParamDeclOp> declared;
  for (auto param : module.getOps<ParamDeclOp>())
    declared[param.getParamName()] = param;
  std::map<int64_t, SmallVector<ParamDeclOp>> states;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (RoleAttr role = task.getResultRole(i);
          role.getKind() == RoleKind::Proposal)
        states[task.getPlace()].push_back(declared.lookup(role.getName()));
  return states;
}

/// Checks that the plan has steps that all ranks commit together.
LogicalResult checkState(ParamDeclOp state, PlanOp plan) {
  if (plan.getSync() == Sync::step)
    return success();
  return state.emitOpError("'")
         << state.getParamName() << "' is a state, and with --sync "
         << schema::spell(plan.getSync())
         << " no step is one of all trainers; use --sync step";
}

/// Returns the block of a region of the step, which may be empty yet.
Block *getBlock(Region &region) {
  return region.empty() ? &region.emplaceBlock() : &region.front();
}

llvm::StringMap<Gradient> findGradients(ModuleOp module) {
  llvm::StringMap<Gradient> gradients;
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i) {
      if (task.getResultRole(i).getKind() != RoleKind::Grad)
        continue;
      Gradient &gradient = gradients[task.getResultRole(i).getName()];
      gradient.stages.insert(task.getStage());
      if (auto sharding =
              task.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
        gradient.sums = sharding.getSums();
    }
  return gradients;
}

/// Collects parameters into buckets and writes those that are full, and at the
/// end the others.
class BucketFormer {
public:
  BucketFormer(PlanOp plan, OpBuilder &builder)
      : plan(plan), builder(builder), mesh(plan.getGeometry()) {}

  void add(ParamDeclOp param, BucketKey key);
  /// Writes the buckets that are not full. Others may follow.
  void close();
  SmallVector<BucketOp> take() { return std::move(buckets); }

private:
  SumGroups findGroups(const BucketKey &key, bool isBorrowed);
  void write(const OpenBucket &bucket);

  PlanOp plan;
  OpBuilder &builder;
  geometry::Mesh mesh;
  SmallVector<OpenBucket, 0> open;
  SmallVector<BucketOp> buckets;
};

void BucketFormer::add(ParamDeclOp param, BucketKey key) {
  auto type = cast<RankedTensorType>(param.getType());
  auto *found = llvm::find_if(
      open, [&](OpenBucket &bucket) { return bucket.key == key; });
  if (found == open.end()) {
    open.push_back({std::move(key), param.getLoc(), {}, {}, 0});
    found = &open.back();
  }
  found->params.push_back(param.getParamName());
  found->offsets.push_back(found->elements);
  found->elements =
      llvm::alignTo(found->elements + type.getNumElements(), kElementAlignment);
  if (found->elements * type.getElementTypeBitWidth() / 8 >=
      plan.getBucketBytes()) {
    write(*found);
    open.erase(found);
  }
}

void BucketFormer::close() {
  for (OpenBucket &bucket : open)
    write(bucket);
  open.clear();
}

/// Finds the axes of the mesh that the gradients of a bucket are summed over:
/// the axis that state is sharded over, with the places that update the bucket
/// unless each has a shard, and then the others. What is constant is sharded
/// over the first.
SumGroups BucketFormer::findGroups(const BucketKey &key, bool isBorrowed) {
  bool isTied = key.places.size() > 1 && !isBorrowed && !key.isConstant;
  // Gradients that are sharded are summed over the ranks of one place.
  bool isShardedOnEachPlace = plan.getZero() >= 2;
  SmallVector<StringAttr> shard, replica;
  for (const geometry::Axis &axis : mesh) {
    StringAttr name = builder.getStringAttr(axis.name);
    if (axis.size == 1)
      continue;
    if (axis.name == geometry::placeAxis) {
      if (isTied)
        (isShardedOnEachPlace ? replica : shard).push_back(name);
    } else if (key.isConstant || llvm::is_contained(key.sums, name)) {
      if (axis.name == mesh.shardAxis())
        shard.push_back(name);
      else if (!key.isConstant)
        replica.push_back(name);
    }
  }
  auto getGroup = [&](ArrayRef<StringAttr> axes) -> GroupAttr {
    bool spansPlaces = llvm::is_contained(axes, geometry::placeAxis);
    return axes.empty()
               ? GroupAttr()
               : GroupAttr::get(plan.getContext(), axes,
                                spansPlaces ? key.places : ArrayRef<int64_t>());
  };
  return {getGroup(shard), getGroup(replica)};
}

void BucketFormer::write(const OpenBucket &bucket) {
  const BucketKey &key = bucket.key;
  bool isAsynchronous = plan.getSync() != Sync::step;
  bool isBorrowed = plan.getTied() == Tied::owner && key.places.size() > 1 &&
                    !isAsynchronous && !key.isConstant;
  // checkStage() refuses what several places hold
  SumGroups groups = isAsynchronous ? SumGroups() : findGroups(key, isBorrowed);
  auto sizeOf = [&](GroupAttr group) {
    return group ? mesh.size(group.getGeometry()) : 1;
  };
  int64_t padding = kElementAlignment * sizeOf(groups.shard) *
                    sizeOf(groups.replica) * plan.getTrainers();
  std::optional<ShardedState> state = getShardedState(plan);
  ShardedStateAttr sharded;
  if (state && groups.shard)
    sharded = ShardedStateAttr::get(plan.getContext(), *state);
  buckets.push_back(BucketOp::create(
      builder, bucket.loc, "b" + std::to_string(buckets.size()),
      builder.getStrArrayAttr(bucket.params), bucket.offsets,
      llvm::alignTo(bucket.elements, padding), key.type, APFloat(key.lrScale),
      APFloat(key.decayScale), key.isConstant, key.places, isBorrowed,
      groups.shard, groups.replica, sharded,
      key.readType ? TypeAttr::get(key.readType) : TypeAttr(),
      isAsynchronous ? builder.getI64IntegerAttr(plan.getTrainers())
                     : IntegerAttr()));
}

SmallVector<BucketOp> formBuckets(ModuleOp module, PlanOp plan,
                                  OpBuilder &builder) {
  llvm::StringMap<ParamDeclOp> declared;
  for (auto param : module.getOps<ParamDeclOp>())
    declared[param.getParamName()] = param;
  llvm::StringMap<Gradient> gradients = findGradients(module);
  ReadTypes readTypes = findReadTypes(module);
  geometry::Mesh mesh = plan.getGeometry();
  BucketFormer former(plan, builder);
  for (StringRef name : orderByReadiness(module)) {
    ParamDeclOp param = declared.lookup(name);
    former.add(param,
               BucketKey(param, gradients[name], readTypes.lookup(name), mesh));
  }
  former.close();
  if (getShardedState(plan) == ShardedState::Parameters &&
      mesh.size(mesh.shardAxis()) > 1)
    for (auto &[name, stages] : findConstants(module)) {
      ParamDeclOp param = declared.lookup(name);
      former.add(param, BucketKey(param, stages, readTypes.lookup(name), mesh));
    }
  former.close();
  return former.take();
}

struct FormBuckets : pp::impl::FormBucketsBase<FormBuckets> {
  using FormBucketsBase::FormBucketsBase;

  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan))
      return signalPassFailure();
    auto tasks = getOperation().getOps<TaskOp>();
    if (tasks.empty())
      return;
    OpBuilder builder(*tasks.begin());
    SmallVector<BucketOp> buckets = formBuckets(getOperation(), *plan, builder);
    StepOp step = findStep(getOperation());
    if (!step) {
      getOperation().emitError("has tasks, and no pp.step that calls them");
      return signalPassFailure();
    }
    for (const auto &[id, copy] : StepCopies(getOperation()))
      nextCopy = id + 1;
    builder.setInsertionPoint(step);
    std::map<int64_t, SmallVector<BucketOp>> updatedBy;
    for (BucketOp bucket : buckets) {
      if (bucket.getConstant())
        continue;
      if (failed(checkStage(bucket, *plan)) ||
          failed(checkChunks(bucket, *plan)))
        return signalPassFailure();
      for (int64_t place : bucket.getUpdatePlaces())
        updatedBy[place].push_back(bucket);
      if (bucket.getBorrowed())
        lend(bucket, step, builder);
    }
    std::map<int64_t, SmallVector<ParamDeclOp>> statesOf =
        findProposed(getOperation());
    for (auto &[place, states] : statesOf)
      if (failed(checkState(states.front(), *plan)))
        return signalPassFailure();
    bool learns = !updatedBy.empty();
    if (!learns && statesOf.empty())
      return;
    std::optional<TaskOperand> loss;
    SmallVector<TaskOperand> counts;
    findDeciding(loss, counts);
    if (!loss) {
      plan->emitOpError("has parameters to update, and no task has a loss");
      return signalPassFailure();
    }
    if (learns && plan->getZero() >= 1 && plan->getSync() == Sync::step &&
        llvm::none_of(buckets, [](BucketOp b) { return b.hasShardedStates(); }))
      warnOfNoShards(*plan);
    NormLayout layout(getOperation());
    for (int64_t place = 0; place < plan->getPlaces(); ++place) {
      ArrayRef<BucketOp> updated = updatedBy[place];
      for (auto [i, cutAxes] : llvm::enumerate(layout.getClasses())) {
        SmallVector<BucketOp> normed(updated);
        llvm::erase_if(normed, [&, i = i](BucketOp bucket) {
          return isNormedElsewhere(bucket, place) ||
                 layout.getClass(bucket) != i;
        });
        if (!normed.empty())
          buildNormTask(*plan, place, normed, cutAxes, builder);
      }
      buildDecideTask(*plan, place, *loss, counts, layout, builder);
      for (BucketOp bucket : updated)
        buildUpdateTask(*plan, place, bucket, builder);
      for (BucketOp bucket : updated)
        buildAverageTask(*plan, place, bucket, builder);
      if (auto states = statesOf.find(place); states != statesOf.end()) {
        buildOpenTask(place, states->second, builder);
        buildCommitTask(place, states->second, builder);
      }
    }
    if (!statesOf.empty())
      callAll(TaskKind::Open, step.getBegin());
    callEnd(step);
    if (learns && plan->getEma())
      callAll(TaskKind::Average, step.getAverage());
  }

private:
  void findDeciding(std::optional<TaskOperand> &loss,
                    SmallVectorImpl<TaskOperand> &counts);
  void lend(BucketOp bucket, StepOp step, OpBuilder &builder);
  void callEnd(StepOp step);
  void callAll(TaskKind kind, Region &region);
  LogicalResult checkChunks(BucketOp bucket, PlanOp plan);

  int64_t nextCopy = 0;
  /// The tasks that add the gradients that come back of borrowed buckets.
  SmallVector<std::pair<TaskOp, SmallVector<Value>>> collects;
};

/// Finds the loss, which some task adds to, and the counts.
void FormBuckets::findDeciding(std::optional<TaskOperand> &loss,
                               SmallVectorImpl<TaskOperand> &counts) {
  for (auto task : getOperation().getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
      TaskOperand operand = {task.getArgRole(i), task.getArgumentTypes()[i]};
      if (operand.role.getKind() == RoleKind::Loss)
        loss = operand;
      else if (task.getArgAttr(i, kCountAttr))
        counts.push_back(operand);
    }
}

/// Copies the parameters to each borrower and the gradients back, to a task
/// that adds them.
void FormBuckets::lend(BucketOp bucket, StepOp step, OpBuilder &builder) {
  int64_t owner = bucket.getPlaces().front();
  auto type =
      RankedTensorType::get({bucket.getElements()}, getGradType(bucket));
  auto begin = OpBuilder::atBlockEnd(getBlock(step.getBegin()));
  auto end = OpBuilder::atBlockEnd(getBlock(step.getEnd()));
  SmallVector<Value> back;
  for (int64_t place : bucket.getBorrowers()) {
    int64_t id = nextCopy++;
    CopyBucketOp::create(begin, bucket.getLoc(), TypeRange(),
                         bucket.getSymName(), owner, place, id,
                         /*gradient_of=*/IntegerAttr(),
                         /*slot=*/IntegerAttr());
    auto copy = CopyBucketOp::create(end, bucket.getLoc(), TypeRange(type),
                                     bucket.getSymName(), place, owner,
                                     nextCopy++, builder.getI64IntegerAttr(id),
                                     /*slot=*/IntegerAttr());
    back.push_back(copy.getGradients());
  }
  collects.emplace_back(buildCollectTask(bucket, back.size(), type, builder),
                        back);
}

/// Calls what a step ends with: all tasks of one kind before those of the next.
void FormBuckets::callEnd(StepOp step) {
  auto builder = OpBuilder::atBlockEnd(getBlock(step.getEnd()));
  for (auto &[task, back] : collects)
    CallOp::create(builder, task.getLoc(), TypeRange(), task.getSymName(),
                   back);
  for (TaskKind kind :
       {TaskKind::Norm, TaskKind::Decide, TaskKind::Update, TaskKind::Commit})
    callAll(kind, step.getEnd());
}

/// Calls the tasks of a kind, which take no values.
void FormBuckets::callAll(TaskKind kind, Region &region) {
  auto builder = OpBuilder::atBlockEnd(getBlock(region));
  for (auto task : getOperation().getOps<TaskOp>())
    if (task.getKind() == kind)
      CallOp::create(builder, task.getLoc(), TypeRange(), task.getSymName(),
                     ValueRange());
}

/// Checks that a place has as many chunks of the bucket as of any other: the
/// norm counts each chunk once.
LogicalResult FormBuckets::checkChunks(BucketOp bucket, PlanOp plan) {
  ChunkPosition position =
      getChunkPosition(bucket, plan.getGeometry(), bucket.getPlaces().front());
  int64_t chunks = 1;
  for (const ChunkPosition::Step &step : position.steps)
    chunks *= step.size;
  if (chunks == getPlaceChunks(plan))
    return success();
  std::string_view axis = plan.getGeometry().shardAxis();
  return bucket.emitOpError("the gradients of ")
         << bucket.getParams() << " are no sums over '"
         << StringRef(axis.data(), axis.size())
         << "', which splits the batch: they do not depend on the batch";
}

} // namespace
