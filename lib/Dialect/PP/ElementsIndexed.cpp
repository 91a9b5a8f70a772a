//===- ElementsIndexed.cpp - Scalar code of constants, iota, dropout ------===//
//
// Elements that depend on their index, in the global tensor if the op has a
// tile.
//
//===----------------------------------------------------------------------===//

#include "ElementBuilder.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/TableRow.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/Hashing.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

/// Returns the module's constant with this value; creates it if there is none.
static memref::GlobalOp getOrCreateGlobal(ElementBuilder &b, ElementsAttr value,
                                          MemRefType type) {
  Operation *scope = b.builder.getInsertionBlock()->getParentOp();
  auto module = isa<ModuleOp>(scope) ? cast<ModuleOp>(scope)
                                     : scope->getParentOfType<ModuleOp>();
  unsigned ordinal = 0;
  for (auto global : module.getOps<memref::GlobalOp>()) {
    if (global.getInitialValueAttr() == value)
      return global;
    ++ordinal;
  }
  OpBuilder::InsertionGuard guard(b.builder);
  b.builder.setInsertionPointToStart(module.getBody());
  return memref::GlobalOp::create(
      b.builder, b.loc, "constant_" + std::to_string(ordinal),
      b.builder.getStringAttr("private"), type, value, /*constant=*/true,
      /*alignment=*/b.builder.getI64IntegerAttr(64));
}

/// A scalar if all elements are equal; else a constant of the module.
PP_ELEMENT(ConstantOp) {
  ElementBuilder b(builder, getLoc());
  Type compute = getComputeType(getResult());
  auto value = cast<DenseElementsAttr>(getValue());
  if (value.isSplat()) {
    if (!isa<FloatType>(compute))
      return arith::ConstantOp::create(builder, getLoc(),
                                       value.getSplatValue<IntegerAttr>());
    return b.constant(compute,
                      value.getSplatValue<FloatAttr>().getValueAsDouble());
  }
  auto type = MemRefType::get(value.getType().getShape(),
                              value.getType().getElementType());
  memref::GlobalOp global = getOrCreateGlobal(b, value, type);
  Value data =
      memref::GetGlobalOp::create(builder, getLoc(), type, global.getSymName());
  Value element = memref::LoadOp::create(builder, getLoc(), data, index);
  return element.getType() == compute ? element
                                      : b.make<arith::ExtFOp>(compute, element);
}

//===----------------------------------------------------------------------===//
// Global indices
//===----------------------------------------------------------------------===//

namespace {
/// Reads the random key, operand `operand`.
class KeyReader {
public:
  KeyReader(ElementBuilder &b, unsigned operand, ElementReader read)
      : b(b), operand(operand), read(read) {}
  Value operator()(KeyElement element) const { return get(indexOf(element)); }
  Value get(int64_t at) const { return read(operand, b.indexConstant(at)); }

private:
  ElementBuilder &b;
  unsigned operand;
  ElementReader read;
};
} // namespace

/// Returns the global index along dimension `dim` of a local one. A cut leaves
/// period / parts of each period's elements, those from (coordinate * period /
/// parts) on: each local index lies after the other parts of all periods before
/// its own.
static Value getGlobalIndex(ElementBuilder &b, Value index, int64_t dim,
                            TileAttr tile, const KeyReader &key) {
  if (!tile)
    return index;
  AxisCuts cuts = tile.getCuts(dim);
  int64_t size = tile.getShape()[dim] / countParts(cuts);
  Value global = index;
  for (auto [i, cut] : llvm::enumerate(cuts)) {
    int64_t part = cut.period / cut.parts;
    Value coordinate =
        b.make<arith::IndexCastOp>(b.builder.getIndexType(), key.get(cut.at));
    global = b.addIndex(global, b.scaleIndex(coordinate, part));
    int64_t local = cut.period / countParts(ArrayRef(cuts).drop_front(i));
    if (local == size)
      continue; // there is one period
    Value period = b.make<arith::DivUIOp>(index, b.indexConstant(local));
    global = b.addIndex(global, b.scaleIndex(period, cut.period - part));
  }
  return global;
}

static LogicalResult requireKey(Operation *op, Value key) {
  if (key)
    return success();
  return op->emitOpError("has no random key when kernels are emitted; tasks "
                         "give it one where needsRandomKey says so");
}

PP_ELEMENT(IotaOp) {
  if (getTileAttr() && failed(requireKey(*this, getKey())))
    return Value();
  ElementBuilder b(builder, getLoc());
  KeyReader key(b, 0, read);
  Value position =
      getGlobalIndex(b, index[getDim()], getDim(), getTileAttr(), key);
  Type compute = getComputeType(getResult());
  if (isa<IntegerType>(compute))
    return b.make<arith::IndexCastOp>(compute, position);
  Value integer = b.make<arith::IndexCastOp>(builder.getI64Type(), position);
  return b.make<arith::SIToFPOp>(compute, integer);
}

