//===- ThreadCode.cpp - What threads of a block do together ---------------===//

#include "ThreadCode.h"
#include "ppopt/Dialect/PP/ModelOps.h"

#include "Shuffle.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::pp;

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

void ThreadCode::leaveOtherRows() {
  int64_t perRow = threads.getPerRow();
  if (perRow >= kWarp)
    return;
  // The bits of the row's threads, from that of its first.
  Value lane =
      arith::RemUIOp::create(builder, loc, thread, puller.constant(kWarp));
  Value first = arith::SubIOp::create(
      builder, loc, lane,
      arith::RemUIOp::create(builder, loc, lane, puller.constant(perRow)));
  Type i32 = builder.getI32Type();
  Value bits = arith::ConstantIntOp::create(builder, loc, i32,
                                            (int64_t(1) << perRow) - 1);
  mask = arith::ShLIOp::create(
      builder, loc, bits,
      arith::IndexCastUIOp::create(builder, loc, i32, first));
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

Value ThreadCode::allocatePerWarp(Type element, int64_t count) {
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
      builder, loc, LLVM::LLVMArrayType::get(element, count * warps),
      /*isConstant=*/false, LLVM::Linkage::Internal, name, Attribute(),
      /*alignment=*/16, kShared);
  builder.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AddressOfOp::create(builder, loc, global);
}

void ThreadCode::combineOver(int64_t begin, int64_t end,
                             ArrayRef<ReduceOp> reductions,
                             MutableArrayRef<Value> sums) {
  if (begin == end)
    return;
  for (auto [reduce, sum] : llvm::zip(reductions, sums))
    for (int64_t distance = begin; distance < std::min(end, kWarp);
         distance *= 2)
      sum = combine(builder, reduce, sum,
                    emitShuffle(builder, loc, sum, distance, mask));
  if (end <= kWarp)
    return;

  // The warps of the block meet in shared memory, where each has one element
  // for each of its first threads.
  Value count = puller.constant(kWarp);
  Value warp = arith::DivUIOp::create(builder, loc, thread, count);
  Value lane = arith::RemUIOp::create(builder, loc, thread, count);
  Value isFirst = isBelow(lane, begin);
  Value rest =
      arith::RemUIOp::create(builder, loc, thread, puller.constant(begin));
  SmallVector<Value> shared;
  for (Value sum : sums)
    shared.push_back(allocatePerWarp(sum.getType(), begin));
  emitIf(isFirst, [&] {
    for (auto [sum, memory] : llvm::zip(sums, shared))
      LLVM::StoreOp::create(
          builder, loc, sum,
          puller.address(memory, sum.getType(),
                         puller.add(puller.mul(warp, begin), lane)));
  });
  NVVM::Barrier0Op::create(builder, loc);
  for (auto [reduce, sum, memory] : llvm::zip(reductions, sums, shared)) {
    Type type = sum.getType();
    SmallVector<Value> parts;
    for (int64_t i = 0; i < end / kWarp; ++i)
      parts.push_back(LLVM::LoadOp::create(
          builder, loc, type,
          puller.address(memory, type,
                         puller.add(puller.constant(i * begin), rest))));
    sum = combineTree(builder, reduce, parts);
  }
}
