//===- MatmulThread.cpp - What a thread of a matmul does ------------------===//

#include "MatmulThread.h"

#include "TensorCores.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

MatmulThread::MatmulThread(OpBuilder &builder, GemmOp op, ValueRange pointers)
    : DeviceThread(builder, op.getLoc()), op(op), kernel(op.getKernelAttr()),
      element(getElementTypeOrSelf(op.getA())),
      sumType(element.isBF16() ? builder.getF32Type() : element),
      stagedA(getStagedA(op, kernel)), stagedB(getStagedB(op, kernel)),
      c(pointers[2]), tileDepth(kernel.getTile()[2]) {
  a = {MatmulOperand::getA(op), stagedA, kernel.getAWidth(),
       kernel.getAAlong() == MatmulDim::K, pointers[0]};
  b = {MatmulOperand::getB(op), stagedB, kernel.getBWidth(),
       kernel.getBAlong() == MatmulDim::K, pointers[1]};
}

//===----------------------------------------------------------------------===//
// The block's tile
//===----------------------------------------------------------------------===//

/// Blocks that run at a time have few rows and columns of tiles: they go down
/// the columns of a band of rows.
void MatmulThread::placeBlock() {
  constexpr int64_t kBand = 8;
  ArrayRef<int64_t> tile = kernel.getTile();
  int64_t rows = llvm::divideCeil(op.getM(), tile[0]);
  int64_t columns = llvm::divideCeil(op.getN(), tile[1]);
  Value block = getBlock();
  Value inBatch = rem(block, rows * columns),
        batch = div(block, rows * columns);
  int64_t inBand = std::min(rows, kBand) * columns;
  Value band = mul(div(inBatch, inBand), kBand), number = rem(inBatch, inBand);
  Value height = rows % kBand == 0 || rows < kBand
                     ? index(std::min(rows, kBand))
                     : min(sub(index(rows), band), index(kBand));
  Value row = add(band, arith::RemUIOp::create(builder, loc, number, height));
  Value column = arith::DivUIOp::create(builder, loc, number, height);
  firstRow = mul(row, tile[0]);
  firstColumn = mul(column, tile[1]);
  a.first = firstRow;
  b.first = firstColumn;
  int64_t inner = op.getBatch()[1];
  Value batch0 = div(batch, inner), batch1 = rem(batch, inner);
  placeOperand(a, batch0, batch1);
  placeOperand(b, batch0, batch1);
  ArrayRef<int64_t> strides = op.getCStrides();
  cAt = add(add(mul(batch0, strides[0]), mul(batch1, strides[1])),
            add(mul(firstRow, strides[2]), mul(firstColumn, strides[3])));
}

void MatmulThread::placeOperand(Operand &operand, Value batch0, Value batch1) {
  const MatmulOperand &matrix = operand.matrix;
  operand.at = add(add(mul(batch0, matrix.batchStrides[0]),
                       mul(batch1, matrix.batchStrides[1])),
                   mul(operand.first, matrix.rowStride));
}

//===----------------------------------------------------------------------===//
// Tiles of operands
//===----------------------------------------------------------------------===//

/// Neighbouring threads have neighbours in memory.
SmallVector<MatmulThread::Move> MatmulThread::getMoves(const Operand &operand) {
  int64_t rows = operand.staged.areLinesRows ? operand.staged.lines
                                             : operand.staged.columns;
  int64_t length = operand.isAlongDepth ? tileDepth : rows;
  int64_t inTile = rows * tileDepth / operand.width;
  SmallVector<Move> moves;
  for (int64_t i = 0; i < inTile; i += kernel.getThreads()) {
    Value number = add(thread, index(i));
    Move move;
    if (i + kernel.getThreads() > inTile)
      move.exists = isBelow(number, index(inTile));
    Value along = mul(rem(number, length / operand.width), operand.width);
    Value across = div(number, length / operand.width);
    move.row = operand.isAlongDepth ? across : along;
    move.depth = operand.isAlongDepth ? along : across;
    moves.push_back(move);
  }
  return moves;
}

