//===- Emitter.cpp - Makes model ops of ATen ops --------------------------===//

#include "Emitter.h"
#include "ppopt/Dialect/PP/AttentionOps.h"
#include "ppopt/Dialect/PP/ElementwiseOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace mlir;
using namespace mlir::pp;
using namespace mlir::pp::pt2;

Dtype pt2::promote(Dtype one, Dtype other) {
  if (one == other)
    return one;
  auto kind = [](Dtype type) {
    return type == Dtype::boolean ? 0 : pt2::isFloat(type) ? 2 : 1;
  };
  if (kind(one) != kind(other))
    return kind(one) > kind(other) ? one : other;
  if (kind(one) == 2) {
    if (byteSize(one) != byteSize(other))
      return byteSize(one) > byteSize(other) ? one : other;
    return Dtype::f32; // float16 and bfloat16
  }
  if (byteSize(one) != byteSize(other))
    return byteSize(one) > byteSize(other) ? one : other;
  return Dtype::i16; // uint8 and int8
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

::mlir::Type Emitter::elementType(Dtype type) {
  switch (type) {
  case Dtype::f32:
    return builder.getF32Type();
  case Dtype::f64:
    return builder.getF64Type();
  case Dtype::bf16:
    return builder.getBF16Type();
  case Dtype::i32:
    return builder.getI32Type();
  case Dtype::i64:
    return builder.getI64Type();
  case Dtype::boolean:
    return builder.getI1Type();
  default:
    return nullptr;
  }
}

RankedTensorType Emitter::tensorType(Dtype type, ArrayRef<int64_t> shape) {
  ::mlir::Type element = elementType(type);
  if (!element) {
    fail("a tensor of " + spell(type).str() + ", which models do not have");
    element = builder.getF32Type();
  }
  constexpr int64_t most = int64_t(1) << 40; // as of any phase
  int64_t elements = 1;
  for (int64_t size : shape)
    if (size < 0 || MulOverflow(elements, size, elements) || elements > most) {
      fail("a tensor with a size of " + std::to_string(size) +
           ", which is negative, or with more than 2^40 elements");
      return RankedTensorType::get(Shape(shape.size(), 1), element);
    }
  return RankedTensorType::get(shape, element);
}

ArrayRef<int64_t> Emitter::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

Dtype Emitter::typeOf(Value value) {
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  if (type.isF64())
    return Dtype::f64;
  if (type.isBF16())
    return Dtype::bf16;
  if (type.isF32())
    return Dtype::f32;
  if (type.isInteger(1))
    return Dtype::boolean;
  return type.isInteger(32) ? Dtype::i32 : Dtype::i64;
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// Returns the diagnostics of `run` as one text.
static std::string collectDiagnostics(MLIRContext *context,
                                      llvm::function_ref<void()> run) {
  std::string text;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      text += (text.empty() ? "" : "; ") + diagnostic.str();
  });
  run();
  return text;
}

static LogicalResult inferTypes(OperationState &state,
                                std::optional<Location> where) {
  MLIRContext *context = state.getContext();
  state.types.clear();
  return state.name.getInterface<InferTypeOpInterface>()->inferReturnTypes(
      context, where, state.operands, state.attributes.getDictionary(context),
      state.getRawProperties(), state.regions, state.types);
}

/// The type of the operand of the largest rank: that of most results.
static ::mlir::Type largestType(Builder &builder, ValueRange operands) {
  ::mlir::Type largest = RankedTensorType::get({}, builder.getF32Type());
  for (Value operand : operands)
    if (Emitter::rankOf(operand) >= cast<RankedTensorType>(largest).getRank())
      largest = operand.getType();
  return largest;
}

