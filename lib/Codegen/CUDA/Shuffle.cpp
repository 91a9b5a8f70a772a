//===- Shuffle.cpp - Values of other threads of a warp --------------------===//

#include "Shuffle.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the word, of 32 bits, of the thread whose number differs in the bit
/// `distance`.
static Value exchangeWord(OpBuilder &builder, Location loc, Value word,
                          int64_t distance, Value mask) {
  Type i32 = builder.getI32Type();
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i32, value);
  };
  return NVVM::ShflOp::create(
      builder, loc, word.getType(), mask ? mask : number(-1), word,
      number(distance), number(kWarp - 1), NVVM::ShflKind::bfly, UnitAttr());
}

Value pp::emitShuffle(OpBuilder &builder, Location loc, Value value,
                      int64_t distance, Value mask) {
  Type type = value.getType(), i32 = builder.getI32Type();
  if (type.isF32() || type.isInteger(32))
    return exchangeWord(builder, loc, value, distance, mask);
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 64) {
    // A long word is two, also for a GPU's shuffle.
    Type i64 = builder.getI64Type();
    Value all = type.isInteger()
                    ? value
                    : arith::BitcastOp::create(builder, loc, i64, value);
    Value half = arith::ConstantIntOp::create(builder, loc, i64, 32);
    Value low = arith::TruncIOp::create(builder, loc, i32, all);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, all, half));
    auto widen = [&](Value word) -> Value {
      return arith::ExtUIOp::create(
          builder, loc, i64, exchangeWord(builder, loc, word, distance, mask));
    };
    Value joined = arith::OrIOp::create(
        builder, loc, widen(low),
        arith::ShLIOp::create(builder, loc, widen(high), half));
    return type.isInteger()
               ? joined
               : arith::BitcastOp::create(builder, loc, type, joined);
  }
  Value word = exchangeWord(builder, loc,
                            arith::ExtUIOp::create(builder, loc, i32, value),
                            distance, mask);
  return arith::TruncIOp::create(builder, loc, type, word);
}
