//===- ThreadCode.cpp - What threads of a block do together ---------------===//

#include "ThreadCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

static constexpr int64_t kWarp = 32;

ThreadCode::ThreadCode(ElementPuller &puller)
    : threads(puller.kernel.getThreadsAttr()), puller(puller),
      builder(puller.builder), loc(puller.getLoc()) {
  auto read = [&](auto id) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                        id);
  };
  Type i32 = builder.getI32Type();
  tile = read(NVVM::BlockIdXOp::create(builder, loc, i32).getResult());
  thread = read(NVVM::ThreadIdXOp::create(builder, loc, i32).getResult());
  inRow = thread;
  if (threads.getPerRow() == threads.getCount())
    return;
  Value perRow = puller.constant(threads.getPerRow());
  inRow = arith::RemUIOp::create(builder, loc, thread, perRow);
  rowInTile = arith::DivUIOp::create(builder, loc, thread, perRow);
}

void ThreadCode::emitIf(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(builder, loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  body();
}

Value ThreadCode::isBelow(Value index, int64_t end) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, index,
                               puller.constant(end));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Returns the word, of 32 bits, of the thread whose number differs in the bit
/// `distance`.
Value ThreadCode::exchangeWord(Value word, int64_t distance) {
  Type i32 = builder.getI32Type();
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i32, value);
  };
  return NVVM::ShflOp::create(builder, loc, word.getType(), number(-1), word,
                              number(distance), number(kWarp - 1),
                              NVVM::ShflKind::bfly, UnitAttr());
}

Value ThreadCode::shuffle(Value value, int64_t distance) {
  Type type = value.getType(), i32 = builder.getI32Type();
  if (type.isF32() || type.isInteger(32))
    return exchangeWord(value, distance);
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 64) {
    // A long word is two, also for a GPU's shuffle.
    Type i64 = builder.getI64Type();
    Value all = type.isInteger()
                    ? value
                    : arith::BitcastOp::create(builder, loc, i64, value);
    Value half = arith::ConstantIntOp::create(builder, loc, i64, 32);
    Value low = arith::TruncIOp::create(builder, loc, i32, all);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, all, half));
    auto widen = [&](Value word) -> Value {
      return arith::ExtUIOp::create(builder, loc, i64,
                                    exchangeWord(word, distance));
    };
    Value joined = arith::OrIOp::create(
        builder, loc, widen(low),
        arith::ShLIOp::create(builder, loc, widen(high), half));
    return type.isInteger()
               ? joined
               : arith::BitcastOp::create(builder, loc, type, joined);
  }
  Value word =
      exchangeWord(arith::ExtUIOp::create(builder, loc, i32, value), distance);
  return arith::TruncIOp::create(builder, loc, type, word);
}

Value ThreadCode::allocatePerWarp(Type element) {
  auto function = builder.getInsertionBlock()
                      ->getParent()
                      ->getParentOfType<LLVM::LLVMFuncOp>();
  int64_t warps = threads.getCount() / kWarp;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(function);
  unsigned number = 0;
  auto module = function->getParentOfType<ModuleOp>();
  std::string name;
  do
    name = (function.getSymName() + "_warps" + Twine(number++)).str();
  while (module.lookupSymbol(name));
  constexpr auto kShared = static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared);
  auto global = LLVM::GlobalOp::create(
      builder, loc, LLVM::LLVMArrayType::get(element, warps),
      /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
      /*alignment=*/16, kShared);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void ThreadCode::combineOverRow(ArrayRef<ReduceOp> reductions,
                                MutableArrayRef<Value> sums) {
  int64_t perRow = threads.getPerRow();
  for (auto [reduce, sum] : llvm::zip(reductions, sums))
    for (int64_t distance = 1; distance < std::min(perRow, kWarp);
         distance *= 2)
      sum = combine(builder, reduce, sum, shuffle(sum, distance));
  if (perRow <= kWarp)
    return;

  // The block is one row: its warps meet in shared memory.
  Value warp =
      arith::DivUIOp::create(builder, loc, thread, puller.constant(kWarp));
  Value isFirst = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      arith::RemUIOp::create(builder, loc, thread, puller.constant(kWarp)),
      puller.constant(0));
  SmallVector<Value> shared;
  for (Value sum : sums)
    shared.push_back(allocatePerWarp(sum.getType()));
  emitIf(isFirst, [&] {
    for (auto [sum, memory] : llvm::zip(sums, shared))
      LLVM::StoreOp::create(builder, loc, sum,
                            puller.address(memory, sum.getType(), warp));
  });
  NVVM::Barrier0Op::create(builder, loc);
  for (auto [reduce, sum, memory] : llvm::zip(reductions, sums, shared)) {
    Type type = sum.getType();
    SmallVector<Value> parts;
    for (int64_t i = 0; i < perRow / kWarp; ++i)
      parts.push_back(LLVM::LoadOp::create(
          builder, loc, type,
          puller.address(memory, type, puller.constant(i))));
    sum = combineTree(builder, reduce, parts);
  }
}
