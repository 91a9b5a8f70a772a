//===- BlockCode.cpp - Vector code on blocks of matrices ------------------===//

#include "BlockCode.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

BlockCode::BlockCode(OpBuilder &builder, Location loc, Type type,
                     int64_t vectorBytes)
    : builder(builder), loc(loc), type(type),
      width(vectorBytes * 8 / type.getIntOrFloatBitWidth()),
      vector(VectorType::get({width}, type)),
      groupVectors(vectorBytes == 64   ? 4
                   : vectorBytes == 32 ? 3
                                       : 2),
      hasFma(vectorBytes > 16) {}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value BlockCode::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value BlockCode::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}

Value BlockCode::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}

Value BlockCode::mul(Value a, int64_t b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, index(b));
}

Value BlockCode::min(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(loc, a, b);
}

Value BlockCode::max(Value a, Value b) {
  return builder.createOrFold<arith::MaxSIOp>(loc, a, b);
}

Value BlockCode::divideDown(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, index(b));
}

Value BlockCode::remainder(Value a, int64_t b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, index(b));
}

Value BlockCode::isLess(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a,
                                             b);
}

Value BlockCode::real(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

Value BlockCode::broadcast(Value scalar) {
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get({width}, scalar.getType()), scalar);
}

Value BlockCode::lanes() {
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < width; ++i)
    numbers.push_back(i);
  auto lanes = VectorType::get({width}, builder.getI32Type());
  return arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(lanes, ArrayRef(numbers)));
}

Value BlockCode::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}

Value BlockCode::subF(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}

Value BlockCode::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}

Value BlockCode::fma(Value a, Value b, Value c) {
  if (!hasFma)
    return addF(mulF(a, b), c);
  return math::FmaOp::create(builder, loc, a, b, c);
}

Value BlockCode::maxF(Value a, Value b) {
  // CPUs have this comparison as an instruction; a NaN in `b` is returned.
  Value isGreater =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, a, b);
  return arith::SelectOp::create(builder, loc, isGreater, a, b);
}

/// Halves the vector until one element is left.
Value BlockCode::sumOf(Value vectorValue) {
  Value value = vectorValue;
  for (int64_t half = width / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < half; ++i) {
      low.push_back(i);
      high.push_back(half + i);
    }
    value = addF(vector::ShuffleOp::create(builder, loc, value, value, low),
                 vector::ShuffleOp::create(builder, loc, value, value, high));
  }
  return vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{0});
}

Value BlockCode::combineEach(ArrayRef<Value> vectors,
                             llvm::function_ref<Value(Value, Value)> combine) {
  SmallVector<Value> rows(vectors);
  transposeVectors(rows);
  for (int64_t half = width / 2; half >= 1; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      rows[i] = combine(rows[i], rows[half + i]);
  return rows[0];
}

/// In f32 e^x = 2^n 2^f with n the nearest integer to x log2 e and f in
/// [-1/2, 1/2]. The polynomial of 2^f, with minimal relative error (2e-9), was
/// fitted by least squares with weights that grow with the error; n is added to
/// its exponent.
Value BlockCode::exp(Value x) {
  if (type.isF64())
    return math::ExpOp::create(builder, loc, x);
  double least = -87; // 2^-125.5
  // This operand order propagates a NaN.
  Value bounded = maxF(splat(least), x);
  Value log2e = splat(1 / std::log(2.0));
  // Of numbers near 3 * 2^22 the integers are neighbours.
  Value magic = splat(0x3p22);
  Value shifted = fma(bounded, log2e, magic);
  Value n = subF(shifted, magic);
  Value f = fma(bounded, log2e, arith::NegFOp::create(builder, loc, n));
  Value power = splat(1.5345811771431302e-4);
  for (double coefficient :
       {1.3399931422081045e-3, 9.618488959750787e-3, 5.5503287764666134e-2,
        2.4022646890593047e-1, 6.931472057374941e-1, 1.0})
    power = fma(power, f, splat(coefficient));
  auto integers = VectorType::get({width}, builder.getI32Type());
  Value shift = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(integers, builder.getI32IntegerAttr(23)));
  auto bitsOf = [&](Value x) -> Value {
    return arith::BitcastOp::create(builder, loc, integers, x);
  };
  // The other bits of the shifted number leave at the top.
  Value exponent = arith::ShLIOp::create(builder, loc, bitsOf(shifted), shift);
  Value result = arith::BitcastOp::create(
      builder, loc, vector,
      arith::AddIOp::create(builder, loc, bitsOf(power), exponent));
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT,
                                       x, splat(least));
  return arith::SelectOp::create(builder, loc, isZero, splat(0), result);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void BlockCode::loop(Value begin, Value end, int64_t step,
                     llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

void BlockCode::ifElse(Value condition, llvm::function_ref<void()> then,
                       llvm::function_ref<void()> otherwise) {
  auto choice =
      scf::IfOp::create(builder, loc, condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  then();
  if (!otherwise)
    return;
  builder.setInsertionPointToStart(choice.elseBlock());
  otherwise();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value BlockCode::address(Value pointer, Type element, Value offset) {
  Value number =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), offset);
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), element, pointer,
                             ArrayRef<LLVM::GEPArg>{number},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value BlockCode::at(const PackedMatrix &block, Value row, Value column) {
  return address(block.pointer, type, add(mul(row, block.stride), column));
}

static unsigned getBytes(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * getBytes(vector.getElementType());
  return type.getIntOrFloatBitWidth() / 8;
}

Value BlockCode::loadVector(Value address) {
  return LLVM::LoadOp::create(builder, loc, vector, address, getBytes(vector));
}

void BlockCode::storeVector(Value value, Value address) {
  LLVM::StoreOp::create(builder, loc, value, address, getBytes(vector));
}

Value BlockCode::loadScalar(Value address) {
  return LLVM::LoadOp::create(builder, loc, type, address, getBytes(type));
}

void BlockCode::storeScalar(Value value, Value address) {
  LLVM::StoreOp::create(builder, loc, value, address, getBytes(type));
}

Value BlockCode::mask(int64_t count) {
  SmallVector<bool> bits(width, false);
  std::fill_n(bits.begin(), count, true);
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(VectorType::get({width}, builder.getI1Type()),
                             ArrayRef<bool>(bits)));
}

