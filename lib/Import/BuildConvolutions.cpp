//===- BuildConvolutions.cpp - Convolutions, patch embeddings -------------===//

#include "Emitter.h"

#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

using Values = std::vector<Value>;

namespace {

/// What a call says of its spatial dimensions, each.
struct Windows {
  Shape kernel, stride, padding, dilation, outputPadding;
  int64_t groups = 1;
  bool isTransposed = false, keepsSize = false;

  /// Windows that lie side by side are rows of a matmul.
  bool arePatches() const {
    auto isAll = [](const Shape &list, int64_t value) {
      return llvm::all_of(list, [&](int64_t each) { return each == value; });
    };
    return !isTransposed && groups == 1 && stride == kernel &&
           isAll(padding, 0) && isAll(dilation, 1);
  }

  /// Returns the result's size along a dimension.
  int64_t countResults(unsigned dim, int64_t size) const {
    int64_t reach = dilation[dim] * (kernel[dim] - 1) + 1;
    if (isTransposed)
      return (size - 1) * stride[dim] - 2 * padding[dim] + reach +
             outputPadding[dim];
    if (keepsSize)
      return size;
    int64_t moves = size + 2 * padding[dim] - reach;
    return moves < 0 ? 0 : moves / stride[dim] + 1;
  }
};

/// The largest number that a call may have: those of pp.conv are up to it.
constexpr int64_t kMostStep = int64_t(1) << 20;

/// One number for all dimensions, or one for each.
Shape perDim(OpCall &call, StringRef name, int64_t dims, int64_t fallback) {
  Shape list = call.integers(name, Shape(dims, fallback));
  if (list.size() == 1)
    list.assign(dims, list.front());
  if (int64_t(list.size()) != dims) {
    call.fail("has a " + name + " of " + Twine(list.size()) + " numbers for " +
              Twine(dims) + " dimensions");
    list.assign(dims, fallback);
  }
  return list;
}

Windows readWindows(OpCall &call, ArrayRef<int64_t> kernel) {
  int64_t dims = kernel.size();
  Windows windows;
  windows.kernel = Shape(kernel);
  windows.stride = perDim(call, "stride", dims, 1);
  windows.dilation = perDim(call, "dilation", dims, 1);
  windows.padding.assign(dims, 0);
  windows.isTransposed =
      call.getOp().contains("conv_transpose") ||
      (call.has("transposed") && call.flag("transposed", false));
  windows.outputPadding = perDim(call, "output_padding", dims, 0);
  windows.groups = call.integer("groups", 1);
  windows.keepsSize =
      call.isText("padding") && call.text("padding", "") == "same";
  if (!call.isText("padding"))
    windows.padding = perDim(call, "padding", dims, 0);
  auto check = [&](StringRef name, const Shape &list, int64_t least) {
    for (int64_t each : list)
      if (each < least || each > kMostStep)
        call.fail("has " + Twine(each) + " as a " + name + ", which is from " +
                  Twine(least) + " to " + Twine(kMostStep));
  };
  check("kernel", windows.kernel, 1);
  check("stride", windows.stride, 1);
  check("dilation", windows.dilation, 1);
  check("padding", windows.padding, 0);
  check("output_padding", windows.outputPadding, 0);
  if (call.failed())
    return windows;
  if (windows.keepsSize)
    for (int64_t i = 0; i < dims; ++i)
      windows.padding[i] = windows.dilation[i] * (kernel[i] - 1) / 2;
  return windows;
}

/// [N, C, H, W] as [N, patches, C * kernel] times the weight.
Value buildPatches(Emitter &emit, Value x, Value weight, const Shape &out,
                   ArrayRef<int64_t> kernel) {
  Shape in(Emitter::shapeOf(x)), cut = in, split = {in[0], in[1]}, perm = {0};
  int64_t dims = kernel.size(), window = in[1], patches = 1;
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
  x = emit.slice(x, Shape(in.size(), 0), cut);
  x = emit.transpose(emit.reshape(x, split), perm);
  x = emit.reshape(x, {in[0], patches, window});
  Value flat = emit.reshape(weight, {out[1], window});
  return emit.transpose(emit.matmul(x, emit.transpose(flat, {1, 0})),
                        {0, 2, 1});
}

/// A weight is [O, C / groups, kernel...]; a transposed one [C, O / groups,
/// kernel...], and element i of x lies at stride * i.
Value buildWindows(Emitter &emit, Value x, Value weight, const Shape &out,
                   const Windows &windows) {
  Shape in(Emitter::shapeOf(x)), of(Emitter::shapeOf(weight));
  int64_t groups = windows.groups;
  auto split = [&](Value value, unsigned dim) {
    Shape shape(Emitter::shapeOf(value));
    shape[dim] /= groups;
    shape.insert(shape.begin() + dim, groups);
    return emit.reshape(value, shape);
  };
  Value w = split(weight, 0);
  auto list = [&](const Shape &values, int64_t usual) {
    return all_of(values, [&](int64_t each) { return each == usual; })
               ? DenseI64ArrayAttr()
               : emit.getBuilder().getDenseI64ArrayAttr(values);
  };
  Shape offsets = windows.padding, dilations = windows.dilation;
  if (windows.isTransposed) {
    auto perm = to_vector(seq<int64_t>(0, of.size() + 1));
    std::swap(perm[1], perm[2]);
    w = emit.transpose(w, perm);
    for (int64_t &dilation : dilations)
      dilation = -dilation;
  } else {
    for (int64_t &offset : offsets)
      offset = -offset;
  }
  Shape shape = out;
  shape[1] /= groups;
  shape.insert(shape.begin() + 1, groups);
  Shape ones(windows.kernel.size(), 1);
  return emit.make<ConvOp>(
      emit.tensorType(Emitter::typeOf(x), shape), split(x, 1), w,
      list(windows.isTransposed ? ones : windows.stride, 1), list(dilations, 1),
      list(offsets, 0), list(windows.isTransposed ? windows.stride : ones, 1));
}

Values buildConvolution(OpCall &call, Emitter &emit) {
  Value x = emit.value(call.tensor("input")),
        weight = emit.value(call.tensor("weight"));
  if (Emitter::rankOf(weight) < 3) {
    call.fail("has a weight without channels or a kernel");
    return {};
  }
  Shape of(Emitter::shapeOf(weight)), in(Emitter::shapeOf(x)),
      out = call.result().shape;
  int64_t dims = of.size() - 2;
  if (int64_t(in.size()) == dims + 1) { // no batch
    in.insert(in.begin(), 1);
    out.insert(out.begin(), 1);
    x = emit.reshape(x, in);
  }
  Windows windows = readWindows(call, ArrayRef(of).drop_front(2));
  int64_t groups = windows.groups, channels = of[windows.isTransposed ? 0 : 1],
          results = of[windows.isTransposed ? 1 : 0];
  (windows.isTransposed ? results : channels) *= groups;
  if (call.failed())
    return {};
  if (groups < 1 || in.size() != of.size() || in[1] != channels ||
      channels % groups != 0 || results % groups != 0) {
    call.fail("has an input, a weight and groups that do not fit each other");
    return {};
  }
  Shape expected = {in[0], results};
  for (int64_t i = 0; i < dims; ++i)
    expected.push_back(windows.countResults(i, in[2 + i]));
  if (out != expected) {
    call.fail("has a result of a size that its windows do not give");
    return {};
  }
  Value y = windows.arePatches()
                ? buildPatches(emit, x, weight, out, windows.kernel)
                : buildWindows(emit, x, weight, out, windows);
  y = emit.reshape(y, out);
  if (call.has("bias")) {
    Shape bias(dims + 1, 1);
    bias[0] = results;
    y = emit.add(y, emit.reshape(emit.value(call.tensor("bias")), bias));
  }
  return {emit.reshape(y, call.result().shape)};
}

const OpRow rows[] = {
    {"aten.conv1d.default", buildConvolution},
    {"aten.conv1d.padding", buildConvolution},
    {"aten.conv2d.default", buildConvolution},
    {"aten.conv2d.padding", buildConvolution},
    {"aten.conv3d.default", buildConvolution},
    {"aten.conv3d.padding", buildConvolution},
    {"aten.conv_transpose1d.default", buildConvolution},
    {"aten.conv_transpose2d.input", buildConvolution},
    {"aten.conv_transpose3d.input", buildConvolution},
    {"aten.convolution.default", buildConvolution},
};

} // namespace

ArrayRef<OpRow> pt2::convolutionRows() { return rows; }
