//===- DeviceThread.cpp - What a thread of a block emits ------------------===//

#include "DeviceThread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the memory that a launch gives to a block.
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

DeviceThread::DeviceThread(OpBuilder &builder, Location loc)
    : builder(builder), loc(loc) {
  shared = getSharedMemory(builder, loc);
  Value number = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  thread = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        number);
}

Value DeviceThread::getBlock() {
  Value number = NVVM::BlockIdXOp::create(builder, loc, builder.getI32Type());
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      number);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value DeviceThread::index(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}
Value DeviceThread::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(loc, a, b);
}
Value DeviceThread::sub(Value a, Value b) {
  return builder.createOrFold<arith::SubIOp>(loc, a, b);
}
Value DeviceThread::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(loc, a, b);
}
Value DeviceThread::mul(Value a, int64_t b) { return mul(a, index(b)); }
Value DeviceThread::div(Value a, int64_t b) {
  return builder.createOrFold<arith::DivUIOp>(loc, a, index(b));
}
Value DeviceThread::rem(Value a, int64_t b) {
  return builder.createOrFold<arith::RemUIOp>(loc, a, index(b));
}
Value DeviceThread::min(Value a, Value b) {
  return builder.createOrFold<arith::MinUIOp>(loc, a, b);
}
Value DeviceThread::max(Value a, Value b) {
  return builder.createOrFold<arith::MaxUIOp>(loc, a, b);
}
Value DeviceThread::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
}
Value DeviceThread::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return arith::AndIOp::create(builder, loc, a, b);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

SmallVector<Value> DeviceThread::loop(
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

void DeviceThread::emitIf(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

SmallVector<Value>
DeviceThread::emitIfElse(Value condition,
                         llvm::function_ref<SmallVector<Value>()> body,
                         llvm::function_ref<SmallVector<Value>()> otherwise) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, body());
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, otherwise());
      });
  return SmallVector<Value>(branch.getResults());
}

void DeviceThread::synchronizeBlock() {
  NVVM::Barrier0Op::create(builder, loc);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value DeviceThread::getElement(Value memory, Type element, Value number) {
  Value at =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  return LLVM::GEPOp::create(builder, loc, memory.getType(), element, memory,
                             ArrayRef<LLVM::GEPArg>{at},
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value DeviceThread::load(Value memory, Type element, Value number) {
  return LLVM::LoadOp::create(builder, loc, element,
                              getElement(memory, element, number));
}