/// The type of the register, or registers, of some neighbours.
Type MatmulThread::getMoved(int64_t width) {
  Type single = element;
  if (element.isBF16()) {
    single = width == 1 ? builder.getI16Type() : builder.getI32Type();
    width = llvm::divideCeil(width, 2);
  }
  return width == 1 ? single : VectorType::get({width}, single);
}

/// Loads the thread's elements of the tile that begins at term `begin`; what
/// lies outside of the operand is zero.
SmallVector<Value> MatmulThread::load(Operand &operand, Value begin) {
  const MatmulOperand &matrix = operand.matrix;
  Type moved = getMoved(operand.width);
  unsigned bytes = operand.width * operand.staged.elementBytes;
  int64_t rows = operand.staged.areLinesRows ? operand.staged.lines
                                             : operand.staged.columns;
  Value start = add(operand.at, mul(begin, matrix.depthStride));
  SmallVector<Value> loaded;
  for (const Move &move : getMoves(operand)) {
    Value isInside = move.exists;
    if (matrix.rows % rows != 0)
      isInside = both(
          isInside, isBelow(add(operand.first, move.row), index(matrix.rows)));
    if (matrix.depth % tileDepth != 0)
      isInside =
          both(isInside, isBelow(add(begin, move.depth), index(matrix.depth)));
    Value at = add(start, add(mul(move.row, matrix.rowStride),
                              mul(move.depth, matrix.depthStride)));
    loaded.append(emitIfElse(
        isInside,
        [&]() -> SmallVector<Value> {
          Value from = getElement(operand.pointer, element, at);
          return {LLVM::LoadOp::create(builder, loc, moved, from, bytes)};
        },
        [&]() -> SmallVector<Value> {
          return {arith::ConstantOp::create(builder, loc,
                                            builder.getZeroAttr(moved))};
        }));
  }
  return loaded;
}

/// Stores these into the tile of shared memory that begins at element `start`.
void MatmulThread::store(Operand &operand, ValueRange loaded, Value start) {
  const StagedTile &staged = operand.staged;
  unsigned bytes = staged.elementBytes;
  for (auto [move, value] : llvm::zip(getMoves(operand), loaded)) {
    Value line = staged.areLinesRows ? move.row : move.depth;
    Value inLine = staged.areLinesRows ? move.depth : move.row;
    Value at = add(start, add(mul(line, staged.getStride()), inLine));
    emitIf(move.exists, [&, value = value] {
      if (operand.width == 1 || staged.areLinesRows == operand.isAlongDepth) {
        LLVM::StoreOp::create(builder, loc, value,
                              getElement(shared, element, at),
                              bytes * operand.width);
        return;
      }
      for (int64_t i = 0; i < operand.width; ++i) {
        Value each = LLVM::ExtractElementOp::create(
            builder, loc, value,
            LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), i));
        LLVM::StoreOp::create(
            builder, loc, each,
            getElement(shared, element, add(at, index(i * staged.getStride()))),
            bytes);
      }
    });
  }
}

SmallVector<Value> MatmulThread::loadTiles(Value begin) {
  SmallVector<Value> loaded = load(a, begin);
  loaded.append(load(b, begin));
  return loaded;
}

/// Returns the first element of the buffer of the tiles from term `begin` on.
Value MatmulThread::getBuffer(Value begin) {
  return mul(rem(div(begin, tileDepth), kStagedBuffers),
             stagedA.getElements() + stagedB.getElements());
}

