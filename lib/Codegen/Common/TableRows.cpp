//===- TableRows.cpp - The row of a table that an id names ----------------===//

#include "ppopt/Codegen/TableRows.h"
#include "ppopt/Dialect/PP/IndexOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"

using namespace mlir;
using namespace mlir::pp;

TableRow pp::pullTableRow(ElementPuller &puller, EmbeddingGradOp op) {
  return emitTableRow(puller.builder, puller.getLoc(), puller.pull(op.getIds()),
                      op.getType(), op.getTileAttr(), [&](int64_t at) {
                        return puller.pullAt(op.getKey(), puller.constant(at));
                      });
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
