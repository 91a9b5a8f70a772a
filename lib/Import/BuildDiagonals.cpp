//===- BuildDiagonals.cpp - Diagonals and triangles -----------------------===//

#include "BuildIndexed.h"
#include "BuildShape.h"
#include "Formula.h"
#include "ppopt/Dialect/PP/IndexOps.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

//===----------------------------------------------------------------------===//
// Elements of a diagonal
//===----------------------------------------------------------------------===//

/// How many columns the diagonal is right of the main one.
static int64_t readOffset(OpCall &call) {
  return call.integer(call.has("diagonal") ? "diagonal" : "offset", 0);
}

/// Whether an element of a matrix is on the diagonal.
static Expr isOnDiagonal(Emitter &emit, int64_t rows, int64_t columns,
                         int64_t offset) {
  Expr row{emit, positions(emit, Dtype::i64, rows, 1)},
      column{emit, positions(emit, Dtype::i64, columns, 0)};
  return row + double(offset) == column;
}

/// Matrices that have `part`, by rows, on a diagonal, and `others` elsewhere.
static Expr putOnDiagonal(Emitter &emit, Value part, int64_t rows,
                          int64_t columns, int64_t offset, Expr others) {
  Shape shape(Emitter::shapeOf(part)), offsets(shape.size(), 0);
  shape.back() = rows;
  offsets.back() = std::max<int64_t>(-offset, 0);
  part = emit.pad(part, shape, offsets);
  shape.push_back(1);
  return where(isOnDiagonal(emit, rows, columns, offset),
               Expr(emit, emit.reshape(part, shape)), others);
}

/// Of rows of `columns` elements, flat: element i is `columns` + 1 after the
/// one before.
static Results buildDiagonal(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  int64_t rank = Emitter::rankOf(x), offset = readOffset(call),
          row = call.dim("dim1", rank, 0), column = call.dim("dim2", rank, 1);
  Shape perm = toLast(rank, {row, column});
  if (row == column || rank < 2 ||
      int64_t(call.result().shape.size()) != rank - 1) {
    call.fail("takes a diagonal of one dimension");
    return {};
  }
  if (offset < -Emitter::shapeOf(x)[row] ||
      offset > Emitter::shapeOf(x)[column]) {
    call.fail("takes a diagonal that is outside of its tensor");
    return {};
  }
  x = emit.transpose(x, perm);
  Shape shape(Emitter::shapeOf(x));
  int64_t columns = shape.back(), count = call.result().shape.back();
  int64_t begin = offset >= 0 ? offset : -offset * columns;
  shape.pop_back();
  shape.back() *= columns;
  if (count < 1 || begin + (count - 1) * (columns + 1) >= shape.back()) {
    call.fail("takes a diagonal that is outside of its tensor");
    return {};
  }
  x = emit.reshape(x, shape);
  return {sliceStep(emit, x, shape.size() - 1, begin, count, columns + 1)};
}

/// A vector in the last dimension, on the diagonal of new matrices.
static Results buildDiagEmbed(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  int64_t rank = Emitter::rankOf(x) + 1, offset = readOffset(call);
  int64_t row = call.dim("dim1", rank, -2), column = call.dim("dim2", rank, -1);
  constexpr int64_t most = int64_t(1) << 31;
  if (rank == 1 || row == column || std::abs(offset) > most)
    call.fail("makes a diagonal of a number, or in one dimension");
  if (call.failed())
    return {};
  int64_t size = Emitter::shapeOf(x).back() + std::abs(offset);
  Expr matrix = putOnDiagonal(emit, x, size, size, offset, 0);
  return {emit.transpose(matrix.get(),
                         invertPermutationVector(toLast(rank, {row, column})))};
}

static Results buildDiag(OpCall &call, Emitter &emit) {
  return call.tensor("self").getRank() == 1 ? buildDiagEmbed(call, emit)
                                            : buildDiagonal(call, emit);
}

Value pt2::replaceDiagonal(OpCall &call, Emitter &emit, Value x, Value part) {
  int64_t rank = Emitter::rankOf(x), offset = readOffset(call);
  int64_t row = call.dim("dim1", rank, 0), column = call.dim("dim2", rank, 1);
  if (rank < 2 || row == column)
    call.fail("takes a diagonal of one dimension");
  if (call.failed())
    return x;
  Shape perm = toLast(rank, {row, column});
  Value matrix = emit.transpose(x, perm);
  ArrayRef<int64_t> size = Emitter::shapeOf(matrix).take_back(2);
  Expr result =
      putOnDiagonal(emit, part, size[0], size[1], offset, {emit, matrix});
  return emit.transpose(result.get(), invertPermutationVector(perm));
}

static Results buildDiagonalScatter(OpCall &call, Emitter &emit) {
  Formula f{call, emit};
  return {replaceDiagonal(call, emit, f("self").get(), f("src").get())};
}

static Results buildFillDiagonal(OpCall &call, Emitter &emit) {
  Formula f{call, emit};
  Expr x = f("self");
  ArrayRef<int64_t> shape = Emitter::shapeOf(x.get());
  if (shape.size() != 2 || call.flag("wrap", false)) {
    call.fail("fills the diagonal of a tensor that is no matrix, or more than "
              "once");
    return {};
  }
  return {where(isOnDiagonal(emit, shape[0], shape[1], 0),
                f.number("fill_value", 0), x)
              .get()};
}

static Results buildTrace(OpCall &call, Emitter &emit) {
  Expr x = Formula{call, emit}("self");
  ArrayRef<int64_t> shape = Emitter::shapeOf(x.get());
  if (shape.size() != 2) {
    call.fail("takes the trace of a tensor that is no matrix");
    return {};
  }
  Expr kept = where(isOnDiagonal(emit, shape[0], shape[1], 0), x, 0);
  return {sum(sum(kept, 1), 0).get()};
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

static Results buildTriangle(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("self"));
  int64_t diagonal = call.integer("diagonal", 0);
  if (Emitter::rankOf(x) < 2)
    call.fail("takes a triangle of a vector");
  if (call.failed())
    return {};
  bool isBoolean = Emitter::typeOf(x) == Dtype::boolean;
  if (isBoolean)
    x = emit.toInteger(x);
  IntegerAttr kept = emit.getBuilder().getI64IntegerAttr(diagonal);
  x = call.getOp().contains("tril") ? emit.make<TrilOp>(x.getType(), x, kept)
                                    : emit.make<TriuOp>(x.getType(), x, kept);
  return {isBoolean ? emit.toBoolean(x) : x};
}

ArrayRef<OpRow> pt2::diagonalRows() {
  static const OpRow rows[] = {
      {"aten.diagonal.default", &buildDiagonal},
      {"aten.diag.default", &buildDiag},
      {"aten.diag_embed.default", &buildDiagEmbed},
      {"aten.diagonal_scatter.default", &buildDiagonalScatter},
      {"aten.fill_diagonal.default", &buildFillDiagonal},
      {"aten.trace.default", &buildTrace},
      {"aten.tril.default", &buildTriangle},
      {"aten.triu.default", &buildTriangle},
  };
  return rows;
}