Value BlockCode::loadColumns(const StridedMatrix &matrix, Value row,
                             Value column, int64_t count) {
  auto inMemory = VectorType::get({width}, matrix.element);
  Value from = address(matrix.pointer, matrix.element,
                       add(mul(row, matrix.stride), column));
  unsigned alignment = getBytes(matrix.element);
  Value value;
  if (count == width) {
    value = LLVM::LoadOp::create(builder, loc, inMemory, from, alignment);
  } else {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(inMemory));
    value = LLVM::MaskedLoadOp::create(builder, loc, inMemory, from,
                                       mask(count), zero, alignment);
  }
  return inMemory == vector
             ? value
             : arith::ExtFOp::create(builder, loc, vector, value).getResult();
}

void BlockCode::storeColumns(Value value, const StridedMatrix &matrix,
                             Value row, Value column, int64_t count) {
  auto inMemory = VectorType::get({width}, matrix.element);
  if (inMemory != vector)
    value = arith::TruncFOp::create(builder, loc, inMemory, value);
  Value to = address(matrix.pointer, matrix.element,
                     add(mul(row, matrix.stride), column));
  unsigned alignment = getBytes(matrix.element);
  if (count == width)
    LLVM::StoreOp::create(builder, loc, value, to, alignment);
  else
    LLVM::MaskedStoreOp::create(builder, loc, value, to, mask(count),
                                alignment);
}

