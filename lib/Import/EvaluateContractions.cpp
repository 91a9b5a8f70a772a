//===- EvaluateContractions.cpp - Sums of products of constants -----------===//

#include "Equation.h"
#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

namespace {
/// A tensor whose dimensions have names.
struct Labeled {
  HostTensor tensor;
  Labels labels;
};
} // namespace

/// The tensor with a dimension for each of `labels`: along those that it lacks
/// its elements are the same, and a label that it has twice is a diagonal.
static HostTensor spread(const Labeled &x, ArrayRef<int> labels,
                         const std::map<int, int64_t> &sizes) {
  Shape shape, strides(labels.size(), 0);
  for (int label : labels)
    shape.push_back(sizes.find(label)->second);
  for (auto [label, size, stride] :
       zip_equal(x.labels, x.tensor.getShape(), x.tensor.getStrides()))
    if (size != 1)
      strides[llvm::find(labels, label) - labels.begin()] += stride;
  return x.tensor.view(shape, strides);
}

/// The sums of products over all labels that the output lacks. Each sum is one
/// of doubles, rounded once.
static Results sumProducts(OpCall &call, ArrayRef<Labeled> operands,
                           const Labels &output) {
  if (call.failed())
    return {};
  SmallVector<Labels> names;
  SmallVector<Shape> shapes;
  for (const Labeled &x : operands) {
    if (int64_t(x.labels.size()) != x.tensor.getRank())
      call.fail("multiplies a tensor of " + Twine(x.tensor.getRank()) +
                " dimensions, not of " + Twine(x.labels.size()));
    names.push_back(x.labels);
    shapes.push_back(Shape(x.tensor.getShape()));
  }
  if (call.failed())
    return {};
  std::map<int, int64_t> sizes = findSizes(call, names, shapes);
  if (call.failed())
    return {};
  Labels labels = output;
  Shape shape, summed;
  for (auto [label, size] : sizes)
    if (!llvm::is_contained(output, label)) {
      labels.push_back(label);
      summed.push_back(size);
    }
  for (int label : output)
    shape.push_back(sizes[label]);
  DimBits same(output.size(), true);
  SmallVector<HostTensor> tensors;
  Dtype type = call.result().type;
  for (const Labeled &x : operands) {
    tensors.push_back(spread({x.tensor.cast(type), x.labels}, labels, sizes));
    for (auto [bit, stride] : llvm::zip(same, tensors.back().getStrides()))
      bit &= stride == 0;
  }
  Shape steps = distinctShape(shape, same), at;
  steps.append(summed);
  if (!affords(call, steps))
    return {};
  return generate(call, type, shape, same, [&](ArrayRef<int64_t> index) {
    double real = 0;
    uint64_t integer = 0;
    HostTensor::forEachIndex(summed, [&](ArrayRef<int64_t> inner) {
      at.assign(index.begin(), index.end());
      at.append(inner.begin(), inner.end());
      double realProduct = 1;
      uint64_t product = 1;
      for (const HostTensor &tensor : tensors) {
        Scalar x = tensor.get(at);
        realProduct *= x.real;
        product *= uint64_t(x.integer);
      }
      real += realProduct;
      integer += product;
    });
    return Scalar{real, int64_t(integer)};
  });
}

/// A label for each dimension, from `first` on.
static Labels number(const HostTensor &tensor, int first = 1) {
  Labels labels;
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim)
    labels.push_back(first + int(dim));
  return labels;
}

static Results einsum(OpCall &call) {
  SmallVector<HostTensor> tensors;
  SmallVector<Shape> shapes;
  for (const Tensor *tensor : call.tensors("tensors")) {
    tensors.push_back(*tensor->constant);
    shapes.push_back(tensor->shape);
  }
  Equation equation = readEquation(call, shapes);
  if (call.failed())
    return {};
  SmallVector<Labeled> operands;
  for (auto [tensor, labels] : zip_equal(tensors, equation.operands))
    operands.push_back({tensor, labels});
  return sumProducts(call, operands, equation.output);
}

/// Sums over the products of these dimensions of two tensors.
static Results contract(OpCall &call, const HostTensor &left,
                        const HostTensor &right, ArrayRef<int64_t> leftDims,
                        ArrayRef<int64_t> rightDims) {
  Labels ofLeft = number(left), ofRight = number(right, left.getRank() + 1);
  Labels summed, output;
  if (leftDims.size() != rightDims.size())
    call.fail("contracts " + Twine(leftDims.size()) + " dimensions with " +
              Twine(rightDims.size()));
  for (auto [one, other] : llvm::zip(leftDims, rightDims)) {
    int64_t i = call.wrapDim(one, left.getRank()),
            j = call.wrapDim(other, right.getRank());
    if (call.failed())
      return {};
    if (left.getShape()[i] != right.getShape()[j] ||
        llvm::is_contained(summed, ofLeft[i]) ||
        llvm::is_contained(summed, ofRight[j])) {
      call.fail("contracts dimensions of different sizes, or one twice");
      return {};
    }
    summed.push_back(ofLeft[i]);
    ofRight[j] = ofLeft[i];
  }
  for (const Labels &labels : {ofLeft, ofRight})
    for (int label : labels)
      if (!llvm::is_contained(summed, label))
        output.push_back(label);
  return sumProducts(call, {{left, ofLeft}, {right, ofRight}}, output);
}