/// Stores what loadTiles has returned.
void MatmulThread::storeTiles(ValueRange loaded, Value begin) {
  Value buffer = getBuffer(begin);
  size_t ofA = getMoves(a).size();
  store(a, loaded.take_front(ofA), buffer);
  store(b, loaded.drop_front(ofA), add(buffer, index(stagedA.getElements())));
  synchronizeBlock();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds the terms [begin, end) of the block's tile, and stores or adds them.
void MatmulThread::emitSum(Value begin, Value end) {
  storeTiles(loadTiles(begin), begin);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(sumType));
  SmallVector<Value> sums(countSums(), zero);
  sums = loop(begin, end, tileDepth, sums,
              [&](Value term, ValueRange sums) -> SmallVector<Value> {
                Value next = add(term, index(tileDepth));
                Value hasNext = isBelow(next, end);
                SmallVector<Value> loaded = emitIfElse(
                    hasNext, [&] { return loadTiles(next); },
                    [&] {
                      SmallVector<Value> zeros;
                      for (const Operand *operand : {&a, &b}) {
                        Value none = arith::ConstantOp::create(
                            builder, loc,
                            builder.getZeroAttr(getMoved(operand->width)));
                        zeros.append(getMoves(*operand).size(), none);
                      }
                      return zeros;
                    });
                Value buffer = getBuffer(term);
                SmallVector<Value> added = multiply(
                    buffer, add(buffer, index(stagedA.getElements())), sums);
                emitIf(hasNext, [&] { storeTiles(loaded, next); });
                return added;
              });
  visitSums(sums, [&](Value row, Value column, ArrayRef<Value> values) {
    storeC(row, column, values, begin);
  });
}

/// Stores neighbours of C; adds them, if C has something already.
void MatmulThread::storeC(Value row, Value column, ArrayRef<Value> values,
                          Value begin) {
  ArrayRef<int64_t> tile = kernel.getTile(), strides = op.getCStrides();
  Type type = getElementTypeOrSelf(op.getC());
  int64_t width = values.size();
  Type moved = width == 1 ? type : Type(VectorType::get({width}, type));
  unsigned bytes = width * getElementBytes(type);
  Value isInside;
  if (op.getM() % tile[0] != 0)
    isInside = isBelow(add(firstRow, row), index(op.getM()));
  if (op.getN() % tile[1] != 0)
    isInside =
        both(isInside, isBelow(add(firstColumn, column), index(op.getN())));
  auto position = [&](int64_t i) -> Value {
    return LLVM::ConstantOp::create(builder, loc, builder.getI32Type(), i);
  };
  emitIf(isInside, [&] {
    Value address = getElement(
        c, type, add(cAt, add(mul(row, strides[2]), mul(column, strides[3]))));
    SmallVector<Value> results(values);
    auto addToC = [&] {
      Value old = LLVM::LoadOp::create(builder, loc, moved, address, bytes);
      SmallVector<Value> sums;
      for (auto [i, value] : llvm::enumerate(values)) {
        Value each = old;
        if (width > 1)
          each = LLVM::ExtractElementOp::create(builder, loc, old, position(i));
        if (type != sumType)
          each = arith::ExtFOp::create(builder, loc, sumType, each);
        sums.push_back(arith::AddFOp::create(builder, loc, each, value));
      }
      return sums;
    };
    if (op.getAccumulate())
      results = addToC();
    else if (kernel.getSum() != 0)
      results = emitIfElse(isBelow(index(0), begin), addToC,
                           [&] { return SmallVector<Value>(values); });
    Value stored = results[0];
    if (type.isBF16() && width == 2) {
      stored = emitPack(builder, loc, results[0], results[1]);
    } else {
      if (type != sumType)
        for (Value &result : results)
          result = arith::TruncFOp::create(builder, loc, type, result);
      stored = results[0];
      if (width > 1) {
        stored = LLVM::PoisonOp::create(builder, loc, moved);
        for (auto [i, result] : llvm::enumerate(results))
          stored = LLVM::InsertElementOp::create(builder, loc, stored, result,
                                                 position(i));
      }
    }
    LLVM::StoreOp::create(builder, loc, stored, address, bytes);
  });
}

void MatmulThread::emit() {
  placeBlock();
  int64_t depth = op.getK(), sum = kernel.getSum();
  if (sum == 0)
    return emitSum(index(0), index(depth));
  loop(index(0), index(depth), sum, {},
       [&](Value begin, ValueRange) -> SmallVector<Value> {
         emitSum(begin, min(add(begin, index(sum)), index(depth)));
         return {};
       });
}
