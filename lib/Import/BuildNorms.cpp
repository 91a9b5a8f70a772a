//===- BuildNorms.cpp - Normalizations and dropout ------------------------===//

#include "Emitter.h"
#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

/// Returns the type in which a norm is computed: bf16 has statistics in f32.
static Dtype statisticsType(Dtype type) {
  return type == Dtype::bf16 ? Dtype::f32 : type;
}

static TypedAttr epsAttr(Emitter &emit, double eps) {
  return emit.getBuilder().getF64FloatAttr(eps);
}

static double readEps(OpCall &call, double fallback) {
  double eps = call.number("eps", fallback);
  if (!std::isfinite(eps) || eps < 0)
    call.fail("has the eps " + std::to_string(eps) +
              ", which must be finite and not negative");
  return eps;
}

static Value normalize(Emitter &emit, Value x, bool center, double eps) {
  UnitAttr unit = center ? emit.getBuilder().getUnitAttr() : UnitAttr();
  return emit.make<NormalizeOp>(x, unit, epsAttr(emit, eps));
}

/// An optional vector in `type` and of `shape`; null if there is none.
static Value readVector(OpCall &call, Emitter &emit, StringRef name, Dtype type,
                        ArrayRef<int64_t> shape) {
  if (!call.has(name))
    return nullptr;
  return emit.reshape(emit.operand(call, name, type), shape);
}

static Value scaleAndShift(Emitter &emit, Value x, Value scale, Value bias) {
  if (scale)
    x = emit.mul(x, scale);
  return bias ? emit.add(x, bias) : x;
}

/// The type of an operand and its optional weight and bias together.
static Dtype commonType(OpCall &call) {
  Dtype type = call.tensor("input").type;
  for (StringRef name : {"weight", "bias"})
    if (const Tensor *tensor = call.optionalTensor(name))
      type = promote(type, tensor->type);
  return type;
}

//===----------------------------------------------------------------------===//
// Norms over the last dimensions
//===----------------------------------------------------------------------===//

/// The operand's shape with the dimensions of `normalized_shape` as one.
static Shape rowShape(OpCall &call) {
  ArrayRef<int64_t> shape = call.tensor("input").shape;
  Shape normalized = call.integers("normalized_shape");
  if (normalized.empty() || normalized.size() > shape.size() ||
      shape.take_back(normalized.size()) != ArrayRef<int64_t>(normalized)) {
    call.fail(
        "has a normalized_shape that is not the end of the input's shape");
    return {};
  }
  Shape rows(shape.drop_back(normalized.size()));
  rows.push_back(countElements(normalized));
  return rows;
}

/// layer_norm; native_layer_norm's mean and rstd are not made.
static Results buildLayerNorm(OpCall &call, Emitter &emit) {
  Shape rows = rowShape(call);
  double eps = readEps(call, 1e-5);
  Dtype type = commonType(call);
  if (call.failed())
    return {};
  Value x = emit.reshape(emit.operand(call, "input", type), rows), result;
  if (call.has("weight") && call.has("bias")) {
    Value scale = readVector(call, emit, "weight", type, {rows.back()});
    Value bias = readVector(call, emit, "bias", type, {rows.back()});
    result = emit.make<LayerNormOp>(x, scale, bias, epsAttr(emit, eps));
  } else {
    bool isPlain = !call.has("weight") && !call.has("bias");
    Dtype inner = isPlain ? type : statisticsType(type);
    result = scaleAndShift(
        emit, normalize(emit, emit.castTo(x, inner), /*center=*/true, eps),
        readVector(call, emit, "weight", inner, {rows.back()}),
        readVector(call, emit, "bias", inner, {rows.back()}));
  }
  Results results(call.getResults());
  results[0] = emit.reshape(emit.castTo(result, call.result().type),
                            call.tensor("input").shape);
  return results;
}

/// rms_norm; _fused_rms_norm's rstd is not made.
static Results buildRmsNorm(OpCall &call, Emitter &emit) {
  Shape rows = rowShape(call);
  Dtype own = call.tensor("input").type, type = commonType(call);
  // PyTorch's default is the machine epsilon of the input's type.
  if (!call.has("eps") && own != Dtype::f32 && own != Dtype::f64)
    call.fail("leaves eps out for an input of " + Twine(spell(own)) +
              "; give nn.RMSNorm its eps");
  double eps = readEps(call, own == Dtype::f64 ? 0x1p-52 : 0x1p-23);
  if (call.failed())
    return {};
  Value x = emit.reshape(emit.operand(call, "input", type), rows);
  Value scale = readVector(call, emit, "weight", type, {rows.back()});
  Value result = scale ? emit.make<RmsNormOp>(x, scale, epsAttr(emit, eps))
                       : normalize(emit, x, /*center=*/false, eps);
  Results results(call.getResults());
  results[0] = emit.reshape(emit.castTo(result, call.result().type),
                            call.tensor("input").shape);
  return results;
}

