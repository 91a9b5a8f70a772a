//===- LineTiles.cpp - Tiles of lines along a dimension, on a CPU ---------===//
//
// A tile is a run of neighbouring lines, which one thread goes along in order:
// sums do not depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "LineTiles.h"

using namespace mlir;
using namespace mlir::pp;

void pp::emitLineTiles(ElementPuller &puller, const AlongDim &along,
                       Value begin, Value end,
                       llvm::function_ref<void(const LineTile &)> body) {
  OpBuilder &builder = puller.builder;
  Location loc = puller.getLoc();
  int64_t size = puller.kernel.getTilesAttr().getSize();
  int64_t runs = llvm::divideCeil(along.inner, size);
  emitLoop(builder, loc, begin, end, [&](scf::ForOp, Value tile) {
    LineTile lines{tile, puller.constant(0), puller.constant(size)};
    if (runs > 1) {
      Value count = puller.constant(runs);
      lines.outerNumber = arith::DivUIOp::create(builder, loc, tile, count);
      lines.first =
          puller.mul(arith::RemUIOp::create(builder, loc, tile, count), size);
    }
    if (along.inner % size != 0)
      lines.width = arith::MinUIOp::create(
          builder, loc, lines.width,
          arith::SubIOp::create(builder, loc, puller.constant(along.inner),
                                lines.first));
    body(lines);
  });
}

void pp::emitScatterTiles(ElementPuller &puller, ScatterAddOp op, Value begin,
                          Value end) {
  ScatterLine scatter(puller, op);
  OpBuilder &builder = puller.builder;
  Location loc = puller.getLoc();
  Value zero = puller.constant(0);
  auto forLines = [&](const LineTile &tile,
                      llvm::function_ref<void(const Line &)> body) {
    emitLoop(builder, loc, zero, tile.width, [&](scf::ForOp, Value i) {
      body(scatter.lines.getLine(tile.outerNumber, puller.add(tile.first, i)));
    });
  };
  emitLineTiles(
      puller, scatter.lines.along, begin, end, [&](const LineTile &tile) {
        if (scatter.startsElsewhere())
          emitLoop(builder, loc, zero,
                   puller.constant(scatter.lines.along.size),
                   [&](scf::ForOp, Value at) {
                     forLines(tile, [&](const Line &line) {
                       scatter.emitStart(line, at);
                     });
                   });
        emitLoop(builder, loc, zero, puller.constant(scatter.countUpdates()),
                 [&](scf::ForOp, Value at) {
                   Value id;
                   if (scatter.hasUniformIds())
                     id = scatter.pullId(
                         scatter.lines.getLine(tile.outerNumber, tile.first),
                         at);
                   forLines(tile, [&](const Line &line) {
                     scatter.emitAddition(line, at,
                                          id ? id : scatter.pullId(line, at));
                   });
                 });
      });
}
