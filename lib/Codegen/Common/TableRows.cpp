//===- TableRows.cpp - The row of a table that an id names ----------------===//

#include "ppopt/Codegen/TableRows.h"

using namespace mlir;
using namespace mlir::pp;

Value pp::pullTableRow(ElementPuller &puller, EmbeddingGradOp op) {
  OpBuilder &builder = puller.builder;
  Location loc = puller.getLoc();
  Value id = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        puller.pull(op.getIds()));
  // Unsigned: a negative id is a large one.
  Value isInside =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, id,
                            puller.constant(getShape(op.getResult()).front()));
  return arith::SelectOp::create(builder, loc, isInside, id,
                                 puller.constant(0));
}

bool pp::addsToTable(EmbeddingGradOp op) {
  return !op->use_empty() && isa<AccumulateOp>(*op->user_begin());
}

void pp::clearTableElement(ElementPuller &puller, EmbeddingGradOp op,
                           Value at) {
  Type element = getElementTypeOrSelf(op.getResult());
  Value zero = arith::ConstantOp::create(
      puller.builder, puller.getLoc(),
      puller.builder.getZeroAttr(getStatisticsType(element)));
  puller.store(zero, puller.getResultBuffer(0), element, at);
}

void pp::addTableElement(ElementPuller &puller, EmbeddingGradOp op, Value at) {
  Type element = getElementTypeOrSelf(op.getResult());
  Value table = puller.getResultBuffer(0);
  Value added = puller.pull(op.getDy());
  Value sum = puller.load(table, element, at);
  puller.store(
      arith::AddFOp::create(puller.builder, puller.getLoc(), sum, added), table,
      element, at);
}
