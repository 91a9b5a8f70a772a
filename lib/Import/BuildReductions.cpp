//===- BuildReductions.cpp - Sums, extrema, variances, softmax ------------===//

#include "BuildReductions.h"
#include "ppopt/Dialect/PP/CompositeOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"

#include "BuildIndexed.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

/// The operand in the type of the result: PyTorch casts before it reduces.
static Value castOperand(OpCall &call, Emitter &emit) {
  return emit.operand(call, "self", call.result().type);
}

static int64_t countAlong(Value value, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= Emitter::shapeOf(value)[dim];
  return count;
}

//===----------------------------------------------------------------------===//
// Sums and means
//===----------------------------------------------------------------------===//

static Results buildSumOrMean(OpCall &call, Emitter &emit) {
  bool isMean = call.getOp().starts_with("aten.mean.");
  Shape dims = call.dims("dim", call.tensor("self").getRank());
  bool keepDims = call.flag("keepdim", false);
  call.dtype("dtype");
  bool counts = call.getOp().starts_with("aten.count_nonzero.");
  if (isMean && !isFloat(call.result().type))
    call.fail("takes the mean of integers; give a float dtype");
  if (call.failed())
    return {};
  Value x = counts ? emit.operand(call, "self", Dtype::boolean)
                   : castOperand(call, emit);
  if (counts)
    x = emit.castTo(x, Dtype::i64);
  // Sums over the batch are sums over ranks, which are of floats. Those of f64
  // are exact for counts up to 2^53.
  Dtype type = call.result().type;
  bool isCount = !isFloat(type) && !dims.empty() && dims.front() == 0;
  Value sum =
      emit.reduce(isMean ? ReduceKind::Mean : ReduceKind::Sum,
                  isCount ? emit.castTo(x, Dtype::f64) : x, dims, keepDims);
  return {emit.castTo(sum, type)};
}

//===----------------------------------------------------------------------===//
// Maxima and minima
//===----------------------------------------------------------------------===//

/// Of booleans the least is whether all are true.
static Value extremum(Emitter &emit, Value x, ArrayRef<int64_t> dims,
                      bool keepDims, bool isMin) {
  bool isBoolean = Emitter::typeOf(x) == Dtype::boolean;
  ReduceKind kind = isBoolean ? isMin ? ReduceKind::All : ReduceKind::Any
                    : isMin   ? ReduceKind::Min
                              : ReduceKind::Max;
  return emit.reduce(kind, x, dims, keepDims);
}

/// amax, amin and the extrema of all elements: equal elements share the
/// gradient, as in PyTorch.
static Results buildExtremum(OpCall &call, Emitter &emit) {
  StringRef op = call.getOp();
  bool isMin = op.starts_with("aten.amin.") || op.starts_with("aten.min.");
  Shape dims = call.dims("dim", call.tensor("self").getRank());
  bool keepDims = call.flag("keepdim", false);
  if (call.failed())
    return {};
  return {extremum(emit, castOperand(call, emit), dims, keepDims, isMin)};
}

/// max.dim and min.dim: the first of equal elements has the whole gradient.
static Results buildExtremumAndIndex(OpCall &call, Emitter &emit) {
  bool isMin = call.getOp().starts_with("aten.min.");
  int64_t rank = call.tensor("self").getRank();
  int64_t dim = call.dim("dim", rank);
  bool keepDims = call.flag("keepdim", false);
  if (call.failed())
    return {};
  Value x = castOperand(call, emit);
  if (rank == 0)
    return {x, emit.number(Dtype::i64, 0)};
  Value index = firstExtreme(emit, x, dim, isMin);
  Value value = pickAt(emit, x, index, dim, keepDims, /*isInRange=*/true);
  return {value, emit.reshape(index, Emitter::shapeOf(value))};
}

static Results buildAnyOrAll(OpCall &call, Emitter &emit) {
  bool isAll = call.getOp().starts_with("aten.all.");
  Shape dims = call.dims("dim", call.tensor("self").getRank());
  bool keepDims = call.flag("keepdim", false);
  if (call.failed())
    return {};
  Value x = emit.operand(call, "self", Dtype::boolean);
  return {extremum(emit, x, dims, keepDims, isAll)};
}

//===----------------------------------------------------------------------===//
// Variances and norms
//===----------------------------------------------------------------------===//

/// The gradient of PyTorch's std and norm at 0 is 0.
static Value rootOf(Emitter &emit, Value x,
                    llvm::function_ref<Value(Value)> root) {
  Dtype type = Emitter::typeOf(x);
  Value zero = emit.number(type, 0);
  Value isZero = emit.compare(ComparePredicate::Eq, x, zero);
  Value safe = emit.select(isZero, emit.number(type, 1), x);
  return emit.select(isZero, zero, root(safe));
}

static Value squareRoot(Emitter &emit, Value x) {
  return rootOf(emit, x, [&](Value safe) { return emit.make<SqrtOp>(safe); });
}

