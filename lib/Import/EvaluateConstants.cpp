//===- EvaluateConstants.cpp - Computes ops on constants ------------------===//

#include "Evaluate.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static StringMap<const EvaluatedOp *> collectOps() {
  StringMap<const EvaluatedOp *> table;
  for (ArrayRef<EvaluatedOp> group :
       {getCreationOps(), getUnaryOps(), getBinaryOps(), getSelectionOps(),
        getViewOps(), getPartOps(), getJoinOps(), getReductionOps(),
        getScanOps(), getIndexOps(), getMatmulOps(), getContractionOps(),
        getFormulaOps()})
    for (const EvaluatedOp &op : group)
      table[op.name] = &op;
  return table;
}

static const StringMap<const EvaluatedOp *> &getOps() {
  static const StringMap<const EvaluatedOp *> table = collectOps();
  return table;
}

Evaluate pt2::findEvaluate(StringRef op) {
  const EvaluatedOp *found = getOps().lookup(op);
  return found ? found->evaluate : nullptr;
}

bool pt2::readsShapes(StringRef op) {
  const EvaluatedOp *found = getOps().lookup(op);
  return found && found->readsShapes;
}

std::vector<StringRef> pt2::listEvaluated() {
  std::vector<StringRef> names;
  for (StringRef name : getOps().keys())
    names.push_back(name);
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool pt2::checkOperands(OpCall &call) {
  for (const Tensor *tensor : call.allTensors())
    if (!tensor->constant)
      call.fail("reads a tensor that is no constant");
  return !call.failed();
}

Results pt2::checkResults(OpCall &call, Results results) {
  if (call.failed())
    return {};
  if (results.size() != call.getResults()) {
    call.fail("has " + Twine(results.size()) +
              " results, and the archive names " + Twine(call.getResults()));
    return {};
  }
  for (auto [number, result] : enumerate(results)) {
    // A result that nothing uses may have no name.
    if (call.getNode().results[number].empty())
      continue;
    const TensorMeta &meta = call.result(number);
    if (result.getType() != meta.type ||
        result.getShape() != ArrayRef<int64_t>(meta.shape))
      call.fail("makes a " + spell(result.getType()) +
                spellShape(result.getShape()) + ", and the archive says " +
                spell(meta.type) + spellShape(meta.shape));
  }
  return call.failed() ? Results() : results;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

HostTensor pt2::tensorOrNumber(OpCall &call, StringRef name) {
  if (call.isTensor(name))
    return constant(call, name);
  Dtype type = call.isIntegral(name) ? Dtype::i64 : Dtype::f64;
  return HostTensor::splat(type, {}, number(call, name, type));
}

Scalar pt2::number(OpCall &call, StringRef name, Dtype type,
                   std::optional<double> fallback) {
  if (!call.has(name) && fallback)
    return HostTensor::splat(Dtype::f64, {}, {*fallback, 0}).cast(type).get({});
  if (isFloat(type))
    return {call.number(name), 0};
  if (call.isIntegral(name))
    return {0, wrapTo(type, call.integer(name))};
  return HostTensor::splat(Dtype::f64, {}, {call.number(name), 0})
      .cast(type)
      .get({});
}

static Dtype promoteTypes(Dtype a, Dtype b) {
  if (a == b || b == Dtype::boolean)
    return a;
  if (a == Dtype::boolean)
    return b;
  if (isFloat(a) != isFloat(b))
    return isFloat(a) ? a : b;
  if (byteSize(a) != byteSize(b))
    return byteSize(a) > byteSize(b) ? a : b;
  // float16 with bfloat16, uint8 with int8.
  return isFloat(a) ? Dtype::f32 : Dtype::i16;
}

/// A category of Python's numbers (booleans, integers, floats) decides only if
/// it is the higher one.
static std::optional<Dtype> combine(std::optional<Dtype> higher,
                                    std::optional<Dtype> lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  if (isFloat(*higher))
    return higher;
  if (*higher == Dtype::boolean || isFloat(*lower))
    return promoteTypes(*higher, *lower);
  return higher;
}

Dtype pt2::promote(OpCall &call, ArrayRef<StringRef> names) {
  std::optional<Dtype> tensors, scalars, numbers;
  auto add = [](std::optional<Dtype> &to, Dtype type) {
    to = to ? promoteTypes(*to, type) : type;
  };
  for (StringRef name : names) {
    if (!call.isTensor(name))
      add(numbers, call.isIntegral(name) ? Dtype::i64 : Dtype::f32);
    else if (const HostTensor &tensor = constant(call, name); tensor.getRank())
      add(tensors, tensor.getType());
    else
      add(scalars, tensor.getType());
  }
  return combine(tensors, combine(scalars, numbers)).value_or(Dtype::f32);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Results pt2::generate(OpCall &call, Dtype type, ArrayRef<int64_t> shape,
                      const DimBits &same, ElementAt elementAt) {
  Shape distinct = distinctShape(shape, same);
  if (call.failed() || !fits(call, shape, distinct))
    return {};
  HostTensor result(type, distinct);
  HostTensor::forEachIndex(distinct, [&](ArrayRef<int64_t> index) {
    result.set(index, elementAt(index));
  });
  return {result.broadcastTo(shape)};
}

Results pt2::copyElements(OpCall &call, const HostTensor &tensor) {
  return generate(call, tensor.getType(), tensor.getShape(),
                  DimBits(tensor.getRank(), false),
                  [&](ArrayRef<int64_t> index) { return tensor.get(index); });
}

Results pt2::elementwise(OpCall &call, Dtype type,
                         ArrayRef<HostTensor> operands, Elementwise compute) {
  SmallVector<Shape, 3> shapes;
  for (const HostTensor &operand : operands)
    shapes.push_back(Shape(operand.getShape()));
  Shape shape = broadcastShape(call, shapes);
  if (call.failed())
    return {};
  SmallVector<HostTensor, 3> expanded;
  DimBits same(shape.size(), true);
  for (const HostTensor &operand : operands) {
    expanded.push_back(operand.broadcastTo(shape));
    for (auto [bit, stride] : zip_equal(same, expanded.back().getStrides()))
      bit &= stride == 0;
  }
  SmallVector<Scalar, 3> values(operands.size());
  return generate(call, type, shape, same, [&](ArrayRef<int64_t> index) {
    for (auto [value, operand] : zip_equal(values, expanded))
      value = operand.get(index);
    return compute(values);
  });
}