void BlockCode::forColumns(
    int64_t columns,
    llvm::function_ref<void(Value column, int64_t count)> body) {
  int64_t whole = columns / width * width;
  if (whole > 0)
    loop(0, whole, width, [&](Value column) { body(column, width); });
  if (columns > whole)
    body(index(whole), columns - whole);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void BlockCode::fill(const PackedMatrix &block, int64_t rows, int64_t columns,
                     double value) {
  loop(0, rows, 1, [&](Value row) {
    loop(0, columns, width, [&](Value column) {
      storeVector(splat(value), at(block, row, column));
    });
  });
}

void BlockCode::pack(const StridedMatrix &from, const PackedMatrix &to,
                     Value rows, int64_t paddedRows,
                     std::optional<double> scale) {
  loop(index(0), rows, 1, [&](Value row) {
    forColumns(from.columns, [&](Value column, int64_t count) {
      Value value = loadColumns(from, row, column, count);
      if (scale)
        value = mulF(value, splat(*scale));
      storeVector(value, at(to, row, column));
    });
  });
  loop(rows, index(paddedRows), 1, [&](Value row) {
    loop(0, pad(from.columns), width,
         [&](Value column) { storeVector(splat(0), at(to, row, column)); });
  });
}

/// Swaps blocks of 1, 2, 4, … between pairs of rows of a square.
void BlockCode::transposeVectors(MutableArrayRef<Value> rows) {
  for (int64_t size = 1; size < width; size *= 2) {
    SmallVector<int64_t> even, odd;
    for (int64_t i = 0; i < width; ++i) {
      bool isSecond = i & size;
      even.push_back(isSecond ? width + i - size : i);
      odd.push_back(isSecond ? width + i : i + size);
    }
    for (int64_t i = 0; i < width; ++i) {
      if (i & size)
        continue;
      Value a = rows[i], b = rows[i + size];
      rows[i] = vector::ShuffleOp::create(builder, loc, a, b, even);
      rows[i + size] = vector::ShuffleOp::create(builder, loc, a, b, odd);
    }
  }
}

void BlockCode::transposeSquare(const PackedMatrix &from,
                                const PackedMatrix &to, Value row,
                                Value column) {
  SmallVector<Value> rows;
  for (int64_t i = 0; i < width; ++i)
    rows.push_back(loadVector(at(from, add(row, i), column)));
  transposeVectors(rows);
  for (int64_t i = 0; i < width; ++i)
    storeVector(rows[i], at(to, add(column, i), row));
}

void BlockCode::transpose(const PackedMatrix &from, const PackedMatrix &to,
                          int64_t rows, int64_t columns) {
  loop(0, rows, width, [&](Value row) {
    loop(0, columns, width,
         [&](Value column) { transposeSquare(from, to, row, column); });
  });
}

/// Computes one group of rows and `vectors` vectors of columns, in registers
/// over all of k.
void BlockCode::matmulGroup(const BlockMatmul &matmul, Value row, Value column,
                            int64_t vectors) {
  auto getC = [&](int64_t r, int64_t v) {
    return at(matmul.c, add(row, r), add(column, v * width));
  };
  SmallVector<Value> sums;
  for (int64_t r = 0; r < groupRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      sums.push_back(matmul.initial
                         ? matmul.initial(add(row, r), loadVector(getC(r, v)))
                         : splat(0));
  Value begin = matmul.beginKOfRow ? matmul.beginKOfRow(row) : matmul.beginK;
  Value end = matmul.endKOfRow ? matmul.endKOfRow(row) : matmul.endK;
  auto overK = scf::ForOp::create(builder, loc, begin, end, index(1), sums);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(overK.getBody());
    Value k = overK.getInductionVar();
    SmallVector<Value> b, next;
    for (int64_t v = 0; v < vectors; ++v)
      b.push_back(loadVector(at(matmul.b, k, add(column, v * width))));
    for (int64_t r = 0; r < groupRows; ++r) {
      Value i = add(row, r);
      Value a = broadcast(loadScalar(
          matmul.isATransposed ? at(matmul.a, k, i) : at(matmul.a, i, k)));
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(fma(a, b[v], overK.getRegionIterArg(r * vectors + v)));
    }
    scf::YieldOp::create(builder, loc, next);
  }
  for (int64_t r = 0; r < groupRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      storeVector(overK.getResult(r * vectors + v), getC(r, v));
}

void BlockCode::matmul(const BlockMatmul &matmul) {
  loop(matmul.beginRow, matmul.endRow, groupRows, [&](Value row) {
    int64_t step = groupVectors * width;
    if (!matmul.vectorsOfRow) {
      int64_t whole = matmul.vectors / groupVectors * groupVectors;
      if (whole == groupVectors)
        matmulGroup(matmul, row, index(0), groupVectors);
      else if (whole > 0)
        loop(0, whole * width, step, [&](Value column) {
          matmulGroup(matmul, row, column, groupVectors);
        });
      if (matmul.vectors > whole)
        matmulGroup(matmul, row, index(whole * width), matmul.vectors - whole);
      return;
    }
    Value vectors = matmul.vectorsOfRow(row);
    Value whole = mul(divideDown(vectors, groupVectors), step);
    loop(index(0), whole, step,
         [&](Value column) { matmulGroup(matmul, row, column, groupVectors); });
    Value left = sub(mul(vectors, width), whole);
    for (int64_t count = 1; count < groupVectors; ++count) {
      Value isCount = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq, left, index(count * width));
      ifElse(isCount, [&] { matmulGroup(matmul, row, whole, count); });
    }
  });
}