/// Counts elements along dimensions. The first one may be the batch, which can
/// get another size: its elements are counted by the model itself.
static Value countElements(Emitter &emit, Value x, ArrayRef<int64_t> dims,
                           bool keepDims) {
  Dtype type = Emitter::typeOf(x);
  if (!llvm::is_contained(dims, 0))
    return emit.number(type, double(countAlong(x, dims)));
  // One of the two, also of a NaN.
  auto isOne = [&](ComparePredicate predicate) {
    return emit.castTo(emit.toInteger(emit.compare(predicate, x, x)), type);
  };
  Value ones =
      emit.add(isOne(ComparePredicate::Eq), isOne(ComparePredicate::Ne));
  return emit.reduce(ReduceKind::Sum, ones, dims, keepDims);
}

/// var, std (default, dim, correction) and their forms with the mean.
static Results buildVariance(OpCall &call, Emitter &emit) {
  StringRef op = call.getOp();
  bool isStd = op.starts_with("aten.std");
  bool hasMean = op.contains("_mean.");
  Shape dims = call.dims("dim", call.tensor("self").getRank());
  bool keepDims = call.flag("keepdim", false);
  double correction = op.ends_with(".correction")
                          ? call.number("correction", 1)
                          : double(call.flag("unbiased", true));
  if (call.failed())
    return {};
  Value x = castOperand(call, emit);
  int64_t count = countAlong(x, dims);
  if (count <= correction) {
    call.fail("divides by " + Twine(count) + " elements less a correction of " +
              std::to_string(correction) +
              ", which is not positive; use correction=0");
    return {};
  }
  Value mean = emit.reduce(ReduceKind::Mean, x, dims, /*keepDims=*/true);
  Value centered = emit.sub(x, mean);
  Value square = emit.mul(centered, centered);
  Value variance;
  if (correction == 0)
    variance = emit.reduce(ReduceKind::Mean, square, dims, keepDims);
  else
    variance = emit.div(emit.reduce(ReduceKind::Sum, square, dims, keepDims),
                        emit.sub(countElements(emit, x, dims, keepDims),
                                 emit.number(Emitter::typeOf(x), correction)));
  Results results = {isStd ? squareRoot(emit, variance) : variance};
  if (hasMean)
    results.push_back(emit.reshape(mean, Emitter::shapeOf(variance)));
  return results;
}

Value pt2::vectorNorm(OpCall &call, Emitter &emit, Value x, double order,
                      ArrayRef<int64_t> dims, bool keepDims) {
  if (!(order >= 1) && !std::isinf(order)) {
    call.fail("has the order " + std::to_string(order) +
              ", of which there is no norm; from 1 to infinity are supported");
    return x;
  }
  auto sumOf = [&](Value value) {
    return emit.reduce(ReduceKind::Sum, value, dims, keepDims);
  };
  if (order == 2)
    return squareRoot(emit, sumOf(emit.mul(x, x)));
  Value size = emit.make<AbsOp>(x);
  if (order == 1)
    return sumOf(size);
  if (std::isinf(order))
    return extremum(emit, size, dims, keepDims, /*isMin=*/order < 0);
  auto power = [&](Value value, double exponent) {
    return emit.make<PowOp>(value, emit.getBuilder().getF64FloatAttr(exponent));
  };
  return rootOf(emit, sumOf(power(size, order)),
                [&](Value sum) { return power(sum, 1 / order); });
}

