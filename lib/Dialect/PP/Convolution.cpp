//===- Convolution.cpp - Convolutions -------------------------------------===//
//
// The window of a dimension is the equation
//
//   spread * i = stride * p + dilation * k + offset
//
// of elements i of x, k of w and p of the result. A gradient is a sum over the
// same triples, so it is the convolution of the equation that is solved for
// another of the three.
//
//===----------------------------------------------------------------------===//

#include "SpaceBuilder.h"
#include "TensorBuilder.h"

#include "ppopt/Dialect/PP/ModelOps.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::pp;

/// The dimensions before the spatial ones: batch, group, channel.
static constexpr int64_t kFirstSpatial = 3;

/// Places are sums of sizes times these: they fit in 64 bits.
static constexpr int64_t kMostStep = int64_t(1) << 20;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

ConvOp::Window ConvOp::getWindow(unsigned dim) {
  auto get = [&](std::optional<ArrayRef<int64_t>> numbers, int64_t otherwise) {
    return numbers ? (*numbers)[dim] : otherwise;
  };
  return {get(getStrides(), 1), get(getDilations(), 1), get(getOffsets(), 0),
          get(getSpreads(), 1)};
}

LogicalResult ConvOp::verify() {
  ArrayRef<int64_t> x = getShape(getX()), w = getShape(getW());
  ArrayRef<int64_t> result = getShape(getResult());
  if (x.size() <= kFirstSpatial)
    return emitOpError("x of ")
           << getX().getType() << " has no spatial dimension: it is [B, G, C, "
           << "S...], with one group if there are no others";
  if (w.size() != x.size() || result.size() != x.size())
    return emitOpError("x, w and the result have ")
           << x.size() << ", " << w.size() << " and " << result.size()
           << " dimensions; they need as many";
  if (x[1] != w[0] || x[2] != w[2])
    return emitOpError("x of ")
           << getX().getType() << " has " << x[1] << " groups of " << x[2]
           << " channels, and w of " << getW().getType() << " is for " << w[0]
           << " of " << w[2];
  if (result[0] != x[0] || result[1] != w[0] || result[2] != w[1])
    return emitOpError("result of ")
           << getType() << " has to begin with " << x[0] << "x" << w[0] << "x"
           << w[1] << ": B of x, G and O of w";
  size_t spatial = x.size() - kFirstSpatial;
  auto check = [&](StringRef name, std::optional<ArrayRef<int64_t>> numbers,
                   int64_t least, int64_t most,
                   bool mayBeZero) -> LogicalResult {
    if (!numbers)
      return success();
    if (numbers->size() != spatial)
      return emitOpError("has ") << numbers->size() << " " << name << " for "
                                 << spatial << " spatial dimensions";
    for (int64_t number : *numbers)
      if (number < least || number > most || (number == 0 && !mayBeZero))
        return emitOpError("has ")
               << number << " among its " << name << ", which are from "
               << least << " to " << most << (mayBeZero ? "" : ", without 0");
    return success();
  };
  if (failed(check("strides", getStrides(), -kMostStep, kMostStep, false)) ||
      failed(
          check("dilations", getDilations(), -kMostStep, kMostStep, false)) ||
      failed(
          check("offsets", getOffsets(), -kMostElements, kMostElements, true)))
    return failure();
  return check("spreads", getSpreads(), 1, kMostStep, true);
}

//===----------------------------------------------------------------------===//
// The iteration space
//===----------------------------------------------------------------------===//

/// A part of a spatial dimension reads beyond its own part of x: they are not
/// cut.
IterationSpace ConvOp::getIterationSpace() {
  ArrayRef<int64_t> x = getShape(getX()), w = getShape(getW());
  SpaceBuilder builder;
  unsigned b = builder.addLoop(x[0], LoopKind::Parallel);
  unsigned g = builder.addLoop(x[1], LoopKind::Parallel);
  unsigned o = builder.addLoop(w[1], LoopKind::Parallel);
  unsigned c = builder.addLoop(x[2], LoopKind::Sum);
  SmallVector<unsigned> k =
      builder.addLoops(w.drop_front(kFirstSpatial), LoopKind::Replicate);
  SmallVector<unsigned> p = builder.addLoops(
      getShape(getResult()).drop_front(kFirstSpatial), LoopKind::Replicate);
  TensorLoops ofX = {{b}, {g}, {c}};
  ofX.resize(x.size());
  builder.addOperand(std::move(ofX));
  builder.addOperand(joinLoops({g, o, c}, k));
  builder.addResult(joinLoops({b, g, o}, p));
  return builder.take();
}
PP_BILINEAR(ConvOp)

