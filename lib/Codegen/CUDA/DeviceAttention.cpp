//===- DeviceAttention.cpp - What a GPU's attention emits -----------------===//

#include "DeviceAttention.h"

#include "Shuffle.h"
#include "ppopt/Dialect/PP/Shapes.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

/// Returns the memory that a launch gives to a block, whose size the kernel's
/// `threads` say.
static Value getSharedMemory(OpBuilder &builder, Location loc) {
  auto module =
      builder.getInsertionBlock()->getParent()->getParentOfType<ModuleOp>();
  constexpr StringLiteral kName = "ppopt_shared";
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!global) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(module.getBody());
    global = LLVM::GlobalOp::create(
        builder, loc, LLVM::LLVMArrayType::get(builder.getI8Type(), 0),
        /*isConstant=*/false, LLVM::Linkage::External, kName, Attribute(),
        /*alignment=*/16, static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared));
  }
  return LLVM::AddressOfOp::create(builder, loc, global);
}

DeviceAttention::DeviceAttention(OpBuilder &builder, KernelOp kernel,
                                 ValueRange buffers)
    : AttentionShape(getAttention(kernel)), builder(builder), kernel(kernel),
      op(getAttention(kernel)), loc(op->getLoc()),
      type(getStatisticsType(getElementTypeOrSelf(op->getOperand(0)))),
      unit(type.isF64() ? 1 : std::log(2.0)), buffers(buffers) {
  shared = getSharedMemory(builder, loc);
  Type i32 = builder.getI32Type();
  thread = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(),
      NVVM::ThreadIdXOp::create(builder, loc, i32).getResult());
}

void DeviceAttention::setPart(int64_t parts) {
  Value number = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(),
      NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type()).getResult());
  auto split = [&](int64_t size) {
    Value count = index(size);
    Value rest = arith::RemUIOp::create(builder, loc, number, count);
    number = arith::DivUIOp::create(builder, loc, number, count);
    return rest;
  };
  part = split(parts);
  head = split(heads);
  row = number;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value DeviceAttention::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value DeviceAttention::constant(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}
Value DeviceAttention::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value DeviceAttention::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value DeviceAttention::mul(Value a, int64_t b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, index(b));
}
Value DeviceAttention::div(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, index(b));
}
Value DeviceAttention::rem(Value a, int64_t b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, index(b));
}
Value DeviceAttention::min(Value a, Value b) {
  return arith::MinUIOp::create(builder, loc, a, b);
}
Value DeviceAttention::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}
Value DeviceAttention::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
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
  if (type.isF64())
    return math::ExpOp::create(builder, loc, x);
  return LLVM::CallIntrinsicOp::create(
             builder, loc, type,
             builder.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"), x)
      .getResult(0);
}

Value DeviceAttention::log(Value x) {
  return mulF(math::LogOp::create(builder, loc, x), constant(1 / unit));
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

SmallVector<Value> DeviceAttention::loop(
    Value begin, Value end, int64_t step, ValueRange values,
    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(step), values);
  OpBuilder::InsertionGuard guard(builder);
  if (values.empty())
    loop.getBody()->clear();
  builder.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(builder, loc,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return SmallVector<Value>(loop.getResults());
}

void DeviceAttention::emitIf(Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value DeviceAttention::emitIfElse(Value condition,
                                  llvm::function_ref<Value()> body,
                                  llvm::function_ref<Value()> otherwise) {
  if (!condition)
    return body();
  // Its type is that of what it returns.
  Value fallback = otherwise();
  auto branch = scf::IfOp::create(builder, loc, fallback.getType(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, body());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, fallback);
  return branch.getResult(0);
}

void DeviceAttention::synchronizeBlock() {
  NVVM::Barrier0Op::create(builder, loc);
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

Value DeviceAttention::getElement(Value memory, Type element, Value number) {
  Value wide =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  return LLVM::GEPOp::create(builder, loc, memory.getType(), element, memory,
                             ArrayRef<LLVM::GEPArg>{wide},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value DeviceAttention::getAddress(Value value, Value inHead, Value column) {
  Layout layout = getAttentionLayout(op, value);
  std::optional<unsigned> buffer = getAttentionBuffer(kernel, layout);
  if (!buffer)
    return Value();
  Value at = add(
      index(layout.offset),
      add(mul(row, layout.strides[0]),
          add(mul(head, layout.strides[1]), mul(inHead, layout.strides[2]))));
  if (column)
    at = add(at, mul(column, layout.strides[3]));
  return getElement(buffers[*buffer], getElementTypeOrSelf(value), at);
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