PP_ELEMENT(OwnPartOp) {
  if (failed(requireKey(*this, getKey())))
    return Value();
  ElementBuilder b(builder, getLoc());
  SmallVector<Value> at(index);
  at[getDim()] = b.make<arith::IndexCastOp>(builder.getIndexType(),
                                            KeyReader(b, 1, read).get(getAt()));
  return read(0, at);
}

//===----------------------------------------------------------------------===//
// Rows of tables
//===----------------------------------------------------------------------===//

/// Each cut leaves the elements of each period whose coordinate is the rank's.
/// What follows from an id that is outside is never used.
TableRow pp::emitTableRow(OpBuilder &builder, Location loc, Value id,
                          RankedTensorType table, TileAttr tile,
                          llvm::function_ref<Value(int64_t)> readKey) {
  ElementBuilder b(builder, loc);
  int64_t size = tile ? tile.getShape()[0] : table.getDimSize(0);
  // Unsigned: a negative index is a large one.
  auto isBelow = [&](Value index, int64_t bound) {
    return b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, index,
                                 b.indexConstant(bound));
  };
  Value row = b.make<arith::IndexCastOp>(builder.getIndexType(), id);
  Value isInside = isBelow(row, size);
  for (const AxisCut &cut : tile ? tile.getCuts(0) : AxisCuts()) {
    int64_t part = cut.period / cut.parts;
    Value coordinate =
        b.make<arith::IndexCastOp>(builder.getIndexType(), readKey(cut.at));
    Value first = b.scaleIndex(coordinate, part), period;
    if (cut.period != size) {
      period = b.make<arith::DivUIOp>(row, b.indexConstant(cut.period));
      row = b.make<arith::RemUIOp>(row, b.indexConstant(cut.period));
    }
    row = b.make<arith::SubIOp>(row, first);
    isInside = b.make<arith::AndIOp>(isInside, isBelow(row, part));
    if (period)
      row = b.addIndex(b.scaleIndex(period, part), row);
    size /= cut.parts;
  }
  return {isInside, b.select(isInside, row, b.indexConstant(0))};
}

/// Reads row `ids[...]` of the table, never outside of it: ids out of range are
/// reported elsewhere (docs/faults.md).
PP_ELEMENT(EmbeddingOp) {
  if (getTileAttr() && failed(requireKey(*this, getKey())))
    return Value();
  ElementBuilder b(builder, getLoc());
  TableRow row = emitTableRow(
      builder, getLoc(), read(1, index.drop_back()), getTable().getType(),
      getTileAttr(), [&](int64_t at) { return KeyReader(b, 2, read).get(at); });
  Value x = read(0, {row.index, index.back()});
  return getTileAttr() ? b.select(row.isInside, x, b.constant(x.getType(), 0))
                       : x;
}

//===----------------------------------------------------------------------===//
// Rows and batches of an evaluation
//===----------------------------------------------------------------------===//

PP_ELEMENT(MaskRowsOp) {
  if (failed(requireKey(*this, getKey())))
    return Value();
  ElementBuilder b(builder, getLoc());
  KeyReader key(b, 1, read);
  Value row = getGlobalIndex(b, index[getDim()], getDim(), getTileAttr(), key);
  int64_t size = getTileAttr() ? getTileAttr().getShape()[getDim()]
                               : getShape(getX())[getDim()];
  if (getPeriod() != size)
    row = b.make<arith::RemUIOp>(row, b.indexConstant(getPeriod()));
  if (getPeriod() != getRows())
    row = b.make<arith::DivUIOp>(row, b.indexConstant(getPeriod() / getRows()));
  Value counts = b.make<arith::CmpIOp>(
      arith::CmpIPredicate::slt,
      b.make<arith::IndexCastOp>(builder.getI64Type(), row),
      key(KeyElement::Rows));
  Value x = read(0, index);
  Value fill = isa<FloatType>(x.getType())
                   ? b.constant(x.getType(), static_cast<double>(getFill()))
                   : b.constantInt(x.getType(), getFill());
  return b.select(counts, x, fill);
}

/// The factor is computed in f64: in training it is exactly 1.
PP_ELEMENT(EvaluationShareOp) {
  if (failed(requireKey(*this, getKey())))
    return Value();
  ElementBuilder b(builder, getLoc());
  KeyReader key(b, 1, read);
  Type f64 = builder.getF64Type();
  std::optional<int64_t> rows = getRows();
  Value whole = key(rows ? KeyElement::AllRows : KeyElement::Batches);
  Value factor = b.div(b.constant(f64, static_cast<double>(rows.value_or(1))),
                       b.make<arith::SIToFPOp>(f64, whole));
  Value x = read(0, index);
  if (x.getType() != f64)
    factor = b.makeFloat<arith::TruncFOp>(x.getType(), factor);
  return b.mul(x, factor);
}

