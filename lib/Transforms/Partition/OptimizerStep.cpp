//===- OptimizerStep.cpp - The tasks of a place at the end of a step ------===//
//
// The formulas of PyTorch 2 (torch.optim.SGD, Adam, AdamW), with momentum
// buffers that begin at zero and no dampening, and the exponential moving
// average of torch.optim.swa_utils (AveragedModel, get_ema_multi_avg_fn).
//
//===----------------------------------------------------------------------===//

#include "ppopt/Transforms/Partition/OptimizerStep.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "ppopt/Analysis/OptimizerState.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Transforms/Partition/TaskBuilder.h"

#include <limits>

using namespace mlir;
using namespace mlir::pp;

namespace {

/// Arithmetic on values of one bucket, in the type of its gradients. Scalars
/// come from the step state.
class StepBuilder {
public:
  StepBuilder(TaskBuilder &task, BucketOp bucket, int64_t elements)
      : task(task), bucket(bucket), builder(task.getBuilder()),
        loc(bucket.getLoc()),
        type(RankedTensorType::get({elements}, bucket.getType())),
        wide(type.clone(getGradType(bucket))),
        f64(RankedTensorType::get({}, builder.getF64Type())) {}

  /// Returns the bucket's range of a role: parameters, gradients or a state.
  Value range(RoleAttr role) {
    return cast(
        task.getArgument(
            role, role.getKind() == RoleKind::GradRange ? wide : type, loc),
        wide);
  }
  Value param() { return range(role(RoleKind::ParamRange)); }
  Value gradient() { return range(role(RoleKind::GradRange)); }
  Value state(StringRef name) {
    return range(role(RoleKind::StateRange, name));
  }
  void setParam(Value value) { result(role(RoleKind::ParamRange), value); }
  void setState(StringRef name, Value value) {
    result(role(RoleKind::StateRange, name), value);
  }
  /// Returns a value as the parameters' type has it.
  Value stored(Value value) { return cast(cast(value, type), wide); }
  /// Returns a field of the step state, in f64.
  Value wideField(StringRef name) {
    return task.getArgument(
        RoleAttr::get(builder.getContext(), RoleKind::StepState, name), f64,
        loc);
  }
  /// Returns a scalar in the type of the arithmetic. Coefficients are computed
  /// in f64 and rounded once.
  Value narrow(Value scalar) {
    return cast(scalar, RankedTensorType::get({}, getGradType(bucket)));
  }
  Value field(StringRef name) { return narrow(wideField(name)); }
  /// The bucket's learning rate and weight decay, in f64.
  Value learningRate() { return scaled("lr", bucket.getLrScale()); }
  Value weightDecay() { return scaled("weight_decay", bucket.getDecayScale()); }
  bool isDecayed() { return bucket.getDecayScale().isNonZero(); }
  Value oneMinus(Value wide) {
    return sub(ConstantOp::create(builder, loc, f64, 1.0), wide);
  }
  Value add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return SubOp::create(builder, loc, a, b); }
  Value mul(Value a, Value b) { return MulOp::create(builder, loc, a, b); }
  Value div(Value a, Value b) { return DivOp::create(builder, loc, a, b); }
  Value sqrt(Value a) { return SqrtOp::create(builder, loc, a); }
  Value isLess(Value wide, double than) {
    return CompareOp::create(builder, loc, ComparePredicate::Lt, wide,
                             ConstantOp::create(builder, loc, f64, than));
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(builder, loc, condition, a, b);
  }

private:
  Value scaled(StringRef name, const APFloat &scale) {
    Value value = wideField(name);
    if (scale.isExactlyValue(1))
      return value;
    return mul(value,
               ConstantOp::create(builder, loc, f64, scale.convertToDouble()));
  }
  RoleAttr role(RoleKind kind, StringRef state = "") {
    return RoleAttr::get(builder.getContext(), kind, bucket.getSymName(),
                         state);
  }
  /// Adds the new value of a range. If the place holds, the range keeps the
  /// bits that it has, which a conversion need not keep.
  void result(RoleAttr role, Value value) {
    if (!isHeld) {
      Value zero = ConstantOp::create(builder, loc, f64, 0.0);
      isHeld = CompareOp::create(builder, loc, ComparePredicate::Ne,
                                 wideField("hold"), zero);
    }
    Value old = task.getArgument(role, type, loc);
    task.addResult(
        role, SelectOp::create(builder, loc, isHeld, old, cast(value, type)));
  }
  Value cast(Value value, RankedTensorType to) {
    if (value.getType() == to)
      return value;
    return CastOp::create(builder, loc, to, value);
  }

