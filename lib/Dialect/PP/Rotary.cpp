//===- Rotary.cpp - Rotary position embeddings ----------------------------===//
//
// pp.rotary is replaced by pp.rotate of cosines and sines of angles. Equal
// tables are one op after CSE, so each task computes them once for all of its
// layers.
//
//===----------------------------------------------------------------------===//

#include "ElementBuilder.h"
#include "SpaceBuilder.h"
#include "TensorBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// Frequencies
//===----------------------------------------------------------------------===//

static int64_t getRotatedWidth(RotaryOp op) {
  return op.getWidth().value_or(getShape(op.getX()).back());
}

/// As transformers' _compute_llama3_parameters.
static double scaleAsLlama3(RotaryOp op, double frequency) {
  double factor = op.getFactor()->convertToDouble();
  double low = op.getLowFreqFactor()->convertToDouble();
  double high = op.getHighFreqFactor()->convertToDouble();
  double turns =
      static_cast<double>(*op.getOriginalLength()) * frequency / (2 * M_PI);
  if (turns < low)
    return frequency / factor;
  if (turns > high)
    return frequency;
  double share = (turns - low) / (high - low);
  return ((1 - share) / factor + share) * frequency;
}

/// Returns the angle of each pair at position 1.
static SmallVector<double> getFrequencies(RotaryOp op) {
  int64_t width = getRotatedWidth(op);
  double base = op.getBase().convertToDouble();
  std::optional<RotaryScaling> scaling = op.getScaling();
  if (scaling == RotaryScaling::Ntk)
    base *= std::pow(op.getFactor()->convertToDouble(),
                     static_cast<double>(width) / (width - 2.0));
  SmallVector<double> frequencies;
  for (int64_t i = 0; i < width; i += 2) {
    double frequency = std::pow(base, -static_cast<double>(i) / width);
    if (scaling == RotaryScaling::Linear)
      frequency /= op.getFactor()->convertToDouble();
    else if (scaling == RotaryScaling::Llama3)
      frequency = scaleAsLlama3(op, frequency);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

//===----------------------------------------------------------------------===//
// rotary
//===----------------------------------------------------------------------===//

IterationSpace RotaryOp::getIterationSpace() {
  SpaceBuilder builder;
  ArrayRef<int64_t> shape = getShape(getX());
  SmallVector<unsigned> loops =
      builder.addLoops(shape.drop_back(), LoopKind::Parallel);
  loops.push_back(builder.addLoop(shape.back(), LoopKind::Replicate));
  builder.addOperand(loops);
  if (Value positions = getPositions()) {
    SmallVector<unsigned> ofPositions = {loops[loops.size() - 2]};
    if (getShape(positions).size() == 2)
      ofPositions.insert(ofPositions.begin(), loops.front());
    builder.addOperand(ofPositions);
  }
  builder.addResult(loops);
  return builder.take();
}

/// Verifies that a number is given exactly where `scaled` needs it.
static LogicalResult verifyNumbers(RotaryOp op) {
  std::optional<RotaryScaling> scaling = op.getScaling();
  bool isLlama3 = scaling == RotaryScaling::Llama3;
  std::string name = scaling
                         ? ("scaled " + stringifyRotaryScaling(*scaling)).str()
                         : "no scaling";
  struct {
    StringRef name;
    Attribute given;
    bool isNeeded;
  } numbers[] = {{"factor", op.getFactorAttr(), scaling.has_value()},
                 {"low_freq_factor", op.getLowFreqFactorAttr(), isLlama3},
                 {"high_freq_factor", op.getHighFreqFactorAttr(), isLlama3},
                 {"original_length", op.getOriginalLengthAttr(), isLlama3}};
  for (auto &number : numbers) {
    if (number.isNeeded && !number.given)
      return op.emitOpError("is ") << name << ", which needs " << number.name;
    if (!number.isNeeded && number.given)
      return op.emitOpError("has ") << number.name << ", and is of " << name
                                    << ", which does not read it";
  }
  for (auto [what, value] :
       {std::pair("factor", op.getFactor()),
        std::pair("low_freq_factor", op.getLowFreqFactor()),
        std::pair("high_freq_factor", op.getHighFreqFactor()),
        std::pair("base", std::optional(op.getBase()))})
    if (value && !(value->isFinite() && value->convertToDouble() > 0))
      return op.emitOpError(what) << " is " << value->convertToDouble()
                                  << ", but must be finite and above 0";
  if (isLlama3 && *op.getOriginalLength() < 1)
    return op.emitOpError("original_length is ")
           << *op.getOriginalLength() << ", but must be at least 1";
  if (isLlama3 && !(*op.getLowFreqFactor() < *op.getHighFreqFactor()))
    return op.emitOpError("low_freq_factor is ")
           << op.getLowFreqFactor()->convertToDouble()
           << ", which must be below high_freq_factor, "
           << op.getHighFreqFactor()->convertToDouble();
  if (scaling == RotaryScaling::Ntk && getRotatedWidth(op) == 2)
    return op.emitOpError("is scaled ntk, which is not defined for a width of "
                          "2: its one frequency is 1");
  return success();
}

LogicalResult RotaryOp::verify() {
  ArrayRef<int64_t> shape = getShape(getX());
  if (shape.size() < 2)
    return emitOpError("needs positions and a row for each, [..., T, D], got ")
           << getX().getType();
  int64_t width = getRotatedWidth(*this);
  if (width < 2 || width % 2 != 0 || width > shape.back())
    return emitOpError("rotates ")
           << width << " of " << shape.back()
           << " elements of a row, but they are pairs: give an even width";
  if (Value positions = getPositions()) {
    ArrayRef<int64_t> of = getShape(positions);
    int64_t time = shape[shape.size() - 2];
    bool isForAll = of == ArrayRef(time);
    bool isForEach = shape.size() > 2 && of == ArrayRef({shape.front(), time});
    if (!isForAll && !isForEach) {
      InFlightDiagnostic diag = emitOpError("has positions of ")
                                << positions.getType() << ", which are not ["
                                << time << "]";
      if (shape.size() > 2)
        diag << " or [" << shape.front() << ", " << time << "]";
      return diag << ", for x of " << getX().getType();
    }
  }
  return verifyNumbers(*this);
}

/// Returns the positions as floats of the type of statistics, with `after`
/// dimensions of size 1 after them.
static Value getPositions(TensorBuilder &b, RotaryOp op, int64_t after) {
  ArrayRef<int64_t> shape = getShape(op.getX());
  int64_t time = shape[shape.size() - 2];
  Type type = getStatisticsType(getElementTypeOrSelf(op.getX()));
  SmallVector<int64_t> of = {time};
  if (Value positions = op.getPositions()) {
    if (getShape(positions).size() == 2) {
      of.assign(shape.size() - 1, 1);
      of.front() = shape.front();
      of.back() = time;
    }
    of.append(after, 1);
    return b.reshape(b.cast(positions, type), of);
  }
  of.append(after, 1);
  return b.make<IotaOp>(RankedTensorType::get(of, type), /*key=*/Value(),
                        b.builder.getI64IntegerAttr(0), TileAttr());
}

/// Halves are neighbours along a dimension of two before the pairs.
PP_DECOMPOSE(RotaryOp, Model) {
  TensorBuilder b(builder, getLoc());
  SmallVector<int64_t> shape(getShape(getX()));
  int64_t width = getRotatedWidth(*this), rest = shape.back() - width;
  SmallVector<int64_t> offsets(shape.size(), 0);
  auto slice = [&](int64_t first, int64_t size) {
    offsets.back() = first;
    shape.back() = size;
    return b.make<SliceOp>(getX().getType().clone(shape), getX(), offsets);
  };
  Value passed = rest == 0 ? Value() : slice(width, rest);
  Value x = rest == 0 ? Value(getX()) : slice(0, width);
  shape.back() = width;

  SmallVector<double> frequencies = getFrequencies(*this);
  int64_t dim = static_cast<int64_t>(shape.size()) - 1;
  if (getInterleaved()) {
    SmallVector<double> ofElements;
    for (double frequency : frequencies)
      ofElements.append(2, frequency);
    frequencies = std::move(ofElements);
  } else {
    SmallVector<int64_t> halves(ArrayRef(shape).drop_back());
    halves.append({2, width / 2});
    x = b.reshape(x, halves);
  }
  Type type = getStatisticsType(getElementTypeOrSelf(x));
  SmallVector<Attribute> numbers;
  for (double frequency : frequencies)
    numbers.push_back(builder.getFloatAttr(type, frequency));
  auto row = RankedTensorType::get(static_cast<int64_t>(numbers.size()), type);
  Value constant =
      b.make<ConstantOp>(row, DenseElementsAttr::get(row, numbers));
  Value angles =
      b.mul(::getPositions(b, *this, getInterleaved() ? 1 : 2), constant);
  Value y = b.make<RotateOp>(x.getType(), x, b.make<CosOp>(angles),
                             b.make<SinOp>(angles),
                             builder.getI64IntegerAttr(dim), UnitAttr());
  y = b.reshape(y, shape);
  return {passed ? b.make<ConcatOp>(ValueRange{y, passed}, dim) : y};
}

//===----------------------------------------------------------------------===//
// rotate
//===----------------------------------------------------------------------===//

IterationSpace RotateOp::getIterationSpace() {
  SpaceBuilder builder;
  ArrayRef<int64_t> shape = getShape(getX());
  SmallVector<unsigned> loops;
  for (auto [dim, size] : llvm::enumerate(shape))
    loops.push_back(builder.addLoop(size, int64_t(dim) == getDim()
                                              ? LoopKind::Replicate
                                              : LoopKind::Parallel));
  builder.addOperand(loops);
  for (Value table : {getCos(), getSin()})
    builder.addBroadcastOperand(getShape(table), loops);
  builder.addResult(loops);
  return builder.take();
}
PP_LINEAR(RotateOp, 0)

LogicalResult RotateOp::verify() {
  ArrayRef<int64_t> shape = getShape(getX()), table = getShape(getCos());
  int64_t dim = getDim();
  if (dim < 0 || dim >= int64_t(shape.size()) || shape[dim] % 2 != 0)
    return emitOpError("dim ")
           << dim << " is not a dimension of pairs of " << getX().getType();
  bool isBroadcast =
      table.size() <= shape.size() &&
      llvm::all_of(llvm::zip(table, shape.take_back(table.size())),
                   [](auto sizes) {
                     auto [ofTable, ofX] = sizes;
                     return ofTable == 1 || ofTable == ofX;
                   });
  if (!isBroadcast || getElementTypeOrSelf(getCos()) !=
                          getStatisticsType(getElementTypeOrSelf(getX())))
    return emitOpError("cosines of ")
           << getCos().getType() << " do not broadcast to " << getX().getType()
           << ", in the type of statistics";
  return success();
}

PP_ELEMENT(RotateOp) {
  ElementBuilder b(builder, getLoc());
  SmallVector<Value> partner(index);
  Value &at = partner[getDim()], one = b.indexConstant(1);
  Value isSecond =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::ne,
                            b.make<arith::AndIOp>(at, one), b.indexConstant(0));
  at = b.make<arith::XOrIOp>(at, one);
  auto readTable = [&](unsigned operand) {
    ArrayRef<int64_t> shape = getShape(getOperand(operand));
    SmallVector<Value> from(index.take_back(shape.size()));
    for (auto [position, size] : llvm::zip(from, shape))
      if (size == 1)
        position = b.indexConstant(0);
    return read(operand, from);
  };
  Value kept = b.mul(read(0, index), readTable(1));
  Value crossed = b.mul(read(0, partner), readTable(2));
  Value negated = b.neg(crossed);
  return b.add(kept, getInverse() ? b.select(isSecond, negated, crossed)
                                  : b.select(isSecond, crossed, negated));
}

/// A rotation back. Angles follow from positions, which are integers.
PP_ADJOINT(RotateOp) {
  if (needed[1] || needed[2])
    return emitOpError("has no gradient with respect to its angles");
  TensorBuilder b(builder, getLoc());
  operandGrads[0] = b.make<RotateOp>(
      getX().getType(), resultGrads[0], getCos(), getSin(), getDimAttr(),
      getInverse() ? UnitAttr() : builder.getUnitAttr());
  return success();
}
