//===- LinesAlongDim.cpp - Code of the lines along a dimension ------------===//

#include "ppopt/Codegen/LinesAlongDim.h"

#include "ppopt/Dialect/PP/ParallelOps.h"

using namespace mlir;
using namespace mlir::pp;

LinesAlongDim::LinesAlongDim(ElementPuller &puller, Value tensor, int64_t dim)
    : along(getShape(tensor), dim), puller(puller) {
  setNoPosition(puller);
}

void pp::setNoPosition(ElementPuller &puller) {
  Position position;
  position.row = position.element = puller.constant(0);
  position.sizes = {1};
  position.index = {position.row};
  puller.setPosition(position, /*sweep=*/nullptr);
}

Line LinesAlongDim::getLine(Value outerNumber, Value inner) {
  return {puller.delinearize(outerNumber, along.outerSizes), outerNumber,
          inner};
}

Line LinesAlongDim::getLine(Value number) {
  if (along.inner == 1)
    return getLine(number, puller.constant(0));
  Value inner = puller.constant(along.inner);
  OpBuilder &builder = puller.builder;
  Location loc = puller.getLoc();
  return getLine(arith::DivUIOp::create(builder, loc, number, inner),
                 arith::RemUIOp::create(builder, loc, number, inner));
}

Value LinesAlongDim::pull(Value value, const Line &line, Value at) {
  SmallVector<Value> index = line.outer;
  index.push_back(at);
  llvm::append_range(index, puller.delinearize(line.inner, along.innerSizes));
  return puller.pullAt(value, index);
}

Value LinesAlongDim::locate(const Line &line, Value at) {
  Value row = puller.add(puller.mul(line.outerNumber, along.size), at);
  return puller.add(puller.mul(row, along.inner), line.inner);
}

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

ScatterLine::ScatterLine(ElementPuller &puller, ScatterAddOp op)
    : lines(puller, op.getX(), op.getDim()), puller(puller), op(op),
      accumulates(!op->use_empty() && isa<AccumulateOp>(*op->user_begin())) {}

bool ScatterLine::startsElsewhere() {
  return !(accumulates && op.addsToZeros());
}

int64_t ScatterLine::countUpdates() {
  return getShape(op.getIds())[op.getDim()];
}

bool ScatterLine::hasUniformIds() {
  if (lines.along.inner == 1)
    return true;
  auto broadcast = op.getIds().getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return false;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim > op.getDim() && getShape(broadcast.getX())[i] != 1)
      return false;
  return true;
}

Value ScatterLine::sum(Value a, Value b) {
  OpBuilder &builder = puller.builder;
  Location loc = puller.getLoc();
  return isa<FloatType>(a.getType())
             ? arith::AddFOp::create(builder, loc, a, b).getResult()
             : arith::AddIOp::create(builder, loc, a, b).getResult();
}

void ScatterLine::addTo(Value at, Value added) {
  Type element = getElementTypeOrSelf(op.getResult());
  Value table = puller.getResultBuffer(0);
  puller.store(sum(puller.load(table, element, at), added), table, element, at);
}

void ScatterLine::emitStart(const Line &line, Value at) {
  Value number = lines.locate(line, at);
  Value x = lines.pull(op.getX(), line, at);
  if (accumulates)
    addTo(number, x);
  else
    puller.store(x, puller.getResultBuffer(0),
                 getElementTypeOrSelf(op.getResult()), number);
}

Value ScatterLine::pullId(const Line &line, Value at) {
  return arith::IndexCastOp::create(puller.builder, puller.getLoc(),
                                    puller.builder.getIndexType(),
                                    lines.pull(op.getIds(), line, at));
}

void ScatterLine::emitAddition(const Line &line, Value at, Value id) {
  OpBuilder &builder = puller.builder;
  // Unsigned: a negative index is a large one.
  Value isInside =
      arith::CmpIOp::create(builder, puller.getLoc(), arith::CmpIPredicate::ult,
                            id, puller.constant(lines.along.size));
  auto branch = scf::IfOp::create(builder, puller.getLoc(), isInside);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  addTo(lines.locate(line, id), lines.pull(op.getUpdates(), line, at));
}