Value Emitter::create(OperationState &state, bool infers) {
  MLIRContext *context = state.getContext();
  if (infers && failed(inferTypes(state, std::nullopt))) {
    fail(collectDiagnostics(context, [&] { (void)inferTypes(state, loc); }));
    return UnrealizedConversionCastOp::create(
               builder, loc, largestType(builder, state.operands), ValueRange())
        .getResult(0);
  }
  Operation *op = builder.create(state);
  if (std::string why = collectDiagnostics(context, [&] { (void)verify(op); });
      !why.empty())
    fail(std::move(why));
  return op->getResult(0);
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Returns after how many indices of the first dimension a tensor repeats
/// itself; their number if it does not.
static int64_t findPeriod(const HostTensor &tensor) {
  int64_t size = tensor.getRank() == 0 ? 1 : tensor.getShape()[0];
  auto repeatsAfter = [&](int64_t period) {
    bool isSame = true;
    for (int64_t i = period; isSame && i < size; ++i)
      HostTensor::forEachIndex(
          tensor.getShape().drop_front(), [&](ArrayRef<int64_t> index) {
            Shape here = {i}, before = {i - period};
            here.append(index.begin(), index.end());
            before.append(index.begin(), index.end());
            Scalar a = tensor.get(here), b = tensor.get(before);
            isSame &= a.real == b.real && a.integer == b.integer;
          });
    return isSame;
  };
  constexpr int64_t most = int64_t(1) << 20; // elements that are looked at
  if (tensor.getElements() <= most)
    for (int64_t period = 1; period < size; ++period)
      if (size % period == 0 && repeatsAfter(period))
        return period;
  return size;
}

/// A table that repeats itself, along the batch above all, is kept once: also
/// where other dimensions are merged with the batch.
Value Emitter::constant(const HostTensor &tensor) {
  HostTensor distinct = tensor.collapse();
  int64_t period = findPeriod(distinct);
  if (distinct.getRank() > 0 && period < distinct.getShape()[0]) {
    Shape once(distinct.getShape()), apart(tensor.getShape());
    once[0] = period;
    apart[0] = period;
    apart.insert(apart.begin(), tensor.getShape()[0] / period);
    Value table = wholeConstant(distinct.view(once, distinct.getStrides()));
    return reshape(broadcastTo(table, apart), tensor.getShape());
  }
  if (distinct.getElements() == 1 && tensor.getElements() != 1)
    distinct = distinct.view({}, {});
  return broadcastTo(wholeConstant(distinct), tensor.getShape());
}

Value Emitter::wholeConstant(const HostTensor &tensor) {
  RankedTensorType type = tensorType(tensor.getType(), tensor.getShape());
  if (tensor.getElements() == 1) {
    Scalar splat = tensor.get(Shape(tensor.getRank(), 0));
    Attribute value =
        tensor.isFloat()
            ? Attribute(builder.getFloatAttr(type.getElementType(), splat.real))
            : builder.getIntegerAttr(type.getElementType(), splat.integer);
    return make<ConstantOp>(DenseElementsAttr::get(type, value));
  }
  if (tensor.getType() == Dtype::boolean) {
    SmallVector<bool> values;
    HostTensor::forEachIndex(tensor.getShape(), [&](ArrayRef<int64_t> index) {
      values.push_back(tensor.getInteger(index));
    });
    return make<ConstantOp>(DenseElementsAttr::get(type, ArrayRef(values)));
  }
  std::vector<char> bytes = tensor.toBytes();
  return make<ConstantOp>(DenseElementsAttr::getFromRawBuffer(type, bytes));
}

Value Emitter::value(const Tensor &tensor) {
  return tensor.value ? tensor.value : constant(*tensor.constant);
}

Value Emitter::number(Dtype type, double value) {
  return constant(HostTensor::splat(Dtype::f64, {}, {value, 0}).cast(type));
}

Value Emitter::operand(OpCall &call, StringRef name, Dtype type) {
  if (!call.isTensor(name))
    return number(type, call.number(name));
  const Tensor &tensor = call.tensor(name);
  if (tensor.constant)
    return constant(tensor.constant->cast(type));
  return castTo(tensor.value, type);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Value Emitter::castTo(Value value, Dtype type) {
  Dtype from = typeOf(value);
  if (from == type)
    return value;
  if (type == Dtype::boolean)
    return make<CompareOp>(ComparePredicate::Ne, value, number(from, 0));
  return make<CastOp>(tensorType(type, shapeOf(value)), value);
}

Value Emitter::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return make<ReshapeOp>(tensorType(typeOf(value), shape), value);
}

Value Emitter::transpose(Value value, ArrayRef<int64_t> perm) {
  if (llvm::is_sorted(perm))
    return value;
  return make<TransposeOp>(value, perm);
}

Value Emitter::broadcastTo(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  Shape dims;
  int64_t added = int64_t(shape.size()) - rankOf(value);
  for (int64_t dim = 0; dim < rankOf(value); ++dim)
    dims.push_back(added + dim);
  return make<BroadcastOp>(tensorType(typeOf(value), shape), value, dims);
}

Value Emitter::slice(Value value, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> sizes) {
  if (shapeOf(value) == sizes)
    return value;
  return make<SliceOp>(tensorType(typeOf(value), sizes), value, offsets);
}

Value Emitter::sliceDim(Value value, int64_t dim, int64_t begin, int64_t size) {
  Shape offsets(rankOf(value), 0), sizes(shapeOf(value));
  offsets[dim] = begin;
  sizes[dim] = size;
  return slice(value, offsets, sizes);
}

Value Emitter::pad(Value value, ArrayRef<int64_t> shape,
                   ArrayRef<int64_t> offsets) {
  if (shapeOf(value) == shape)
    return value;
  return make<PadOp>(tensorType(typeOf(value), shape), value, offsets);
}

Value Emitter::concat(ArrayRef<Value> values, int64_t dim) {
  if (values.empty()) {
    fail("nothing is joined");
    return number(Dtype::f32, 0);
  }
  if (values.size() == 1)
    return values.front();
  return make<ConcatOp>(ValueRange(values), uint64_t(dim));
}

Value Emitter::scale(Value value, double factor) {
  return factor == 1 ? value : mul(value, number(typeOf(value), factor));
}

Value Emitter::compare(ComparePredicate predicate, Value a, Value b) {
  return make<CompareOp>(predicate, a, b);
}

Value Emitter::select(Value condition, Value a, Value b) {
  if (typeOf(a) != Dtype::boolean)
    return make<SelectOp>(condition, a, b);
  return toBoolean(make<SelectOp>(condition, toInteger(a), toInteger(b)));
}

Value Emitter::reduce(ReduceKind kind, Value value, ArrayRef<int64_t> dims,
                      bool keepDims) {
  if (dims.empty())
    return value;
  return make<ReduceOp>(kind, value, dims, keepDims);
}

Value Emitter::toInteger(Value boolean) { return castTo(boolean, Dtype::i32); }

Value Emitter::toBoolean(Value number) {
  return castTo(number, Dtype::boolean);
}

/// The operand of a transpose of the last two dimensions; null if it is none.
static Value swappedOperand(Value value) {
  auto op = value.getDefiningOp<TransposeOp>();
  if (!op)
    return nullptr;
  int64_t rank = op.getPerm().size();
  for (auto [to, from] : enumerate(op.getPerm())) {
    int64_t expected = int64_t(to) == rank - 1   ? rank - 2
                       : int64_t(to) == rank - 2 ? rank - 1
                                                 : int64_t(to);
    if (rank < 2 || from != expected)
      return nullptr;
  }
  return op.getX();
}

Value Emitter::matmul(Value lhs, Value rhs) {
  int64_t left = rankOf(lhs), right = rankOf(rhs);
  if (left == 0 || right == 0) {
    fail("a matmul of a number");
    return lhs;
  }
  // A vector on the left is a row, one on the right a column.
  if (left == 1 || right == 1) {
    Value a = left == 1 ? reshape(lhs, {1, shapeOf(lhs)[0]}) : lhs;
    Value b = right == 1 ? reshape(rhs, {shapeOf(rhs)[0], 1}) : rhs;
    Value result = matmul(a, b);
    Shape shape(shapeOf(result));
    if (right == 1)
      shape.pop_back();
    if (left == 1)
      shape.erase(right == 1 ? shape.end() - 1 : shape.end() - 2);
    return reshape(result, shape);
  }
  auto product = [&](Value a, Value b) {
    Value swapped = swappedOperand(b);
    bool transposes = bool(swapped);
    return make<MatmulOp>(a, transposes ? swapped : b,
                          /*transpose_lhs=*/false, transposes);
  };
  if (right == 2)
    return product(lhs, rhs);
  // Batch dimensions are broadcast, and more than two become one.
  ArrayRef<int64_t> a = shapeOf(lhs).drop_back(2),
                    b = shapeOf(rhs).drop_back(2);
  Shape batch(std::max(a.size(), b.size()), 1);
  for (size_t i = 0; i < batch.size(); ++i) {
    if (i < a.size())
      batch[batch.size() - 1 - i] = a[a.size() - 1 - i];
    if (i < b.size() && b[b.size() - 1 - i] != 1)
      batch[batch.size() - 1 - i] = b[b.size() - 1 - i];
  }
  auto spread = [&](Value value) {
    Shape shape = batch;
    llvm::append_range(shape, shapeOf(value).take_back(2));
    return broadcastTo(value, shape);
  };
  lhs = spread(lhs);
  rhs = spread(rhs);
  if (batch.size() <= 2)
    return product(lhs, rhs);
  auto flat = [&](Value value) {
    ArrayRef<int64_t> inner = shapeOf(value).take_back(2);
    return reshape(value, {countElements(batch), inner[0], inner[1]});
  };
  Value result = product(flat(lhs), flat(rhs));
  Shape shape = batch;
  llvm::append_range(shape, shapeOf(result).take_back(2));
  return reshape(result, shape);
}

Value Emitter::dropout(Value value, double p) {
  return make<DropoutOp>(value.getType(), value, /*key=*/Value(),
                         builder.getF64FloatAttr(p), /*stream=*/IntegerAttr(),
                         /*tile=*/TileAttr());
}