//===----------------------------------------------------------------------===//
// Norms with channels in dimension 1
//===----------------------------------------------------------------------===//

/// A vector of the channels' size C as [C, 1, …], so that it broadcasts over
/// [N, C, …].
static Shape channelShape(ArrayRef<int64_t> shape) {
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  return channels;
}

/// group_norm, and instance_norm: a group per channel.
static Results buildGroupNorm(OpCall &call, Emitter &emit) {
  StringRef op = call.getOp();
  ArrayRef<int64_t> shape = call.tensor("input").shape;
  if (shape.size() < 2) {
    call.fail("has an input of " + Twine(shape.size()) +
              " dimensions; it needs a batch and channels");
    return {};
  }
  bool isInstance = op.starts_with("aten.instance_norm.");
  if (isInstance) {
    call.number("momentum", 0.1); // of running statistics
    if (call.has("running_mean") || call.has("running_var") ||
        !call.flag("use_input_stats", true))
      call.fail("keeps running statistics, which only batch norms do; use "
                "track_running_stats=False");
  }
  int64_t groups = isInstance ? shape[1]
                   : op.starts_with("aten.native_")
                       ? call.integer("group")
                       : call.integer("num_groups");
  double eps = readEps(call, 1e-5);
  Dtype type = statisticsType(commonType(call));
  if (groups < 1 || shape[0] < 1 || shape[1] % groups != 0)
    call.fail("cuts " + Twine(shape[1]) + " channels into " + Twine(groups) +
              " groups");
  if (call.failed())
    return {};
  Value x = emit.reshape(
      emit.operand(call, "input", type),
      {shape[0], groups, countElements(shape) / (shape[0] * groups)});
  Value rows = emit.reshape(normalize(emit, x, /*center=*/true, eps), shape);
  Shape channels = channelShape(shape);
  Value result = scaleAndShift(emit, rows,
                               readVector(call, emit, "weight", type, channels),
                               readVector(call, emit, "bias", type, channels));
  Results results(call.getResults());
  results[0] = emit.castTo(result, call.result().type);
  return results;
}

static Results refuseBatchNorm(OpCall &call, Emitter &) {
  call.fail("normalizes by the statistics of its batch in evaluations too; use "
            "track_running_stats=True, or a group norm; instance norms are "
            "supported without run_decompositions");
  return {};
}

/// batch_norm in training, whose running statistics are states; what it saves
/// for a backward is not made, and nothing reads new values of buffers.
static Results buildTrainingNorm(OpCall &call, Emitter &emit) {
  const Tensor &x = call.tensor("input"), &mean = call.tensor("running_mean"),
               &variance = call.tensor("running_var");
  double eps = readEps(call, 1e-5), momentum = call.number("momentum", 0.1);
  for (const Tensor *statistic : {&mean, &variance})
    if (auto param = statistic->value
                         ? statistic->value.getDefiningOp<ParamOp>()
                         : ParamOp();
        !param || !param.getState())
      call.fail("updates running statistics that are no buffer of its own: "
                "another op reads or updates them too, or the module is called "
                "twice; give each call a norm of its own");
  if (!(momentum >= 0 && momentum <= 1))
    call.fail("has the momentum " + std::to_string(momentum) +
              ", which must be from 0 to 1");
  if (call.failed())
    return {};
  Shape channels{x.shape[1]};
  auto read = [&](StringRef name, double otherwise) {
    Value vector = readVector(call, emit, name, mean.type, channels);
    return vector ? vector
                  : emit.make<ConstantOp>(emit.tensorType(mean.type, channels),
                                          otherwise);
  };
  Value scale = read("weight", 1), bias = read("bias", 0);
  Results results(call.getResults());
  results[0] = emit.make<BatchNormOp>(
      emit.value(x), scale, bias, mean.value, variance.value,
      emit.getBuilder().getI64IntegerAttr(1), epsAttr(emit, eps),
      epsAttr(emit, momentum));
  return results;
}

