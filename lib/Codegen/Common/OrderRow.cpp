//===- OrderRow.cpp - Code that orders the elements of a row --------------===//

#include "ppopt/Codegen/OrderRow.h"

#include "ppopt/Codegen/LinesAlongDim.h"

using namespace mlir;
using namespace mlir::pp;

static constexpr int64_t kPackedBits = 32;

static IntegerType getKeyType(OrderOp op) {
  Type type = getStatisticsType(getElementTypeOrSelf(op.getX()));
  return IntegerType::get(op.getContext(), type.getIntOrFloatBitWidth());
}

OrderRow::OrderRow(ElementPuller &puller, OrderOp op)
    : size(getShape(op.getX()).back()), count(getShape(op.getResult()).back()),
      keyType(getKeyType(op)), puller(puller), builder(puller.builder),
      loc(puller.getLoc()), op(op),
      isPacked(keyType.getWidth() == kPackedBits && size < int64_t(1)
                                                               << kPackedBits) {
  setNoPosition(puller);
}

void OrderRow::setRow(Value row) {
  rowIndex = puller.delinearize(row, getShape(op.getX()).drop_back());
  first = puller.mul(row, count);
}

/// Floats have the order of their bits, read as integers, if the bits of
/// negative ones are inverted. -0 equals 0; a NaN is larger than all numbers.
Value OrderRow::pullKey(Value i) {
  SmallVector<Value> index = rowIndex;
  index.push_back(i);
  Value x = puller.pullAt(op.getX(), index);
  auto constant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(keyType, value));
  };
  unsigned width = keyType.getWidth();
  Value sign = constant(APInt::getSignMask(width));
  Value ones = constant(APInt::getAllOnes(width));
  Value key;
  if (isa<FloatType>(x.getType())) {
    Value bits = arith::BitcastOp::create(builder, loc, keyType, x);
    Value zero = constant(APInt::getZero(width));
    Value isMinusZero = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, bits, sign);
    bits = arith::SelectOp::create(builder, loc, isMinusZero, zero, bits);
    Value isNegative = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, bits, zero);
    Value mask = arith::SelectOp::create(builder, loc, isNegative, ones, sign);
    key = arith::XOrIOp::create(builder, loc, bits, mask);
    Value isNan =
        arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, x, x);
    key = arith::SelectOp::create(builder, loc, isNan, ones, key);
  } else {
    key = arith::XOrIOp::create(builder, loc, x, sign);
  }
  return op.getSmallest()
             ? key
             : arith::XOrIOp::create(builder, loc, key, ones).getResult();
}

void OrderRow::storeId(Value id, Value place) {
  puller.store(id, puller.getResultBuffer(0), builder.getI64Type(),
               puller.add(first, place));
}

Value OrderRow::loadId(Value place) {
  return puller.load(puller.getResultBuffer(0), builder.getI64Type(),
                     puller.add(first, place));
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void OrderRow::storeEntry(Value i) {
  Type i64 = builder.getI64Type();
  Value entry = arith::IndexCastUIOp::create(builder, loc, i64, i);
  if (isPacked) {
    Value key = arith::ExtUIOp::create(builder, loc, i64, pullKey(i));
    Value bits = arith::ConstantIntOp::create(builder, loc, i64, kPackedBits);
    entry = arith::OrIOp::create(
        builder, loc, arith::ShLIOp::create(builder, loc, key, bits), entry);
  }
  storeId(entry, i);
}

Value OrderRow::pullKeyOf(Value entry) {
  return pullKey(arith::IndexCastUIOp::create(builder, loc,
                                              builder.getIndexType(), entry));
}

Value OrderRow::isBefore(Value a, Value b) {
  auto compare = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  };
  Value isLower = compare(arith::CmpIPredicate::ult, a, b);
  if (isPacked)
    return isLower;
  Value keyA = pullKeyOf(a), keyB = pullKeyOf(b);
  Value isEqual = compare(arith::CmpIPredicate::eq, keyA, keyB);
  return arith::SelectOp::create(
      builder, loc, isEqual, isLower,
      compare(arith::CmpIPredicate::ult, keyA, keyB));
}

void OrderRow::exchange(Value a, Value b) {
  Value left = loadId(a), right = loadId(b);
  Value isSwapped = isBefore(right, left);
  storeId(arith::SelectOp::create(builder, loc, isSwapped, right, left), a);
  storeId(arith::SelectOp::create(builder, loc, isSwapped, left, right), b);
}

void OrderRow::finishEntry(Value place) {
  if (!isPacked)
    return;
  Value mask = arith::ConstantIntOp::create(builder, loc, builder.getI64Type(),
                                            (int64_t(1) << kPackedBits) - 1);
  storeId(arith::AndIOp::create(builder, loc, loadId(place), mask), place);
}
