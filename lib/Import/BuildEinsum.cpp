//===- BuildEinsum.cpp - Einsum as matmuls --------------------------------===//

#include "BuildEinsum.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "Equation.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

namespace {
/// A tensor whose dimensions have names.
struct Labeled {
  Value value;
  Labels labels;
};
} // namespace

//===----------------------------------------------------------------------===//
// Matmuls
//===----------------------------------------------------------------------===//

static int64_t findLabel(ArrayRef<int> labels, int label) {
  return llvm::find(labels, label) - labels.begin();
}

static Value transposeTo(Emitter &emit, const Labeled &x,
                         ArrayRef<int> labels) {
  Shape perm;
  for (int label : labels)
    perm.push_back(findLabel(x.labels, label));
  return emit.transpose(x.value, perm);
}

/// Sums over dimensions that nothing else has.
static Labeled sumAlone(Emitter &emit, const Labeled &x,
                        llvm::function_ref<bool(int)> isNeeded) {
  Shape dims;
  Labeled result;
  for (auto [dim, label] : enumerate(x.labels)) {
    if (isNeeded(label))
      result.labels.push_back(label);
    else
      dims.push_back(dim);
  }
  result.value = emit.reduce(ReduceKind::Sum, x.value, dims, false);
  return result;
}

static Shape sizesOf(const Labeled &x, ArrayRef<int> labels) {
  Shape sizes;
  for (int label : labels)
    sizes.push_back(Emitter::shapeOf(x.value)[findLabel(x.labels, label)]);
  return sizes;
}

static Labels concatLabels(ArrayRef<int> a, ArrayRef<int> b,
                           ArrayRef<int> c = {}) {
  Labels labels(a);
  llvm::append_range(labels, b);
  llvm::append_range(labels, c);
  return labels;
}

namespace {
/// How two tensors are contracted: labels that both have and that stay, that
/// both have and that are summed, and that one has.
struct Roles {
  Labels batch, summed, left, right;
};
} // namespace

/// By a product with broadcasting, whose shape is [batch, left, right, summed].
static Value multiplyByBroadcast(Emitter &emit, const Labeled &a,
                                 const Labeled &b, const Roles &roles) {
  auto spread = [&](const Labeled &x, bool isLeft) {
    ArrayRef<int> own = isLeft ? roles.left : roles.right;
    Value value =
        transposeTo(emit, x, concatLabels(roles.batch, own, roles.summed));
    Shape shape = sizesOf(x, roles.batch);
    if (!isLeft)
      shape.append(roles.left.size(), 1);
    llvm::append_range(shape, sizesOf(x, own));
    if (isLeft)
      shape.append(roles.right.size(), 1);
    llvm::append_range(shape, sizesOf(x, roles.summed));
    return emit.reshape(value, shape);
  };
  Value product = emit.mul(spread(a, true), spread(b, false));
  Shape dims;
  int64_t rank = Emitter::rankOf(product);
  for (int64_t dim = rank - roles.summed.size(); dim < rank; ++dim)
    dims.push_back(dim);
  return emit.reduce(ReduceKind::Sum, product, dims, false);
}

/// By a matmul. Without batch labels, the left operand keeps its dimensions.
static Value multiplyByMatmul(Emitter &emit, const Labeled &a, const Labeled &b,
                              const Roles &roles) {
  int64_t inner = countElements(sizesOf(a, roles.summed));
  int64_t columns = countElements(sizesOf(b, roles.right));
  Shape batch = sizesOf(a, roles.batch), left = sizesOf(a, roles.left);
  Shape lhsShape = batch, rhsShape = batch;
  if (batch.size() > 2)
    lhsShape = rhsShape = {countElements(batch)};
  if (batch.empty() && !left.empty())
    lhsShape = left;
  else
    lhsShape.push_back(countElements(left));
  lhsShape.push_back(inner);
  // A right operand that has the summed dimensions last stays as it is.
  bool transposes =
      b.labels == concatLabels(roles.batch, roles.right, roles.summed);
  rhsShape.push_back(transposes ? columns : inner);
  rhsShape.push_back(transposes ? inner : columns);
  Value lhs =
      transposeTo(emit, a, concatLabels(roles.batch, roles.left, roles.summed));
  Value rhs =
      transposes
          ? b.value
          : transposeTo(emit, b,
                        concatLabels(roles.batch, roles.summed, roles.right));
  Value product = emit.make<MatmulOp>(emit.reshape(lhs, lhsShape),
                                      emit.reshape(rhs, rhsShape),
                                      /*transpose_lhs=*/false, transposes);
  Shape shape = batch;
  llvm::append_range(shape, left);
  llvm::append_range(shape, sizesOf(b, roles.right));
  return emit.reshape(product, shape);
}

