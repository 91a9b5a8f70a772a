//===- VerifyTasks.cpp - Checks the contract between tasks ----------------===//
//
// The contract of phase `partitioned`. Changes nothing. Each place can supply
// the state that its tasks take: parameters and buckets that it holds, declared
// inputs, counts that a prologue computes. StepChecker checks the values that
// tasks hand to one another.
//
//===----------------------------------------------------------------------===//

#include "ShardChecker.h"
#include "StepChecker.h"

#include "ppopt/Analysis/Buffers.h"
#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Analysis/Shardings.h"
#include "ppopt/Analysis/StepCopies.h"
#include "ppopt/Analysis/TaskCollectives.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"
#include "ppopt/Dialect/PP/StepOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Partition/Passes.h"

namespace mlir::pp {
#define GEN_PASS_DEF_VERIFYTASKS
#include "ppopt/Transforms/Partition/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

/// What state is to a task. Equal local shapes may be parts of different
/// wholes.
struct Contract {
  Type type;
  ShardingAttr sharding; ///< null if it is the same on all ranks
};

class TaskChecker {
public:
  TaskChecker(ModuleOp module, PlanOp plan)
      : module(module), plan(plan), places(plan.getPlaces()) {}

  LogicalResult check();

private:
  LogicalResult index();
  LogicalResult checkCutAxes(BucketOp bucket);
  LogicalResult checkResult(TaskOp task, RoleAttr role);
  LogicalResult check(TaskOp task);
  LogicalResult checkArgument(TaskOp task, RoleAttr role,
                              const Contract &taken);
  LogicalResult checkGradient(TaskOp task, RoleAttr role, ShardingAttr gradient,
                              ShardingAttr param);
  LogicalResult checkRange(TaskOp task, RoleAttr role, Type type);
  LogicalResult checkCollectives(TaskOp task);
  LogicalResult checkGroup(CollectiveOpInterface op, int64_t place);
  LogicalResult checkPlace(Operation *op, int64_t place) {
    if (place >= 0 && place < places)
      return success();
    return op->emitOpError("is on place ")
           << place << ", and the plan has " << places;
  }
  LogicalResult expectType(Operation *op, RoleAttr role, Type found,
                           Type expected) {
    if (found == expected)
      return success();
    return op->emitOpError("has ")
           << role << " as " << found << ", but it is " << expected;
  }
  LogicalResult expectSharding(Operation *op, RoleAttr role, ShardingAttr found,
                               ShardingAttr expected);
  LogicalResult expect(Operation *op, RoleAttr role, const Contract &found,
                       const Contract &expected) {
    return success(
        succeeded(expectType(op, role, found.type, expected.type)) &&
        succeeded(expectSharding(op, role, found.sharding, expected.sharding)));
  }