static Results buildBatchNorm(OpCall &call, Emitter &emit) {
  ArrayRef<int64_t> shape = call.tensor("input").shape;
  if (shape.size() < 2)
    call.fail("has an input without channels");
  if (!call.has("running_mean") || !call.has("running_var"))
    return refuseBatchNorm(call, emit);
  if (call.flag("training", false))
    return buildTrainingNorm(call, emit);
  call.number("momentum", 0.1); // of updates, of which there are none
  double eps = call.number("eps", 1e-5);
  Dtype type = statisticsType(
      promote(commonType(call), call.tensor("running_var").type));
  if (call.failed())
    return {};
  Shape channels = channelShape(shape);
  Value mean = readVector(call, emit, "running_mean", type, channels);
  Value variance = readVector(call, emit, "running_var", type, channels);
  Value rstd = emit.make<RsqrtOp>(emit.add(variance, emit.number(type, eps)));
  Value x = emit.mul(emit.sub(emit.operand(call, "input", type), mean), rstd);
  Value result =
      scaleAndShift(emit, x, readVector(call, emit, "weight", type, channels),
                    readVector(call, emit, "bias", type, channels));
  Results results(call.getResults());
  results[0] = emit.castTo(result, call.result().type);
  return results;
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// dropout; native_dropout's mask is not made.
static Results buildDropout(OpCall &call, Emitter &emit) {
  double p = call.number("p");
  bool isTraining = call.flag("train", true);
  if (!(p >= 0 && p <= 1))
    call.fail("drops with the probability " + std::to_string(p));
  Value x = emit.value(call.tensor("input"));
  if (call.failed())
    return {};
  Results results(call.getResults());
  if (!isTraining || p == 0)
    results[0] = x;
  else if (p == 1)
    results[0] = emit.scale(x, 0);
  else
    results[0] = emit.dropout(x, p);
  return results;
}

/// The sum of x1 / max(|x1|, eps) times x2 / max(|x2|, eps).
static Results buildCosineSimilarity(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  int64_t rank = std::max(call.tensor("x1").getRank(),
                          call.tensor("x2").getRank()),
          dim = call.dim("dim", rank, 1);
  double eps = call.number("eps", 1e-8);
  Value product;
  for (StringRef name : {"x1", "x2"}) {
    Value x = emit.operand(call, name, type);
    Shape shape(Emitter::shapeOf(x));
    shape.insert(shape.begin(), rank - shape.size(), 1);
    x = emit.reshape(x, shape);
    Value squares = emit.reduce(ReduceKind::Sum, emit.mul(x, x), {dim},
                                /*keepDims=*/true);
    Value norm = emit.make<SqrtOp>(squares), least = emit.number(type, eps);
    Value isSmall = emit.compare(ComparePredicate::Lt, norm, least);
    Value unit = emit.div(x, emit.select(isSmall, least, norm));
    product = product ? emit.mul(product, unit) : unit;
  }
  return {emit.reduce(ReduceKind::Sum, product, {dim}, /*keepDims=*/false)};
}

/// The identity in evaluation, as it is exported then.
static Results buildOtherDropout(OpCall &call, Emitter &emit) {
  double p = call.number("p");
  if (call.flag("train", true) && p != 0)
    call.fail("drops in training in a way that ppopt does not have; use "
              "nn.Dropout, or export the module in evaluation mode");
  Value x = emit.value(call.tensor("input"));
  return {x};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

ArrayRef<OpRow> pt2::normRows() {
  static constexpr StringRef kNoStatistics = "reads of mean and rstd";
  static constexpr StringRef kBuffers =
      "no running statistics, or two calls that update the same";
  static constexpr StringRef kTraining = "p > 0 in training";
  static const OpRow rows[] = {
      {"aten.layer_norm.default", &buildLayerNorm},
      {"aten.native_layer_norm.default", &buildLayerNorm, kNoStatistics},
      {"aten.rms_norm.default", &buildRmsNorm, "bf16 without eps"},
      {"aten._fused_rms_norm.default", &buildRmsNorm,
       "bf16 without eps; reads of rstd"},
      {"aten.group_norm.default", &buildGroupNorm},
      {"aten.native_group_norm.default", &buildGroupNorm, kNoStatistics},
      {"aten.instance_norm.default", &buildGroupNorm, "running statistics"},
      {"aten.cosine_similarity.default", &buildCosineSimilarity},
      {"aten.batch_norm.default", &buildBatchNorm, kBuffers},
      {"aten.native_batch_norm.default", &buildBatchNorm, kBuffers},
      {"aten._native_batch_norm_legit_no_training.default", &buildBatchNorm,
       "reads of the saved statistics"},
      {"aten._native_batch_norm_legit_functional.default", &buildBatchNorm,
       kBuffers},
      {"aten._native_batch_norm_legit.default", &buildBatchNorm, kBuffers},
      {"aten._native_batch_norm_legit.no_stats", &refuseBatchNorm,
       "all: an evaluation would be of its batch; instance norms that "
       "run_decompositions has changed"},
      {"aten.dropout.default", &buildDropout},
      {"aten.native_dropout.default", &buildDropout, "reads of the mask"},
      {"aten.alpha_dropout.default", &buildOtherDropout, kTraining},
      {"aten.feature_dropout.default", &buildOtherDropout, kTraining},
      {"aten.feature_alpha_dropout.default", &buildOtherDropout, kTraining},
  };
  return rows;
}