  TaskBuilder &task;
  BucketOp bucket;
  OpBuilder &builder;
  Location loc;
  RankedTensorType type, wide, f64;
  Value isHeld; ///< set by the first result
};

/// Returns the gradient as the optimizer sees it: clipped, and with L2 decay if
/// the optimizer's decay is not decoupled.
Value getGradient(StepBuilder &step, Value param, bool isDecoupled) {
  Value gradient = step.mul(step.gradient(), step.field("clip_scale"));
  if (step.isDecayed() && !isDecoupled)
    gradient =
        step.add(gradient, step.mul(step.narrow(step.weightDecay()), param));
  return gradient;
}

/// Moves the average towards the new parameters, from the nearer of both, as
/// torch.lerp does: with the weight 1 it is exactly the parameters. It begins
/// at zero, and the first update has this weight.
void buildAverage(StepBuilder &step, Value param) {
  Value average = step.state(getAverageState());
  Value way = step.sub(param, average);
  Value weight = step.wideField("average_weight");
  Value fromAverage = step.add(average, step.mul(step.narrow(weight), way));
  Value fromParam =
      step.sub(param, step.mul(step.narrow(step.oneMinus(weight)), way));
  step.setState(getAverageState(),
                step.select(step.isLess(weight, 0.5), fromAverage, fromParam));
}

/// Returns the new parameters.
Value buildSgd(StepBuilder &step, bool isNesterov) {
  Value param = step.param();
  Value velocity = step.state("momentum");
  Value gradient = getGradient(step, param, /*isDecoupled=*/false);
  Value momentum = step.field("momentum");
  velocity = step.add(step.mul(momentum, velocity), gradient);
  Value direction =
      isNesterov ? step.add(gradient, step.mul(momentum, velocity)) : velocity;
  param =
      step.sub(param, step.mul(step.narrow(step.learningRate()), direction));
  step.setParam(param);
  step.setState("momentum", velocity);
  return param;
}

/// Returns the new parameters.
Value buildAdam(StepBuilder &step, bool isDecoupled) {
  Value param = step.param();
  Value m = step.state("m");
  Value v = step.state("v");
  Value gradient = getGradient(step, param, isDecoupled);
  auto decay = [&](StringRef beta, Value average, Value value) {
    Value rest = step.narrow(step.oneMinus(step.wideField(beta)));
    return step.add(step.mul(step.field(beta), average), step.mul(rest, value));
  };
  m = decay("beta1", m, gradient);
  v = decay("beta2", v, step.mul(gradient, gradient));
  Value root = step.sqrt(step.div(v, step.field("bias_correction2")));
  Value direction = step.div(m, step.add(root, step.field("eps")));
  Value lr = step.learningRate();
  if (step.isDecayed() && isDecoupled)
    param = step.mul(
        param, step.narrow(step.oneMinus(step.mul(lr, step.weightDecay()))));
  Value rate = step.narrow(step.div(lr, step.wideField("bias_correction1")));
  param = step.sub(param, step.mul(rate, direction));
  step.setParam(param);
  step.setState("m", m);
  step.setState("v", v);
  return param;
}

} // namespace

static int64_t getChunkElements(PlanOp plan, BucketOp bucket) {
  return bucket.getElements() / bucket.getChunks(plan.getGeometry());
}