static Results tensordot(OpCall &call) {
  return contract(call, constant(call, "self"), constant(call, "other"),
                  call.integers("dims_self"), call.integers("dims_other"));
}

/// Over the last dimensions; of a number its products.
static Results inner(OpCall &call) {
  const HostTensor &left = constant(call, "self");
  const HostTensor &right = constant(call, "other");
  Shape last(left.getRank() > 0 && right.getRank() > 0, -1);
  return contract(call, left, right, last, last);
}

static Results vecdot(OpCall &call) {
  const HostTensor &x = constant(call, "x");
  const HostTensor &y = constant(call, "y");
  Shape shape =
      broadcastShape(call, {Shape(x.getShape()), Shape(y.getShape())});
  HostTensor left = broadcast(call, x, shape),
             right = broadcast(call, y, shape);
  Labels labels = number(left), output = labels;
  int64_t dim = call.dim("dim", shape.size(), -1);
  if (call.failed())
    return {};
  output.erase(output.begin() + dim);
  return sumProducts(call, {{left, labels}, {right, labels}}, output);
}

/// alpha * products + beta * self.
static Results addScaled(OpCall &call, Results products, const HostTensor &self,
                         const Scalar &alpha, const Scalar &beta) {
  if (call.failed())
    return {};
  Dtype type = call.result().type;
  return elementwise(
      call, type, {products.front(), self.cast(type)}, [&](ArrayRef<Scalar> x) {
        return Scalar{alpha.real * x[0].real + beta.real * x[1].real,
                      int64_t(uint64_t(alpha.integer) * uint64_t(x[0].integer) +
                              uint64_t(beta.integer) * uint64_t(x[1].integer))};
      });
}

static Results linear(OpCall &call) {
  Results products = contract(call, constant(call, "input"),
                              constant(call, "weight"), {-1}, {-1});
  const Tensor *bias = call.optionalTensor("bias");
  return bias ? addScaled(call, products, *bias->constant, {1, 1}, {1, 1})
              : products;
}

/// With beta = 0, `self` is not read.
static Results addProducts(OpCall &call, StringRef left, StringRef right,
                           const Labels &ofLeft, const Labels &ofRight,
                           const Labels &output) {
  Dtype type = call.result().type;
  Scalar alpha = number(call, "alpha", type, 1),
         beta = number(call, "beta", type, 1);
  Results products = sumProducts(
      call, {{constant(call, left), ofLeft}, {constant(call, right), ofRight}},
      output);
  HostTensor self = constant(call, "self");
  if (beta.real == 0 && beta.integer == 0)
    self = HostTensor::splat(type, {}, {});
  return addScaled(call, products, self, alpha, beta);
}

static Results addmm(OpCall &call) {
  return addProducts(call, "mat1", "mat2", {1, 2}, {2, 3}, {1, 3});
}
static Results addmv(OpCall &call) {
  return addProducts(call, "mat", "vec", {1, 2}, {2}, {1});
}
static Results addbmm(OpCall &call) {
  return addProducts(call, "batch1", "batch2", {1, 2, 3}, {1, 3, 4}, {2, 4});
}
static Results baddbmm(OpCall &call) {
  return addProducts(call, "batch1", "batch2", {1, 2, 3}, {1, 3, 4}, {1, 2, 4});
}
static Results addr(OpCall &call) {
  return addProducts(call, "vec1", "vec2", {1}, {2}, {1, 2});
}

ArrayRef<EvaluatedOp> pt2::getContractionOps() {
  static const EvaluatedOp ops[] = {
      {"aten.einsum.default", checked<einsum>},
      {"aten.tensordot.default", checked<tensordot>},
      {"aten.inner.default", checked<inner>},
      {"aten.linalg_vecdot.default", checked<vecdot>},
      {"aten.linear.default", checked<linear>},
      {"aten.addmm.default", checked<addmm>},
      {"aten.addmv.default", checked<addmv>},
      {"aten.addbmm.default", checked<addbmm>},
      {"aten.baddbmm.default", checked<baddbmm>},
      {"aten.addr.default", checked<addr>},
  };
  return ops;
}