  ModuleOp module;
  PlanOp plan;
  int64_t places;
  llvm::StringMap<TaskOp> globals;
  /// The tasks that compute fields of the step state, by place.
  DenseMap<std::pair<int64_t, Attribute>, TaskOp> decided;
  llvm::StringMap<ShardingAttr> added; ///< what tasks add to gradients
  llvm::StringMap<ParamDeclOp> params;
  llvm::StringMap<BucketOp> buckets, bucketOf; // by parameter
  llvm::StringMap<InputDeclOp> inputs;
  DenseMap<int64_t, TaskOp> firstOfStage;
};

static ShardingAttr getSharding(Operation *declaration) {
  return declaration->getAttrOfType<ShardingAttr>(kShardingAttr);
}

LogicalResult TaskChecker::expectSharding(Operation *op, RoleAttr role,
                                          ShardingAttr found,
                                          ShardingAttr expected) {
  if (found == expected)
    return success();
  InFlightDiagnostic diag = op->emitOpError("has ") << role << " as ";
  spell(diag, found);
  diag << ", but it is ";
  spell(diag, expected);
  return diag;
}

/// Checks that a gradient is cut as its parameter is, and a partial sum over
/// the same axes wherever tasks add to it.
LogicalResult TaskChecker::checkGradient(TaskOp task, RoleAttr role,
                                         ShardingAttr gradient,
                                         ShardingAttr param) {
  ArrayRef<DimCut> cuts = gradient ? gradient.getCuts() : ArrayRef<DimCut>();
  if (cuts != (param ? param.getCuts() : ArrayRef<DimCut>()))
    return expectSharding(task, role, gradient, param);
  auto [known, isNew] = added.insert({role.getName(), gradient});
  return isNew ? success()
               : expectSharding(task, role, gradient, known->second);
}

/// Checks that a count or, on a place, a field of the step state is made by one
/// task only, and that tasks of their kinds propose and commit states.
LogicalResult TaskChecker::checkResult(TaskOp task, RoleAttr role) {
  TaskKind kind = task.getKind();
  if (role.getKind() == RoleKind::Proposal && kind != TaskKind::Open &&
      kind != TaskKind::Forward)
    return task.emitOpError("computes ")
           << role << ", which only a forward and an open may";
  if (role.getKind() == RoleKind::Param && kind != TaskKind::Commit)
    return task.emitOpError("computes ") << role << ", which only a commit may";
  TaskOp first;
  if (role.getKind() == RoleKind::Global) {
    if (task.getKind() != TaskKind::Prologue)
      return task.emitOpError("computes ")
             << role << ", which only a prologue may";
    auto [it, isNew] = globals.insert({role.getName(), task});
    if (!isNew)
      first = it->second;
  } else if (role.getKind() == RoleKind::StepState) {
    if (!isDecidedField(role.getName()))
      return task.emitOpError("computes ")
             << role << ", which is given before a step";
    auto [it, isNew] = decided.insert({{task.getPlace(), role}, task});
    if (!isNew)
      first = it->second;
  }
  if (!first)
    return success();
  InFlightDiagnostic diag = task.emitOpError("makes ")
                            << role << ", as another task does";
  diag.attachNote(first.getLoc()) << "the other is here";
  return diag;
}

/// Checks that the same axes cut all parameters of a bucket: the ranks that sum
/// it, and those that have copies of it, are the same for each.
LogicalResult TaskChecker::checkCutAxes(BucketOp bucket) {
  StringRef first;
  SmallVector<StringAttr> axes;
  auto spellAxes = [](InFlightDiagnostic &diag, ArrayRef<StringAttr> axes) {
    diag << "{";
    llvm::interleaveComma(axes, diag,
                          [&](StringAttr axis) { diag << axis.getValue(); });
    diag << "}";
  };
  for (auto name : bucket.getParams().getAsRange<StringAttr>()) {
    ParamDeclOp param = params.lookup(name.getValue());
    if (!param)
      continue; // what its tasks take is refused
    SmallVector<StringAttr> cut = getTileAxes(param, plan.getGeometry());
    if (first.empty()) {
      first = name.getValue();
      axes = cut;
    }
    if (cut == axes)
      continue;
    InFlightDiagnostic diag = bucket.emitOpError("has \"");
    diag << first << "\", which ";
    spellAxes(diag, axes);
    diag << " cuts, and \"" << name.getValue() << "\", which ";
    spellAxes(diag, cut);
    return diag << " cuts";
  }
  return success();
}

LogicalResult TaskChecker::index() {
  for (auto input : module.getOps<InputDeclOp>())
    inputs[input.getInputName()] = input;
  for (auto param : module.getOps<ParamDeclOp>()) {
    params[param.getParamName()] = param;
    for (int64_t place : param.getPlaces())
      if (failed(checkPlace(param, place)))
        return failure();
  }
  for (auto bucket : module.getOps<BucketOp>()) {
    buckets[bucket.getSymName()] = bucket;
    for (auto name : bucket.getParams().getAsRange<StringAttr>())
      bucketOf[name.getValue()] = bucket;
    if (failed(checkCutAxes(bucket)))
      return failure();
  }
  for (auto task : module.getOps<TaskOp>())
    for (unsigned i = 0, e = task.getNumResults(); i < e; ++i)
      if (failed(checkResult(task, task.getResultRole(i))))
        return failure();
  return success();
}

/// Checks a range of a bucket that the place holds: all of it or, of gradients
/// and of a sharded bucket, one chunk.
LogicalResult TaskChecker::checkRange(TaskOp task, RoleAttr role, Type type) {
  BucketOp bucket = buckets.lookup(role.getName());
  if (!bucket || !llvm::is_contained(bucket.getPlaces(), task.getPlace()))
    return task.emitOpError("takes ")
           << role << ", but place " << task.getPlace()
           << " holds no such bucket";
  bool isGradient = role.getKind() == RoleKind::GradRange;
  if (bucket.getConstant() && (role.getKind() != RoleKind::ParamRange ||
                               updatesBuckets(task.getKind())))
    return task.emitOpError("takes ")
           << role << ", and the bucket is constant: nothing updates it";
  auto whole = RankedTensorType::get({bucket.getElements()},
                                     isGradient ? getGradType(bucket)
                                                : bucket.getType());
  auto chunk = whole.clone(
      ArrayRef{bucket.getElements() / bucket.getChunks(plan.getGeometry())});
  bool isOfStage = task.getStage() != TaskOp::kNoStage;
  bool isChunk =
      isGradient ? bucket.hasShardedGradients() : bucket.hasShardedParams();
  if (isOfStage && !isChunk)
    return task.emitOpError("takes ") << role << ", of which each rank has all";
  if (isOfStage || task.getKind() == TaskKind::Norm)
    whole = chunk;
  else if (updatesBuckets(task.getKind()))
    whole = whole.clone(ArrayRef{bucket.getUpdateElements(plan.getGeometry())});
  return expectType(task, role, type, whole);
}

LogicalResult TaskChecker::checkArgument(TaskOp task, RoleAttr role,
                                         const Contract &taken) {
  Type type = taken.type;
  StringRef name = role.getName();
  auto isHere = [&](ArrayRef<int64_t> list) {
    return llvm::is_contained(list, task.getPlace());
  };
  switch (role.getKind()) {
  case RoleKind::Param:
  case RoleKind::Grad: {
    ParamDeclOp param = params.lookup(name);
    if (!param || !isHere(param.getPlaces()))
      return task.emitOpError("takes ")
             << role << ", but place " << task.getPlace()
             << " holds no such parameter";
    BucketOp bucket = bucketOf.lookup(name);
    if (role.getKind() == RoleKind::Grad && (!bucket || bucket.getConstant()))
      return task.emitOpError("adds to ")
             << role << ", which no bucket updates";
    bool isWhole = !bucket || !(role.getKind() == RoleKind::Param
                                    ? bucket.hasShardedParams()
                                    : bucket.hasShardedGradients());
    if (!isWhole)
      return task.emitOpError("takes ")
             << role << ", of which a rank has its chunk of "
             << bucket.getSymNameAttr() << " only";
    if (role.getKind() == RoleKind::Param)
      return expect(task, role, taken, {param.getType(), getSharding(param)});
    if (failed(checkGradient(task, role, taken.sharding, getSharding(param))))
      return failure();
    return expectType(
        task, role, type,
        cast<RankedTensorType>(param.getType()).clone(getGradType(bucket)));
  }
  case RoleKind::Input:
    if (!inputs.lookup(name))
      return task.emitOpError("takes ") << role << ", which is not declared";
    return expectSharding(task, role, taken.sharding,
                          getSharding(inputs.lookup(name)));
  case RoleKind::Global:
    if (!globals.lookup(name))
      return task.emitOpError("takes ")
             << role << ", which no prologue computes";
    return success();
  case RoleKind::ParamRange:
  case RoleKind::GradRange:
  case RoleKind::StateRange:
    return checkRange(task, role, type);
  case RoleKind::StepState:
    if (isDecidedField(name) && !decided.lookup({task.getPlace(), role}))
      return task.emitOpError("takes ") << role << ", which no task of place "
                                        << task.getPlace() << " computes";
    return success();
  case RoleKind::Value: // StepChecker
  case RoleKind::Loss:
  case RoleKind::Norm:
  case RoleKind::Cache:
  case RoleKind::Output:
  case RoleKind::Check:
  case RoleKind::Metric:
  case RoleKind::MetricCount:
    return success();
  case RoleKind::Proposal: {
    ParamDeclOp param = params.lookup(name);
    if (task.getKind() != TaskKind::Forward &&
        task.getKind() != TaskKind::Open && task.getKind() != TaskKind::Commit)
      return task.emitOpError("takes ")
             << role << ", which a step alone has, from its open to its commit";
    if (!param || !param.getState() || !isHere(param.getPlaces()))
      return task.emitOpError("takes ")
             << role << ", but place " << task.getPlace()
             << " holds no such state";
    return expect(task, role, taken, {param.getType(), getSharding(param)});
  }
  }
  llvm_unreachable("all roles are listed");
}

LogicalResult TaskChecker::check(TaskOp task) {
  if (failed(checkPlace(task, task.getPlace())))
    return failure();
  if (task.getStage() != TaskOp::kNoStage) {
    TaskOp first = firstOfStage.insert({task.getStage(), task}).first->second;
    if (first.getPlace() != task.getPlace()) {
      InFlightDiagnostic diag = task.emitOpError("is on place ")
                                << task.getPlace()
                                << ", and another task of its stage is not";
      diag.attachNote(first.getLoc())
          << "this one is on place " << first.getPlace();
      return diag;
    }
  }
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
    if (failed(checkArgument(
            task, task.getArgRole(i),
            {task.getArgumentTypes()[i],
             task.getArgAttrOfType<ShardingAttr>(i, kShardingAttr)})))
      return failure();
  return success(succeeded(checkCollectives(task)) &&
                 succeeded(ShardChecker(task, buckets, params).check()));
}

/// Checks that a collective is over several ranks of the place, and that its
/// chunks are theirs.
LogicalResult TaskChecker::checkGroup(CollectiveOpInterface op, int64_t place) {
  ppopt::geometry::Mesh mesh = plan.getGeometry();
  ppopt::geometry::Group group = op.getGroup().getGeometry();
  if (llvm::is_contained(group.axes, ppopt::geometry::placeAxis))
    return op->emitOpError("is over ")
           << op.getGroup() << ": tasks of other places run at other times";
  std::optional<int64_t> rank = mesh.firstRank(place);
  if (std::string wrong = mesh.check(group, rank.value_or(0)); !wrong.empty())
    return op->emitOpError(wrong);
  int64_t ranks = mesh.size(group);
  if (ranks == 1)
    return op->emitOpError("is over ")
           << op.getGroup() << ", which is one rank";
  auto sizeOf = [](Value value) {
    return cast<ShapedType>(value.getType()).getNumElements();
  };
  int64_t from = sizeOf(op.getX()), to = sizeOf(op->getResult(0));
  if (op.getKind() == ppopt::geometry::Collective::AllToAll &&
      from % ranks != 0)
    return op->emitOpError("exchanges ")
           << from << " elements, which " << ranks << " ranks do not divide";
  if (ppopt::geometry::isOfOneChunk(op.getKind()) &&
      std::max(from, to) != ranks * std::min(from, to))
    return op->emitOpError("has chunks of ")
           << std::min(from, to) << " of " << std::max(from, to)
           << " elements, and the group " << ranks << " ranks";
  return success();
}

/// Checks that the signature says which collectives the body makes.
LogicalResult TaskChecker::checkCollectives(TaskOp task) {
  for (auto op : task.getBody().front().getOps<CollectiveOpInterface>())
    if (failed(checkGroup(op, task.getPlace())))
      return failure();
  return verifySignature(task);
}

LogicalResult TaskChecker::check() {
  if (failed(index()))
    return failure();
  for (auto task : module.getOps<TaskOp>())
    if (failed(check(task)))
      return failure();
  if (module.getOps<TaskOp>().empty())
    return success();
  auto steps = module.getOps<StepOp>();
  for (StepOp second : llvm::drop_begin(steps, steps.empty() ? 0 : 1))
    return second.emitOpError("is a second step of the module");
  StepOp step = findStep(module);
  if (!step)
    return module.emitError("has tasks, and no pp.step that calls them");
  return StepChecker(module, places).check(step);
}

struct VerifyTasks : pp::impl::VerifyTasksBase<VerifyTasks> {
  void runOnOperation() override {
    FailureOr<PlanOp> plan = findPlan(getOperation());
    if (failed(plan) || failed(TaskChecker(getOperation(), *plan).check()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