void pp::buildNormTask(PlanOp plan, int64_t place, ArrayRef<BucketOp> buckets,
                       ArrayRef<StringAttr> cutAxes, OpBuilder &builder) {
  std::string name = "p" + std::to_string(place) + "_N";
  for (StringAttr axis : cutAxes)
    name += "_" + axis.str();
  TaskBuilder task(builder, name, TaskKind::Norm, TaskOp::kNoStage, place,
                   BucketOp(buckets.front()).getLoc());
  OpBuilder &inner = task.getBuilder();
  Value sum;
  for (BucketOp bucket : buckets) {
    Location loc = bucket.getLoc();
    int64_t elements = getChunkElements(plan, bucket);
    Value gradient = task.addArgument(
        RoleAttr::get(builder.getContext(), RoleKind::GradRange,
                      bucket.getSymName()),
        RankedTensorType::get({elements}, getGradType(bucket)), loc);
    auto wide = RankedTensorType::get({elements}, builder.getF64Type());
    if (gradient.getType() != wide)
      gradient = CastOp::create(inner, loc, wide, gradient);
    Value squares = MulOp::create(inner, loc, gradient, gradient);
    Value part = ReduceOp::create(inner, loc, ReduceKind::Sum, squares,
                                  ArrayRef<int64_t>{0}, /*keep_dims=*/false);
    sum = sum ? AddOp::create(inner, loc, sum, part).getResult() : part;
  }
  task.accumulate(RoleAttr::get(builder.getContext(), RoleKind::Norm, "norm"),
                  sum);
  task.finish();
}

/// Adds up the entries of the norm that count. With one class all of them do.
static Value addEntries(Value sums, const NormLayout &layout,
                        OpBuilder &builder) {
  Location loc = sums.getLoc();
  auto reduce = [&](Value entries) -> Value {
    auto dims =
        llvm::to_vector(llvm::seq<int64_t>(0, getShape(entries).size()));
    return ReduceOp::create(builder, loc, ReduceKind::Sum, entries, dims,
                            /*keep_dims=*/false);
  };
  if (layout.getClasses().size() == 1)
    return reduce(sums);
  auto flat = cast<RankedTensorType>(sums.getType());
  SmallVector<int64_t> shape = layout.getShape();
  Value entries = ReshapeOp::create(builder, loc, flat.clone(shape), sums);
  Value total;
  for (auto [i, cutAxes] : llvm::enumerate(layout.getClasses())) {
    SmallVector<int64_t> offsets(shape.size(), 0), taken(shape);
    offsets[0] = i;
    taken[0] = 1;
    for (auto [k, axis] : llvm::enumerate(layout.getAxes()))
      if (!llvm::is_contained(cutAxes, axis))
        taken[2 + k] = 1; // the others have the same
    Value part = reduce(
        SliceOp::create(builder, loc, flat.clone(taken), entries, offsets));
    total = total ? AddOp::create(builder, loc, total, part).getResult() : part;
  }
  return total;
}

