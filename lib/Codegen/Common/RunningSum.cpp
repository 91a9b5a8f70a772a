//===- RunningSum.cpp - The steps of a running sum ------------------------===//

#include "ppopt/Codegen/RunningSum.h"

using namespace mlir;
using namespace mlir::pp;

Value RunningSum::getZero() {
  return arith::ConstantOp::create(puller.builder, puller.getLoc(),
                                   puller.builder.getZeroAttr(getType()));
}

Value RunningSum::getPlace(Value step) {
  if (!op.getReverse())
    return step;
  return arith::SubIOp::create(puller.builder, puller.getLoc(),
                               puller.constant(lines.along.size - 1), step);
}

Value RunningSum::emitStep(const Line &line, Value at, Value before) {
  OpBuilder &builder = puller.builder;
  Location loc = puller.getLoc();
  Value x = lines.pull(op.getX(), line, at);
  Value after =
      isa<FloatType>(x.getType())
          ? arith::AddFOp::create(builder, loc, before, x).getResult()
          : arith::AddIOp::create(builder, loc, before, x).getResult();
  puller.storeOrAdd(op.getExclusive() ? before : after, lines.locate(line, at));
  return after;
}
