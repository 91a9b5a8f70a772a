//===- PlainMatmul.cpp - Matmuls of f32 and f64 by a GPU's threads --------===//
//
// In shared memory, lines of both operands are terms. A thread has some rows
// and columns of the tile, as many neighbours as a vector has at a time, and
// adds the products of all of them term by term.
//
//===----------------------------------------------------------------------===//

#include "MatmulThread.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

/// The rows, or columns, of a tile that a thread has.
struct Share {
  int64_t count, threads; ///< of a thread; that share the tile's
  int64_t width;          ///< neighbours
  Value first;

  /// Number `i` of the thread's, from its first on.
  int64_t getDistance(int64_t i) const {
    return i / width * width * threads + i % width;
  }
};

class PlainMatmul : public MatmulThread {
public:
  PlainMatmul(OpBuilder &builder, GemmOp op, ValueRange pointers)
      : MatmulThread(builder, op, pointers) {
    ArrayRef<int64_t> tile = kernel.getTile(), part = kernel.getPart();
    columns = makeShare(part[1], tile[1] / part[1]);
    rows = makeShare(part[0], tile[0] / part[0]);
    columns.first = mul(rem(thread, columns.threads), columns.width);
    rows.first = mul(div(thread, columns.threads), rows.width);
  }

private:
  Share makeShare(int64_t count, int64_t threads) {
    constexpr int64_t kVectorBytes = 16;
    return {count, threads,
            std::min(count, kVectorBytes / stagedA.elementBytes), Value()};
  }

  int64_t countSums() const override { return rows.count * columns.count; }

  /// Loads the thread's elements of one term.
  SmallVector<Value> loadTerm(const Share &share, Value line) {
    SmallVector<Value> elements;
    for (int64_t i = 0; i < share.count; i += share.width) {
      Value address =
          getElement(shared, element,
                     add(line, add(share.first, index(share.getDistance(i)))));
      Type moved = share.width == 1
                       ? element
                       : Type(VectorType::get({share.width}, element));
      Value loaded = LLVM::LoadOp::create(builder, loc, moved, address,
                                          share.width * stagedA.elementBytes);
      for (int64_t j = 0; j < share.width; ++j)
        elements.push_back(
            share.width == 1 ? loaded
                             : LLVM::ExtractElementOp::create(
                                   builder, loc, loaded,
                                   LLVM::ConstantOp::create(
                                       builder, loc, builder.getI32Type(), j)));
    }
    return elements;
  }

  SmallVector<Value> multiply(Value a, Value b, ValueRange before) override {
    SmallVector<Value> sums(before);
    for (int64_t k = 0; k < kernel.getTile()[2]; ++k) {
      auto ofA = loadTerm(rows, add(a, index(k * stagedA.getStride())));
      auto ofB = loadTerm(columns, add(b, index(k * stagedB.getStride())));
      for (int64_t i = 0; i < rows.count; ++i)
        for (int64_t j = 0; j < columns.count; ++j) {
          Value &sum = sums[i * columns.count + j];
          sum = math::FmaOp::create(builder, loc, ofA[i], ofB[j], sum);
        }
    }
    return sums;
  }

  void visitSums(ValueRange sums, Visit visit) override {
    int64_t width = kernel.getCWidth();
    for (int64_t i = 0; i < rows.count; ++i)
      for (int64_t j = 0; j < columns.count; j += width)
        visit(add(rows.first, index(rows.getDistance(i))),
              add(columns.first, index(columns.getDistance(j))),
              SmallVector<Value>(sums.slice(i * columns.count + j, width)));
  }

  Share rows, columns;
};

} // namespace

std::unique_ptr<MatmulThread>
pp::createPlainMatmul(OpBuilder &builder, GemmOp op, ValueRange pointers) {
  return std::make_unique<PlainMatmul>(builder, op, pointers);
}
