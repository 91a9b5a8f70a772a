//===- TensorMatmul.cpp - Matmuls of bf16 by tensor cores -----------------===//
//
// In shared memory, operands lie as in memory: lines are rows (of B: columns)
// of neighbouring terms, or terms of neighbouring rows, which ldmatrix
// transposes. A warp has a part of the tile, of products of 16 × 8.
//
//===----------------------------------------------------------------------===//

#include "MatmulThread.h"
#include "ppopt/Dialect/PP/KernelOps.h"

#include "Shuffle.h"
#include "TensorCores.h"

using namespace mlir;
using namespace mlir::pp;

namespace {

class TensorMatmul : public MatmulThread {
public:
  TensorMatmul(OpBuilder &builder, GemmOp op, ValueRange pointers)
      : MatmulThread(builder, op, pointers), rows(kernel.getPart()[0]),
        columns(kernel.getPart()[1]), lane(rem(thread, kWarp)) {
    Value warp = div(thread, kWarp);
    int64_t across = kernel.getTile()[1] / columns;
    warpRow = mul(div(warp, across), rows);
    warpColumn = mul(rem(warp, across), columns);
  }

private:
  int64_t countSums() const override { return rows * columns / kWarp; }

  /// Loads four matrices from row `row` and term `term` on: the first two are
  /// beside each other in the dimension of terms if `isTermFirst`, else in that
  /// of rows.
  SmallVector<Value> loadMatrices(const StagedTile &staged, Value start,
                                  Value row, int64_t term, bool isTermFirst) {
    Value inMatrix = rem(lane, kMatrix), matrix = div(lane, kMatrix);
    Value first = mul(rem(matrix, 2), kMatrix);
    Value second = mul(div(matrix, 2), kMatrix);
    row = add(row, isTermFirst ? second : first);
    Value depth = add(index(term), isTermFirst ? first : second);
    Value line = add(staged.areLinesRows ? row : depth, inMatrix);
    Value inLine = staged.areLinesRows ? depth : row;
    Value at = add(start, add(mul(line, staged.getStride()), inLine));
    return emitLoadMatrices(builder, loc, getElement(shared, element, at), 4,
                            /*isTransposed=*/!staged.areLinesRows);
  }

  SmallVector<Value> multiply(Value a, Value b, ValueRange before) override {
    SmallVector<Value> sums(before);
    constexpr int64_t kSums = 4, kWords = 2; // of a thread, of C and of B
    for (int64_t k = 0; k < kernel.getTile()[2]; k += kProductDepth) {
      SmallVector<SmallVector<Value>> ofA;
      for (int64_t i = 0; i < rows; i += kProductRows)
        ofA.push_back(loadMatrices(stagedA, a, add(warpRow, index(i)), k,
                                   /*isTermFirst=*/false));
      SmallVector<Value> ofB;
      for (int64_t j = 0; j < columns; j += 2 * kProductColumns)
        ofB.append(loadMatrices(stagedB, b, add(warpColumn, index(j)), k,
                                /*isTermFirst=*/true));
      MutableArrayRef<Value> rest(sums);
      for (ArrayRef<Value> left : ofA)
        for (ArrayRef<Value> right = ofB; !right.empty();
             right = right.drop_front(kWords)) {
          auto sum = rest.take_front(kSums);
          llvm::copy(
              emitProduct(builder, loc, left, right.take_front(kWords), sum),
              sum.begin());
          rest = rest.drop_front(kSums);
        }
    }
    return sums;
  }

  void visitSums(ValueRange sums, Visit visit) override {
    constexpr int64_t kPair = 2;
    Value group = div(lane, 4), pair = mul(rem(lane, 4), kPair);
    for (int64_t i = 0; i < rows; i += kProductRows)
      for (int64_t j = 0; j < columns; j += kProductColumns)
        for (int64_t half : {int64_t(0), kMatrix}) {
          Value row = add(add(warpRow, group), index(i + half));
          Value column = add(add(warpColumn, pair), index(j));
          SmallVector<Value> both(sums.take_front(kPair));
          sums = sums.drop_front(kPair);
          if (kernel.getCWidth() == kPair) {
            visit(row, column, both);
            continue;
          }
          visit(row, column, both[0]);
          visit(row, add(column, index(1)), both[1]);
        }
  }

  int64_t rows, columns; ///< of the warp's part
  Value lane, warpRow, warpColumn;
};

} // namespace

std::unique_ptr<MatmulThread>
pp::createTensorMatmul(OpBuilder &builder, GemmOp op, ValueRange pointers) {
  return std::make_unique<TensorMatmul>(builder, op, pointers);
}
