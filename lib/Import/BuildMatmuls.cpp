//===- BuildMatmuls.cpp - Linear layers, matmuls, patch embeddings --------===//

#include "BuildEinsum.h"
#include "Emitter.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

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

//===----------------------------------------------------------------------===//
// Convolutions whose windows do not overlap
//===----------------------------------------------------------------------===//

/// One number for all dimensions, or one for each.
Shape perDim(Shape list, int64_t dims) {
  if (list.size() == 1)
    list.assign(dims, list.front());
  return list;
}

/// Why a convolution is no patch embedding; empty if it is one.
std::string whyNoPatches(OpCall &call, ArrayRef<int64_t> kernel, int64_t dims) {
  if (call.isText("padding") && call.text("padding", "") != "valid")
    return "pads";
  auto isAll = [&](ArrayRef<int64_t> list, int64_t value) {
    return llvm::all_of(list, [&](int64_t each) { return each == value; });
  };
  if (call.has("transposed") && call.flag("transposed", false))
    return "is transposed";
  call.has("output_padding"); // of transposed ones
  Shape stride = perDim(call.integers("stride", Shape(dims, 1)), dims);
  bool isPointwise = isAll(kernel, 1) && isAll(stride, 1);
  if (!isPointwise && ArrayRef(stride) != kernel)
    return "has windows that overlap or leave gaps";
  if (!call.isText("padding") && !isAll(call.integers("padding", Shape()), 0))
    return "pads";
  if (!isAll(call.integers("dilation", Shape(dims, 1)), 1))
    return "is dilated";
  if (call.integer("groups", 1) != 1)
    return "has groups";
  return "";
}

/// [N, C, H, W] as [N, patches, C * kernel] times the weight.
Values buildConvolution(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("input")),
        weight = emit.value(call.tensor("weight"));
  if (Emitter::rankOf(weight) < 2) {
    call.fail("has a weight without channels");
    return {};
  }
  ArrayRef<int64_t> kernel = Emitter::shapeOf(weight).drop_front(2);
  int64_t dims = kernel.size(), rank = Emitter::rankOf(x);
  if (std::string why = whyNoPatches(call, kernel, dims);
      !why.empty() || rank != dims + 2) {
    call.fail("is a convolution that " +
              (why.empty() ? "has no batch" : std::move(why)) +
              ": only patch embeddings, whose stride is the kernel's size, are "
              "supported");
    return {};
  }
  Shape in(Emitter::shapeOf(x)), out = call.result().shape, cut = in, split;
  bool isWhole = int64_t(out.size()) == rank;
  for (int64_t i = 0; isWhole && i < dims; ++i)
    isWhole = kernel[i] > 0 && out[2 + i] == in[2 + i] / kernel[i];
  if (!isWhole) {
    call.fail("makes a number of patches that its input does not have");
    return {};
  }
  int64_t channels = in[1], window = channels, patches = 1;
  split.append({in[0], channels});
  Shape perm = {0};
  for (int64_t i = 0; i < dims; ++i) {
    cut[2 + i] = out[2 + i] * kernel[i];
    split.append({out[2 + i], kernel[i]});
    perm.push_back(2 + 2 * i);
    window *= kernel[i];
    patches *= out[2 + i];
  }
  perm.push_back(1);
  for (int64_t i = 0; i < dims; ++i)
    perm.push_back(3 + 2 * i);
  x = emit.slice(x, Shape(rank, 0), cut);
  x = emit.transpose(emit.reshape(x, split), perm);
  x = emit.reshape(x, {in[0], patches, window});
  Value flat = emit.reshape(weight, {out[1], window});
  Value y = emit.matmul(x, emit.transpose(flat, {1, 0}));
  if (call.has("bias"))
    y = emit.add(y, emit.value(call.tensor("bias")));
  return {emit.reshape(emit.transpose(y, {0, 2, 1}), out)};
}

constexpr StringLiteral patchesOnly =
    "windows that overlap or leave gaps, padding, dilation, groups";

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
    {"aten.conv1d.default", buildConvolution, patchesOnly},
    {"aten.conv2d.default", buildConvolution, patchesOnly},
    {"aten.conv2d.padding", buildConvolution, patchesOnly},
    {"aten.conv3d.default", buildConvolution, patchesOnly},
    {"aten.convolution.default", buildConvolution, patchesOnly},
};

} // namespace

ArrayRef<OpRow> pt2::matmulRows() { return rows; }