//===----------------------------------------------------------------------===//
// dropout and random: docs/random-numbers.md
//===----------------------------------------------------------------------===//

namespace {

/// Philox4x32-10 on scalars. Words are i32; products of two words are computed
/// in i64 from extended words, which LLVM vectorises.
class Philox {
public:
  static constexpr int64_t kGroup = 4; ///< elements that share their words

  explicit Philox(ElementBuilder &b)
      : b(b), i32(b.builder.getI32Type()), i64(b.builder.getI64Type()) {}

  /// Computes the words of `group` (i64) at (seed, stream, step); that of the
  /// element is word `lane` (i32).
  void draw(Value seed, int64_t stream, Value step, Value group,
            Value ofElement) {
    Value key = b.make<arith::XOrIOp>(seed, b.constantInt(i64, stream));
    words = {low(group), high(group), low(step), high(step)};
    run(words, {low(key), high(key)});
    lane = ofElement;
  }

  /// Returns the word of the element.
  Value getWord() {
    Value word = words[3];
    for (int i = 2; i >= 0; --i)
      word = b.select(b.make<arith::CmpIOp>(arith::CmpIPredicate::eq, lane,
                                            b.constantInt(i32, i)),
                      words[i], word);
    return word;
  }

  /// Returns a word of the two that the element shares with its neighbour.
  Value getSharedWord(int i) {
    return b.select(b.make<arith::CmpIOp>(arith::CmpIPredicate::ult, lane,
                                          b.constantInt(i32, 2)),
                    words[i], words[2 + i]);
  }
  /// Returns whether the element is the second of the two.
  Value isSecond() {
    return b.make<arith::CmpIOp>(
        arith::CmpIPredicate::ne,
        b.make<arith::AndIOp>(lane, b.constantInt(i32, 1)),
        b.constantInt(i32, 0));
  }

private:
  static constexpr uint32_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
  static constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};

  Value low(Value x) { return b.make<arith::TruncIOp>(i32, x); }
  Value high(Value x) {
    return low(b.make<arith::ShRUIOp>(x, b.constantInt(i64, 32)));
  }
  Value multiply(Value word, uint32_t multiplier) {
    return b.make<arith::MulIOp>(b.make<arith::ExtUIOp>(i64, word),
                                 b.constantInt(i64, multiplier));
  }
  Value xorAll(Value x, Value y, Value z) {
    return b.make<arith::XOrIOp>(b.make<arith::XOrIOp>(x, y), z);
  }

  void run(std::array<Value, 4> &c, std::array<Value, 2> key) {
    for (uint32_t round = 0; round < 10; ++round) {
      Value k[2];
      for (int i : {0, 1})
        k[i] = b.make<arith::AddIOp>(
            key[i], b.constantInt(i32, static_cast<int32_t>(round * kWeyl[i])));
      Value matmul0 = multiply(c[0], kMultipliers[0]);
      Value matmul1 = multiply(c[2], kMultipliers[1]);
      c = {xorAll(high(matmul1), c[1], k[0]), low(matmul1),
           xorAll(high(matmul0), c[3], k[1]), low(matmul0)};
    }
  }

  ElementBuilder &b;
  Type i32, i64;
  std::array<Value, 4> words;
  Value lane; ///< the element's of its group
};

} // namespace

/// Returns what the element at `index` of `shape` draws by its global index.
static Philox draw(ElementBuilder &b, int64_t stream, TileAttr tile,
                   ArrayRef<int64_t> shape, ValueRange index,
                   const KeyReader &key) {
  SmallVector<Value> global;
  for (auto [dim, i] : llvm::enumerate(index))
    global.push_back(getGlobalIndex(b, i, dim, tile, key));
  SmallVector<int64_t> sizes(tile ? tile.getShape() : shape);
  // Where rows are made of whole groups, what neighbours of a group have in
  // common is the same operations, which LLVM computes once for most of those
  // of a GPU's thread.
  bool areWhole = !sizes.empty() && sizes.back() % Philox::kGroup == 0;
  Value position = areWhole ? global.back() : b.linearize(global, sizes);
  Value size = b.indexConstant(Philox::kGroup);
  Value lane = b.make<arith::RemUIOp>(position, size);
  Value group =
      b.make<arith::DivUIOp>(b.make<arith::SubIOp>(position, lane), size);
  if (areWhole) {
    global.back() = group;
    sizes.back() /= Philox::kGroup;
    group = b.linearize(global, sizes);
  }
  Philox philox(b);
  philox.draw(key(KeyElement::Seed), stream, key(KeyElement::Step),
              b.make<arith::IndexCastOp>(b.builder.getI64Type(), group),
              b.make<arith::IndexCastOp>(b.builder.getI32Type(), lane));
  return philox;
}