//===----------------------------------------------------------------------===//
// The gradient
//===----------------------------------------------------------------------===//

/// Returns `x` with its first three dimensions in another order.
static Value reorder(TensorBuilder &b, Value x, ArrayRef<int64_t> first) {
  SmallVector<int64_t> perm(first);
  llvm::append_range(perm,
                     llvm::seq<int64_t>(kFirstSpatial, getShape(x).size()));
  return b.make<TransposeOp>(x, perm);
}

/// Appends a convolution with other windows.
static Value
convolve(TensorBuilder &b, ConvOp like, ArrayRef<int64_t> shape, Value x,
         Value w,
         llvm::function_ref<ConvOp::Window(const ConvOp::Window &)> change) {
  SmallVector<int64_t> strides, dilations, offsets, spreads;
  for (unsigned dim : llvm::seq(shape.size() - kFirstSpatial)) {
    ConvOp::Window window = change(like.getWindow(dim));
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
    offsets.push_back(window.offset);
    spreads.push_back(window.spread);
  }
  auto type = RankedTensorType::get(shape, like.getType().getElementType());
  auto list = [&](ArrayRef<int64_t> values) {
    return b.builder.getDenseI64ArrayAttr(values);
  };
  return b.make<ConvOp>(type, x, w, list(strides), list(dilations),
                        list(offsets), list(spreads));
}

/// stride * p = spread * i - dilation * k - offset, with a positive spread.
static ConvOp::Window solveForX(const ConvOp::Window &window) {
  if (window.stride > 0)
    return {window.spread, -window.dilation, -window.offset, window.stride};
  return {-window.spread, window.dilation, window.offset, -window.stride};
}

/// k and p are the result and what is summed over, the other way round.
static ConvOp::Window solveForW(const ConvOp::Window &window) {
  return {window.dilation, window.stride, window.offset, window.spread};
}

PP_ADJOINT(ConvOp) {
  TensorBuilder b(builder, getLoc());
  Value dy = resultGrads[0];
  ArrayRef<int64_t> w = getShape(getW());
  // The gradient of w comes first, as that of a matmul's weight does.
  if (needed[1]) {
    // [C, G, O, K...] of x as [C, G, B, S...] and dy as [G, O, B, P...].
    SmallVector<int64_t> shape = {w[2], w[0], w[1]};
    llvm::append_range(shape, w.drop_front(kFirstSpatial));
    Value dw = convolve(b, *this, shape, reorder(b, getX(), {2, 1, 0}),
                        reorder(b, dy, {1, 2, 0}), solveForW);
    operandGrads[1] = reorder(b, dw, {1, 2, 0});
  }
  if (needed[0])
    operandGrads[0] = convolve(b, *this, getShape(getX()), dy,
                               reorder(b, getW(), {0, 2, 1}), solveForX);
  return success();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

KernelForm ConvOp::getKernelForm() { return KernelForm::Conv; }

SmallVector<int64_t> ConvOp::getKernelSpace() {
  return SmallVector<int64_t>(getShape(getResult()));
}

/// Columns: elements of the last dimension. Elements: of all of them.
std::optional<int64_t> ConvOp::countTiles(TilesAttr tiles) {
  ArrayRef<int64_t> shape = getShape(getResult());
  int64_t size = tiles.getSize();
  if (tiles.getUnit() == TileUnit::Columns)
    return llvm::product_of(shape.drop_back()) *
           llvm::divideCeil(shape.back(), size);
  if (tiles.getUnit() == TileUnit::Elements)
    return llvm::divideCeil(llvm::product_of(shape), size);
  return std::nullopt;
}

bool ConvOp::usesStrides() { return false; }
