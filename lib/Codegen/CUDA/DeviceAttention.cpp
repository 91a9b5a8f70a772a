//===- DeviceAttention.cpp - What a GPU's attention emits -----------------===//

#include "DeviceAttention.h"

#include "DeviceModules.h"
#include "Shuffle.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

DeviceAttention::DeviceAttention(OpBuilder &builder, KernelOp kernel,
                                 ValueRange buffers)
    : AttentionShape(getAttention(kernel).getAttentionShape()),
      DeviceThread(builder, getAttention(kernel)->getLoc()), kernel(kernel),
      op(getAttention(kernel)),
      type(getStatisticsType(getElementTypeOrSelf(op->getOperand(0)))),
      hasPowersOf2(!type.isF64() &&
                   !hasAccurateMath(kernel->getParentOfType<ModuleOp>())),
      buffers(buffers) {}

void DeviceAttention::setPart(int64_t parts) {
  Value number = getBlock();
  part = rem(number, parts);
  number = div(number, parts);
  head = rem(number, heads);
  row = div(number, heads);
  keyHead = div(head, groupSize());
}

void DeviceAttention::setPartOfGroup(int64_t parts) {
  Value number = getBlock();
  part = rem(number, parts);
  number = div(number, parts);
  keyHead = rem(number, keyHeads);
  row = div(number, keyHeads);
  head = Value();
}

Value DeviceAttention::splitGroup(Value tile, int64_t parts) {
  if (groupSize() == 1) {
    head = keyHead;
    return tile;
  }
  head = add(mul(keyHead, groupSize()), div(tile, parts));
  return rem(tile, parts);
}

SmallVector<Value> DeviceAttention::forGroup(
    ValueRange values,
    llvm::function_ref<SmallVector<Value>(ValueRange)> body) {
  if (groupSize() == 1) {
    head = keyHead;
    return body(values);
  }
  Value first = mul(keyHead, groupSize());
  SmallVector<Value> last = loop(index(0), index(groupSize()), 1, values,
                                 [&](Value inGroup, ValueRange before) {
                                   head = add(first, inGroup);
                                   return body(before);
                                 });
  head = Value();
  return last;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value DeviceAttention::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}
Value DeviceAttention::addF(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value DeviceAttention::subF(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value DeviceAttention::mulF(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value DeviceAttention::maxF(Value a, Value b) {
  return arith::MaximumFOp::create(builder, loc, a, b);
}
Value DeviceAttention::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}

Value DeviceAttention::exp(Value x) {
  if (!hasPowersOf2)
    return math::ExpOp::create(builder, loc, x);
  return LLVM::CallIntrinsicOp::create(
             builder, loc, type,
             builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
             mulF(x, constant(1 / std::log(2.0))))
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value DeviceAttention::emitIfElse(Value condition,
                                  llvm::function_ref<Value()> body,
                                  llvm::function_ref<Value()> otherwise) {
  return DeviceThread::emitIfElse(
             condition, [&] { return SmallVector<Value>{body()}; },
             [&] { return SmallVector<Value>{otherwise()}; })
      .front();
}

Value DeviceAttention::sumOver(int64_t threads, Value value, int64_t first) {
  for (int64_t distance = first; distance < threads; distance *= 2)
    value = addF(value, emitShuffle(builder, loc, value, distance));
  return value;
}

Value DeviceAttention::maxOver(int64_t threads, Value value, int64_t first) {
  for (int64_t distance = first; distance < threads; distance *= 2)
    value = maxF(value, emitShuffle(builder, loc, value, distance));
  return value;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value DeviceAttention::getAddress(Value value, Value inHead, Value column) {
  Layout layout = getAttentionLayout(op, value);
  std::optional<unsigned> buffer = getAttentionBuffer(kernel, layout);
  if (!buffer)
    return Value();
  Value ofValue = getShape(value)[1] == keyHeads ? keyHead : head;
  Value at =
      add(index(layout.offset), add(mul(row, layout.strides[0]),
                                    add(mul(ofValue, layout.strides[1]),
                                        mul(inHead, layout.strides[2]))));
  if (column)
    at = add(at, mul(column, layout.strides[3]));
  return getElement(buffers[*buffer], getElementTypeOrSelf(value), at);
}

Value DeviceAttention::getAddress(Value operand, ArrayRef<Value> indices,
                                  Type element) {
  Layout layout = getAttentionLayout(op, operand);
  Value at = index(layout.offset);
  for (auto [size, stride, number] :
       llvm::zip(layout.sizes, layout.strides, indices))
    if (size != 1 && stride != 0)
      at = add(at, mul(number, stride));
  return getElement(buffers[*getAttentionBuffer(kernel, layout)], element, at);
}

Value DeviceAttention::load(Value value, Value row, Value column) {
  Type element = getElementTypeOrSelf(value);
  Value loaded = LLVM::LoadOp::create(builder, loc, element,
                                      getAddress(value, row, column));
  return element == type
             ? loaded
             : arith::ExtFOp::create(builder, loc, type, loaded).getResult();
}

void DeviceAttention::store(Value stored, Value value, Value row,
                            Value column) {
  Value address = getAddress(value, row, column);
  if (!address)
    return;
  Type element = getElementTypeOrSelf(value);
  if (element != type)
    stored = arith::TruncFOp::create(builder, loc, element, stored);
  LLVM::StoreOp::create(builder, loc, stored, address);
}

Value DeviceAttention::loadIf(Value condition, Value value, Value row,
                              Value column) {
  return emitIfElse(
      condition, [&] { return load(value, row, column); },
      [&] { return constant(0); });
}