/// Contracts two tensors over the labels that both have and nothing else
/// needs.
static Labeled contract(Emitter &emit, Labeled a, Labeled b,
                        llvm::function_ref<bool(int)> isNeeded,
                        ArrayRef<int> output) {
  // The batch of a model is on the left, a weight on the right.
  bool swaps = !output.empty() && !llvm::is_contained(a.labels, output[0]) &&
               llvm::is_contained(b.labels, output[0]);
  if (swaps)
    std::swap(a, b);
  Roles roles;
  for (int label : a.labels) {
    if (!llvm::is_contained(b.labels, label))
      roles.left.push_back(label);
    else if (isNeeded(label))
      roles.batch.push_back(label);
    else
      roles.summed.push_back(label);
  }
  for (int label : b.labels)
    if (!llvm::is_contained(a.labels, label))
      roles.right.push_back(label);
  bool isMatmul = !roles.summed.empty() && isFloat(Emitter::typeOf(a.value));
  return {isMatmul ? multiplyByMatmul(emit, a, b, roles)
                   : multiplyByBroadcast(emit, a, b, roles),
          concatLabels(roles.batch, roles.left, roles.right)};
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

std::vector<Value> pt2::buildEinsum(OpCall &call, Emitter &emit) {
  Dtype type = call.result().type;
  if (type == Dtype::boolean)
    call.fail("multiplies booleans; cast its operands to a float");
  SmallVector<Value> values;
  for (const Tensor *tensor : call.tensors("tensors"))
    values.push_back(emit.castTo(emit.value(*tensor), type));
  if (values.empty())
    call.fail("has no operands");
  if (call.failed())
    return {};
  SmallVector<Shape> shapes;
  for (Value value : values)
    shapes.push_back(Shape(Emitter::shapeOf(value)));
  Equation equation = readEquation(call, shapes);
  const Labels &output = equation.output;
  if (call.failed())
    return {};
  std::map<int, int64_t> sizes = findSizes(call, equation.operands, shapes);
  SmallVector<Labeled> operands;
  for (auto [value, own] : zip_equal(values, equation.operands)) {
    Shape shape;
    for (int label : own) {
      shape.push_back(sizes[label]);
      if (llvm::count(own, label) > 1)
        call.fail("has the letter '" + Twine(char(label)) +
                  "' twice in one term; take torch.diagonal first");
    }
    if (call.failed())
      return {};
    operands.push_back({emit.broadcastTo(value, shape), own});
  }

  auto isNeededBut = [&](size_t first, size_t second, int label) {
    if (llvm::is_contained(output, label))
      return true;
    for (auto [number, x] : enumerate(operands))
      if (number != first && number != second &&
          llvm::is_contained(x.labels, label))
        return true;
    return false;
  };
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = sumAlone(emit, operands[i],
                           [&](int label) { return isNeededBut(i, i, label); });
  while (operands.size() > 1) {
    operands[0] = contract(
        emit, operands[0], operands[1],
        [&](int label) { return isNeededBut(0, 1, label); }, output);
    operands.erase(operands.begin() + 1);
  }
  return {transposeTo(emit, operands[0], output)};
}
