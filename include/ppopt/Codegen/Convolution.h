//===- Convolution.h - Which elements a convolution reads -----------------===//

#ifndef PPOPT_CODEGEN_CONVOLUTION_H
#define PPOPT_CODEGEN_CONVOLUTION_H

#include "ppopt/Codegen/ElementPuller.h"

namespace mlir::pp {

/// Emits the reads of a pp.conv. An index is one of the result: b, g, o, then p
/// of each spatial dimension.
class ConvReads {
public:
  ConvReads(ElementPuller &puller, ConvOp op)
      : puller(puller), op(op), builder(puller.builder), loc(puller.getLoc()),
        x(getShape(op.getX())), w(getShape(op.getW())) {}

  /// The type in which products are added.
  Type getType() { return getStatisticsType(getElementTypeOrSelf(op.getX())); }
  unsigned getSpatialRank() const { return x.size() - kFirstSpatial; }
  int64_t getChannels() const { return x[2]; }
  int64_t getKernelSize(unsigned dim) const { return w[kFirstSpatial + dim]; }
  /// The places of x along a dimension, counted with those that it is spread
  /// to.
  int64_t countPlaces(unsigned dim) {
    int64_t size = x[kFirstSpatial + dim];
    return size == 0 ? 0 : (size - 1) * op.getWindow(dim).spread + 1;
  }
  /// Returns the part of a place that follows from k.
  Value getShift(unsigned dim, Value k) {
    ConvOp::Window window = op.getWindow(dim);
    return puller.add(puller.mul(k, window.dilation),
                      puller.constant(window.offset));
  }

  /// An element of x along a dimension, and whether there is one.
  struct Read {
    Value at, isInside;
  };
  Read getRead(unsigned dim, Value p, Value k) {
    ConvOp::Window window = op.getWindow(dim);
    Value place = puller.add(puller.mul(p, window.stride), getShift(dim, k));
    // Unsigned: a negative place is a large one.
    Read read{place, compare(arith::CmpIPredicate::ult, place,
                             puller.constant(countPlaces(dim)))};
    if (window.spread == 1)
      return read;
    Value spread = puller.constant(window.spread);
    Value rest = arith::RemUIOp::create(builder, loc, place, spread);
    read.isInside = arith::AndIOp::create(
        builder, loc, read.isInside,
        compare(arith::CmpIPredicate::eq, rest, puller.constant(0)));
    read.at = arith::DivUIOp::create(builder, loc, place, spread);
    return read;
  }

  Value pullX(ArrayRef<Value> index, Value c, ArrayRef<Value> at) {
    return pull(op.getX(), {index[0], index[1], c}, at);
  }
  Value pullW(ArrayRef<Value> index, Value c, ArrayRef<Value> k) {
    return pull(op.getW(), {index[1], index[2], c}, k);
  }

  static constexpr unsigned kFirstSpatial = 3;

private:
  Value pull(Value tensor, ArrayRef<Value> channel, ArrayRef<Value> spatial) {
    SmallVector<Value> index(channel);
    llvm::append_range(index, spatial);
    return puller.pullAt(tensor, index);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }

  ElementPuller &puller;
  ConvOp op;
  OpBuilder &builder;
  Location loc;
  ArrayRef<int64_t> x, w;
};

} // namespace mlir::pp

#endif // PPOPT_CODEGEN_CONVOLUTION_H
