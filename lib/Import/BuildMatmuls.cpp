//===- BuildMatmuls.cpp - Linear layers, matmuls --------------------------===//

#include "BuildEinsum.h"
#include "Emitter.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Values = std::vector<Value>;

namespace {

/// A weight [outputs, inputs] is read as it is.
Values buildLinear(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("input")),
        weight = emit.value(call.tensor("weight"));
  const Shape &shape = call.result().shape;
  bool isVector = Emitter::rankOf(x) == 1;
  if (isVector)
    x = emit.reshape(x, {1, Emitter::shapeOf(x)[0]});
  if (Emitter::rankOf(weight) == 1)
    weight = emit.reshape(weight, {1, Emitter::shapeOf(weight)[0]});
  Value y = emit.matmul(x, emit.transpose(weight, {1, 0}));
  y = emit.reshape(y, shape);
  if (call.has("bias"))
    y = emit.add(y, emit.value(call.tensor("bias")));
  return {y};
}

Values buildMatmul(OpCall &call, Emitter &emit) {
  bool isLong = call.has("mat2");
  Value a = emit.value(call.tensor("self")),
        b = emit.value(call.tensor(isLong               ? "mat2"
                                   : call.has("vec")    ? "vec"
                                   : call.has("tensor") ? "tensor"
                                                        : "other"));
  return {emit.matmul(a, b)};
}

Values buildOuter(OpCall &call, Emitter &emit) {
  Value a = emit.value(call.tensor("self")),
        b = emit.value(call.tensor("vec2"));
  if (Emitter::rankOf(a) != 1 || Emitter::rankOf(b) != 1) {
    call.fail("takes the outer product of tensors that are no vectors");
    return {};
  }
  return {emit.mul(emit.reshape(a, {Emitter::shapeOf(a)[0], 1}),
                   emit.reshape(b, {1, Emitter::shapeOf(b)[0]}))};
}

/// beta * self + alpha * (a @ b)
Values buildAddMatmul(OpCall &call, Emitter &emit) {
  bool isBatched = call.getOp().contains("bmm"),
       isVector = call.getOp().contains("addmv");
  Value a = emit.value(call.tensor(isBatched  ? "batch1"
                                   : isVector ? "mat"
                                              : "mat1")),
        b = emit.value(call.tensor(isBatched  ? "batch2"
                                   : isVector ? "vec"
                                              : "mat2"));
  Value y = emit.scale(emit.matmul(a, b), call.number("alpha", 1));
  double beta = call.number("beta", 1);
  if (beta != 0)
    y = emit.add(y, emit.scale(emit.value(call.tensor("self")), beta));
  return {y};
}

const OpRow rows[] = {
    {"aten.linear.default", buildLinear},
    {"aten.matmul.default", buildMatmul},
    {"aten.mm.default", buildMatmul},
    {"aten.bmm.default", buildMatmul},
    {"aten.mv.default", buildMatmul},
    {"aten.dot.default", buildMatmul},
    {"aten.outer.default", buildOuter},
    {"aten.addmm.default", buildAddMatmul},
    {"aten.addmv.default", buildAddMatmul},
    {"aten.baddbmm.default", buildAddMatmul},
    {"aten.einsum.default", buildEinsum, "a letter twice in one operand"},
};

} // namespace

ArrayRef<OpRow> pt2::matmulRows() { return rows; }