static LogicalResult requireStream(Operation *op,
                                   std::optional<int64_t> stream) {
  if (stream)
    return success();
  return op->emitOpError("has no stream when kernels are emitted; "
                         "pp-inline-calls gives it one");
}

/// Returns whether the element at `index` is dropped: u < p.
static Value emitDrops(ElementBuilder &b, DropoutOp op, ValueRange index,
                       const KeyReader &key) {
  Type i32 = b.builder.getI32Type(), f32 = b.builder.getF32Type();
  Value word = draw(b, *op.getStream(), op.getTileAttr(), getShape(op.getX()),
                    index, key)
                   .getWord();
  // 24 bits: exact in f32, and not negative, so the signed conversion, which
  // vectorises, is valid.
  Value bits = b.make<arith::ShRUIOp>(word, b.constantInt(i32, 8));
  Value u = b.scale(b.make<arith::SIToFPOp>(f32, bits), 0x1p-24);
  return b.lessThan(u, b.constant(f32, op.getP().convertToDouble()));
}

PP_ELEMENT(DropoutOp) {
  if (failed(requireKey(*this, getKey())) ||
      failed(requireStream(*this, getStream())))
    return Value();
  ElementBuilder b(builder, getLoc());
  KeyReader key(b, 1, read);
  Value x = read(0, index);
  Value kept = b.scale(x, 1 / (1 - getP().convertToDouble()));
  Value zero = b.constant(x.getType(), 0);
  Value dropped = b.select(emitDrops(b, *this, index, key), zero, kept);
  Value isTraining =
      b.make<arith::CmpIOp>(arith::CmpIPredicate::ne, key(KeyElement::Training),
                            b.constantInt(b.builder.getI64Type(), 0));
  return b.select(isTraining, dropped, x);
}

std::pair<double, double> RandomOp::getNumbers() {
  auto get = [](std::optional<APFloat> given, double other) {
    return given ? given->convertToDouble() : other;
  };
  if (getDistribution() == Distribution::Uniform)
    return {get(getLow(), 0), get(getHigh(), 1)};
  return {get(getMean(), 0), get(getStd(), 1)};
}

namespace {

/// Numbers of a type that words of random bits make: 24 bits of f32, which
/// holds them exactly, and 32 of f64.
struct WordFractions {
  ElementBuilder &b;
  Type type;

  bool isWide() const { return type.isF64(); }
  double getUnit() const { return isWide() ? 0x1p-32 : 0x1p-24; }

  /// Returns (word + offset) * unit, where the word has as many bits as the
  /// type takes.
  Value get(Value word, int64_t offset) {
    Type i64 = b.builder.getI64Type(), i32 = b.builder.getI32Type();
    // Not negative in the signed type, whose conversion vectorises.
    Value bits = isWide() ? b.make<arith::ExtUIOp>(i64, word)
                          : b.make<arith::ShRUIOp>(word, b.constantInt(i32, 8));
    if (offset != 0)
      bits = b.make<arith::AddIOp>(bits, b.constantInt(bits.getType(), offset));
    return b.scale(b.make<arith::SIToFPOp>(type, bits), getUnit());
  }
};

} // namespace

/// The sine of a quarter turn more is the cosine.
static Value emitNormal(ElementBuilder &b, Philox &drawn, Type type) {
  WordFractions fractions{b, type};
  Value radius = b.makeFloat<math::SqrtOp>(b.scale(
      b.makeFloat<math::LogOp>(fractions.get(drawn.getSharedWord(0), 1)), -2));
  Type i32 = b.builder.getI32Type();
  Value turn = drawn.getSharedWord(1);
  Value turned = b.make<arith::AddIOp>(turn, b.constantInt(i32, 1 << 30));
  Value angle = b.scale(
      fractions.get(b.select(drawn.isSecond(), turn, turned), 0), 2 * M_PI);
  return b.mul(radius, b.makeFloat<math::SinOp>(angle));
}

PP_ELEMENT(RandomOp) {
  if (failed(requireKey(*this, getKey())) ||
      failed(requireStream(*this, getStream())))
    return Value();
  ElementBuilder b(builder, getLoc());
  Philox drawn = draw(b, *getStream(), getTileAttr(), getShape(getResult()),
                      index, KeyReader(b, 0, read));
  Type type = getComputeType(getResult());
  auto [first, second] = getNumbers();
  bool isUniform = getDistribution() == Distribution::Uniform;
  Value number = isUniform ? WordFractions{b, type}.get(drawn.getWord(), 0)
                           : emitNormal(b, drawn, type);
  return b.shift(b.scale(number, isUniform ? second - first : second), first);
}
