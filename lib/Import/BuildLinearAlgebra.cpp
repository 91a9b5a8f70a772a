//===- BuildLinearAlgebra.cpp - Contractions and weight norms ------------===//

#include "BuildIndexed.h"
#include "Formula.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Results = std::vector<Value>;

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

/// A tensor as a matrix: `dims` as its columns and the others as its rows, or
/// the other way around.
static Value asMatrix(Emitter &emit, Value x, ArrayRef<int64_t> dims,
                      bool isLast) {
  Shape perm = toLast(Emitter::rankOf(x), dims);
  auto contracted = perm.end() - dims.size();
  if (!isLast)
    std::rotate(perm.begin(), contracted, perm.end());
  x = emit.transpose(x, perm);
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  size_t rows = isLast ? shape.size() - dims.size() : dims.size();
  return emit.reshape(x, {countElements(shape.take_front(rows)),
                          countElements(shape.drop_front(rows))});
}

static Results contract(OpCall &call, Emitter &emit, Shape left, Shape right) {
  Formula f{call, emit};
  Value a = f("self").get(), b = f("other").get();
  bool isPossible = left.size() == right.size();
  for (auto [i, j] : llvm::zip(left, right)) {
    i = call.wrapDim(i, Emitter::rankOf(a));
    j = call.wrapDim(j, Emitter::rankOf(b));
    isPossible &= i < Emitter::rankOf(a) && j < Emitter::rankOf(b) &&
                  !call.failed() &&
                  Emitter::shapeOf(a)[i] == Emitter::shapeOf(b)[j];
  }
  auto hasTwice = [](Shape dims) {
    llvm::sort(dims);
    return std::adjacent_find(dims.begin(), dims.end()) != dims.end();
  };
  if (!isPossible || hasTwice(left) || hasTwice(right))
    call.fail("contracts dimensions of different sizes, or one twice");
  if (call.failed())
    return {};
  Value product = emit.matmul(asMatrix(emit, a, left, /*isLast=*/true),
                              asMatrix(emit, b, right, /*isLast=*/false));
  return {emit.reshape(product, call.result().shape)};
}

static Results buildTensordot(OpCall &call, Emitter &emit) {
  return contract(call, emit, call.integers("dims_self"),
                  call.integers("dims_other"));
}

/// Over the last dimensions; of a number its products.
static Results buildInner(OpCall &call, Emitter &emit) {
  if (call.tensor("self").getRank() == 0 || call.tensor("other").getRank() == 0)
    return {(Formula{call, emit}("self") * Formula{call, emit}("other")).get()};
  return contract(call, emit, {-1}, {-1});
}

static Results buildVecdot(OpCall &call, Emitter &emit) {
  Expr product = Formula{call, emit}("x") * Formula{call, emit}("y");
  int64_t dim = call.dim("dim", Emitter::rankOf(product.get()), -1);
  return {sum(product, dim).get()};
}

/// beta * self + alpha * the sum of matmuls, or the outer product.
static Results buildAdded(OpCall &call, Emitter &emit) {
  Formula f{call, emit};
  Value product;
  if (call.getOp().starts_with("aten.addbmm.")) {
    product = emit.matmul(f("batch1").get(), f("batch2").get());
    product = emit.reduce(ReduceKind::Sum, product, {0}, /*keepDims=*/false);
  } else {
    Value column = f("vec1").get();
    column = emit.reshape(column, {countElements(Emitter::shapeOf(column)), 1});
    product = emit.mul(column, f("vec2").get());
  }
  product = emit.scale(product, f.number("alpha", 1));
  double beta = f.number("beta", 1);
  if (beta == 0)
    return {product};
  return {emit.add(emit.scale(f("self").get(), beta), product)};
}

/// y[…, o] = x1[…, i] weight[o, i, j] x2[…, j] + bias[o]
static Results buildBilinear(OpCall &call, Emitter &emit) {
  Formula f{call, emit};
  Value left = f("input1").get(), right = f("input2").get(),
        weight = f("weight").get();
  if (Emitter::rankOf(weight) != 3 || Emitter::rankOf(left) == 0 ||
      Emitter::rankOf(right) == 0) {
    call.fail("has a weight that is no [outputs, inputs, inputs]");
    return {};
  }
  Shape sizes(Emitter::shapeOf(weight)), column(Emitter::shapeOf(right));
  weight = emit.reshape(emit.transpose(weight, {1, 0, 2}),
                        {sizes[1], sizes[0] * sizes[2]});
  Value forms = emit.matmul(left, weight);
  Shape shape(Emitter::shapeOf(forms));
  shape.back() = sizes[0];
  shape.push_back(sizes[2]);
  column.insert(column.end() - 1, 1);
  Expr y = sum(Expr(emit, emit.reshape(forms, shape)) *
                   Expr(emit, emit.reshape(right, column)),
               shape.size() - 1);
  return {call.has("bias") ? (y + f("bias")).get() : y.get()};
}

//===----------------------------------------------------------------------===//
// Weight norm
//===----------------------------------------------------------------------===//

/// v g / |v|, with a norm for each index of one dimension, and the norm; -1 is
/// one norm of all.
static Results buildWeightNorm(OpCall &call, Emitter &emit) {
  Expr v{emit, emit.value(call.tensor("v"))},
      g{emit, emit.value(call.tensor("g"))};
  int64_t kept = call.integer("dim", 0), rank = Emitter::rankOf(v.get());
  Shape dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != kept)
      dims.push_back(dim);
  Value square = emit.reduce(ReduceKind::Sum, (v * v).get(), dims,
                             /*keepDims=*/kept != -1);
  Expr norm = sqrt({emit, square});
  return {(v * (g / norm)).get(), norm.get()};
}

ArrayRef<OpRow> pt2::linearAlgebraRows() {
  static const OpRow rows[] = {
      {"aten.tensordot.default", &buildTensordot},
      {"aten.inner.default", &buildInner},
      {"aten.linalg_vecdot.default", &buildVecdot},
      {"aten.addbmm.default", &buildAdded},
      {"aten.addr.default", &buildAdded},
      {"aten.bilinear.default", &buildBilinear},
      {"aten._weight_norm.default", &buildWeightNorm},
      {"aten._weight_norm_interface.default", &buildWeightNorm},
  };
  return rows;
}