void pp::buildDecideTask(PlanOp plan, int64_t place, const TaskOperand &loss,
                         ArrayRef<TaskOperand> counts, const NormLayout &layout,
                         OpBuilder &builder) {
  Location loc = plan.getLoc();
  TaskBuilder task(builder, "p" + std::to_string(place) + "_D",
                   TaskKind::Decide, TaskOp::kNoStage, place, loc);
  OpBuilder &inner = task.getBuilder();
  auto f64 = RankedTensorType::get({}, builder.getF64Type());
  auto getRole = [&](RoleKind kind, StringRef name) {
    return RoleAttr::get(builder.getContext(), kind, name);
  };
  auto number = [&](double value, Type type) -> Value {
    return ConstantOp::create(inner, loc, cast<RankedTensorType>(type), value);
  };
  auto compare = [&](ComparePredicate predicate, Value a, Value b) -> Value {
    return CompareOp::create(inner, loc, predicate, a, b);
  };
  Value one = number(1, f64), hold = number(0, f64);
  auto require = [&](Value condition) {
    hold = SelectOp::create(inner, loc, condition, hold, one);
  };
  auto requireFinite = [&](Value x) {
    Value infinity =
        number(std::numeric_limits<double>::infinity(), x.getType());
    require(
        compare(ComparePredicate::Lt, AbsOp::create(inner, loc, x), infinity));
  };
  for (const TaskOperand &count : counts) {
    Value x = task.addArgument(count.role, count.type, loc);
    require(compare(ComparePredicate::Ne, x, number(0, count.type)));
  }
  requireFinite(task.addArgument(loss.role, loss.type, loc));
  Value sums = task.addArgument(
      getRole(RoleKind::Norm, "norm"),
      RankedTensorType::get({layout.getElements()}, builder.getF64Type()), loc);
  Value squared = addEntries(sums, layout, inner);
  // With one chunk this is a view. An addition makes it a result of the kernel
  // that computes the others.
  squared = AddOp::create(inner, loc, squared, number(0, f64));
  Value norm = SqrtOp::create(inner, loc, squared);
  requireFinite(norm);
  Value clip = task.addArgument(getRole(RoleKind::StepState, "clip"), f64, loc);
  Value ratio = DivOp::create(inner, loc, clip, norm);
  Value scale = SelectOp::create(
      inner, loc, compare(ComparePredicate::Gt, norm, clip), ratio, one);
  // Read here, `hold` is computed by the same kernel.
  Value zero = number(0, f64);
  scale = SelectOp::create(
      inner, loc, compare(ComparePredicate::Eq, hold, zero), scale, one);
  task.addResult(getRole(RoleKind::StepState, "clip_scale"), scale);
  task.addResult(getRole(RoleKind::StepState, "hold"), hold);
  task.addResult(getRole(RoleKind::StepState, "norm_squared"), squared);
  task.finish();
}

TaskOp pp::buildCollectTask(BucketOp bucket, unsigned count, Type type,
                            OpBuilder &builder) {
  int64_t owner = bucket.getPlaces().front();
  std::string name =
      "p" + std::to_string(owner) + "_C_" + bucket.getSymName().str();
  TaskBuilder task(builder, name, TaskKind::Collect, TaskOp::kNoStage, owner,
                   bucket.getLoc());
  auto sum = RoleAttr::get(builder.getContext(), RoleKind::GradRange,
                           bucket.getSymName());
  for (unsigned i = 0; i < count; ++i)
    task.accumulate(sum, task.addArgument(RoleAttr(), type, bucket.getLoc()));
  return task.finish();
}

void pp::buildUpdateTask(PlanOp plan, int64_t place, BucketOp bucket,
                         OpBuilder &builder) {
  std::string name =
      "p" + std::to_string(place) + "_U_" + bucket.getSymName().str();
  TaskBuilder task(builder, name, TaskKind::Update, TaskOp::kNoStage, place,
                   bucket.getLoc());
  StepBuilder step(task, bucket, bucket.getUpdateElements(plan.getGeometry()));
  Value param = plan.getOptimizer() == Optimizer::sgd
                    ? buildSgd(step, plan.getNesterov())
                    : buildAdam(step, /*isDecoupled=*/plan.getOptimizer() ==
                                          Optimizer::adamw);
  if (plan.getEma())
    buildAverage(step, step.stored(param));
  task.finish();
}

TaskOp pp::buildAverageTask(PlanOp plan, int64_t place, BucketOp bucket,
                            OpBuilder &builder) {
  if (!plan.getEma())
    return {};
  std::string name =
      "p" + std::to_string(place) + "_A_" + bucket.getSymName().str();
  Location loc = bucket.getLoc();
  TaskBuilder task(builder, name, TaskKind::Average, TaskOp::kNoStage, place,
                   loc);
  auto type = RankedTensorType::get(
      {bucket.getUpdateElements(plan.getGeometry())}, bucket.getType());
  auto getRole = [&](RoleKind kind, StringRef state) {
    return RoleAttr::get(builder.getContext(), kind, bucket.getSymName(),
                         state);
  };
  RoleAttr params = getRole(RoleKind::ParamRange, ""),
           averages = getRole(RoleKind::StateRange, getAverageState());
  Value param = task.getArgument(params, type, loc);
  Value average = task.getArgument(averages, type, loc);
  task.addResult(params, average);
  task.addResult(averages, param);
  return task.finish();
}
