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