/// norm (Scalar, ScalarOpt_dim and with dtype), linalg_vector_norm.
static Results buildNorm(OpCall &call, Emitter &emit) {
  bool isLinalg = call.getOp().starts_with("aten.linalg_vector_norm.");
  double order = call.number(isLinalg ? "ord" : "p", 2);
  Shape dims = call.dims("dim", call.tensor("self").getRank());
  bool keepDims = call.flag("keepdim", false);
  call.dtype("dtype");
  if (call.failed())
    return {};
  return {
      vectorNorm(call, emit, castOperand(call, emit), order, dims, keepDims)};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Where a maximum is infinite, nothing is subtracted: a row of -inf gives
/// log(0).
static Results buildLogSumExp(OpCall &call, Emitter &emit) {
  Shape dims = call.dims("dim", call.tensor("self").getRank());
  bool keepDims = call.flag("keepdim", false);
  if (call.failed())
    return {};
  Value x = castOperand(call, emit);
  Dtype type = Emitter::typeOf(x);
  Value most = emit.reduce(ReduceKind::Max, emit.make<DetachOp>(x), dims,
                           /*keepDims=*/true);
  Value infinity = emit.number(type, std::numeric_limits<double>::infinity());
  Value isInfinite =
      emit.compare(ComparePredicate::Eq, emit.make<AbsOp>(most), infinity);
  Value shift = emit.select(isInfinite, emit.number(type, 0), most);
  Value sum =
      emit.reduce(ReduceKind::Sum, emit.make<ExpOp>(emit.sub(x, shift)), dims,
                  /*keepDims=*/true);
  Value result = emit.add(emit.make<LogOp>(sum), shift);
  return {keepDims ? result : emit.reshape(result, call.result().shape)};
}

/// Applies `make` to rows of the last dimension, to which `dim` is moved.
static Value alongRows(Emitter &emit, Value x, int64_t dim,
                       llvm::function_ref<Value(Value)> make) {
  int64_t rank = Emitter::rankOf(x);
  if (rank == 0)
    return emit.reshape(make(emit.reshape(x, {1})), {});
  Value rows = emit.transpose(x, toLast(rank, dim));
  return emit.transpose(make(rows), fromLast(rank, dim));
}

/// softmax of rows, of which one that is -inf throughout gives 0.
static Value safeSoftmax(Emitter &emit, Value rows) {
  Dtype type = Emitter::typeOf(rows);
  Value most = emit.reduce(ReduceKind::Max, emit.make<DetachOp>(rows),
                           {Emitter::rankOf(rows) - 1}, /*keepDims=*/true);
  Value lowest = emit.number(type, -std::numeric_limits<double>::infinity());
  Value isMasked = emit.compare(ComparePredicate::Eq, most, lowest);
  Value zero = emit.number(type, 0);
  Value softmax = emit.make<SoftmaxOp>(emit.select(isMasked, zero, rows));
  return emit.select(isMasked, zero, softmax);
}

static Results buildSoftmax(OpCall &call, Emitter &emit) {
  StringRef op = call.getOp();
  int64_t dim = call.dim("dim", call.tensor("self").getRank());
  call.dtype("dtype");
  call.flag("half_to_float", false); // the type of the result says the same
  if (call.failed())
    return {};
  return {alongRows(emit, castOperand(call, emit), dim, [&](Value rows) {
    if (op.contains("log_softmax"))
      return emit.make<LogSoftmaxOp>(rows);
    return op.starts_with("aten._safe_softmax.") ? safeSoftmax(emit, rows)
                                                 : emit.make<SoftmaxOp>(rows);
  })};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

ArrayRef<OpRow> pt2::reductionRows() {
  static constexpr StringRef kNorms = "orders below 1";
  static constexpr StringRef kVariances = "a divisor that is not positive";
  static const OpRow rows[] = {
      {"aten.sum.default", &buildSumOrMean},
      {"aten.sum.dim_IntList", &buildSumOrMean},
      {"aten.count_nonzero.default", &buildSumOrMean},
      {"aten.count_nonzero.dim_IntList", &buildSumOrMean},
      {"aten.mean.default", &buildSumOrMean},
      {"aten.mean.dim", &buildSumOrMean},
      {"aten.amax.default", &buildExtremum},
      {"aten.amin.default", &buildExtremum},
      {"aten.max.default", &buildExtremum},
      {"aten.min.default", &buildExtremum},
      {"aten.max.dim", &buildExtremumAndIndex},
      {"aten.min.dim", &buildExtremumAndIndex},
      {"aten.any.default", &buildAnyOrAll},
      {"aten.any.dim", &buildAnyOrAll},
      {"aten.any.dims", &buildAnyOrAll},
      {"aten.all.default", &buildAnyOrAll},
      {"aten.all.dim", &buildAnyOrAll},
      {"aten.all.dims", &buildAnyOrAll},
      {"aten.var.default", &buildVariance, kVariances},
      {"aten.var.dim", &buildVariance, kVariances},
      {"aten.var.correction", &buildVariance, kVariances},
      {"aten.std.default", &buildVariance, kVariances},
      {"aten.std.dim", &buildVariance, kVariances},
      {"aten.std.correction", &buildVariance, kVariances},
      {"aten.var_mean.default", &buildVariance, kVariances},
      {"aten.var_mean.dim", &buildVariance, kVariances},
      {"aten.var_mean.correction", &buildVariance, kVariances},
      {"aten.std_mean.default", &buildVariance, kVariances},
      {"aten.std_mean.dim", &buildVariance, kVariances},
      {"aten.std_mean.correction", &buildVariance, kVariances},
      {"aten.norm.Scalar", &buildNorm, kNorms},
      {"aten.norm.ScalarOpt_dim", &buildNorm, kNorms},
      {"aten.norm.ScalarOpt_dim_dtype", &buildNorm, kNorms},
      {"aten.linalg_vector_norm.default", &buildNorm, kNorms},
      {"aten.logsumexp.default", &buildLogSumExp},
      {"aten.softmax.int", &buildSoftmax},
      {"aten._softmax.default", &buildSoftmax},
      {"aten._safe_softmax.default", &buildSoftmax},
      {"aten.log_softmax.int", &buildSoftmax},
      {"aten._log_softmax.default", &buildSoftmax},
  };
  return rows;
}
