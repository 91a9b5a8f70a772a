//===- AttentionCode.cpp - Shared code of attention kernels ---------------===//

#include "EmitAttention.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

using namespace mlir;
using namespace mlir::pp;

AttentionCode::AttentionCode(OpBuilder &builder, KernelOp kernel,
                             ValueRange buffers, int64_t vectorBytes)
    : BlockCode(builder, getAttention(kernel).getLoc(),
                getStatisticsType(
                    getElementTypeOrSelf(getAttention(kernel)->getOperand(0))),
                vectorBytes),
      AttentionShape(getAttention(kernel).getAttentionShape()),
      op(getAttention(kernel)), tiles(kernel.getTilesAttr()), kernel(kernel),
      buffers(buffers) {}

Value AttentionCode::allocateElements(int64_t count, Type element) {
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = builder.getBlock()->getParent()->front();
  builder.setInsertionPointToStart(&entry);
  Value size =
      LLVM::ConstantOp::create(builder, loc, builder.getI64Type(), count);
  return LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), element,
      size, kBufferAlignment);
}

PackedMatrix AttentionCode::allocate(int64_t rows, int64_t columns) {
  int64_t stride = pad(columns);
  return {allocateElements(rows * stride, type), stride};
}

void AttentionCode::setHead(Value head) {
  currentBatch = divideDown(head, heads);
  currentHead = sub(head, mul(currentBatch, heads));
  currentKeyHead =
      groupSize() == 1 ? currentHead : divideDown(currentHead, groupSize());
}

void AttentionCode::setHead(Value keyHead, Value member) {
  currentBatch = divideDown(keyHead, keyHeads);
  currentKeyHead = sub(keyHead, mul(currentBatch, keyHeads));
  currentHead = add(mul(currentKeyHead, groupSize()), member);
}

//===----------------------------------------------------------------------===//
// Operands and results
//===----------------------------------------------------------------------===//

/// Returns the pointer of an argument of the kernel, or of a value that it
/// returns.
Value AttentionCode::getBuffer(const Layout &layout) {
  std::optional<unsigned> number = getAttentionBuffer(kernel, layout);
  return number ? buffers[*number] : Value();
}

Type pp::getElementInMemory(Value operand) {
  Type type = getElementTypeOrSelf(operand);
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

/// Returns the address of [at, 0]; nothing if the value is not returned. A
/// dimension of size 1 has one index.
Value AttentionCode::addressOf(Value value, ValueRange at, Layout &layout) {
  layout = getAttentionLayout(op, value);
  Value buffer = getBuffer(layout);
  if (!buffer)
    return Value();
  Value offset = index(layout.offset);
  for (auto [i, number] : llvm::enumerate(at))
    if (layout.sizes[i] != 1)
      offset = add(offset, mul(number, layout.strides[i]));
  return address(buffer, getElementInMemory(value), offset);
}

/// Returns the address of a row of the current heads.
Value AttentionCode::addressOfRow(Value value, Value row, Layout &layout) {
  bool isOfQueries = getShape(value)[1] == heads;
  return addressOf(
      value, {currentBatch, isOfQueries ? currentHead : currentKeyHead, row},
      layout);
}

std::optional<StridedMatrix> AttentionCode::getMatrix(Value value, Value row) {
  Layout layout;
  Value pointer = addressOfRow(value, row, layout);
  if (!pointer)
    return std::nullopt;
  return StridedMatrix{pointer, getElementInMemory(value), layout.strides[2],
                       layout.sizes[3]};
}

Value AttentionCode::addressOfPart(Value lse, Value row, int64_t part) {
  Layout layout;
  return addressOf(lse, {currentBatch, currentHead, row, index(part)}, layout);
}

Value AttentionCode::loadPart(Value lse, Value row, int64_t part) {
  return loadScalar(addressOfPart(lse, row, part));
}

void AttentionCode::storePart(Value element, Value lse, Value row,
                              int64_t part) {
  if (Value pointer = addressOfPart(lse, row, part))
    storeScalar(element, pointer);
}

Value AttentionCode::loadPosition(Value operand) {
  Layout layout = getAttentionLayout(op, operand);
  Type i64 = builder.getI64Type();
  Value pointer = address(getBuffer(layout), i64, index(layout.offset));
  return arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(),
      LLVM::LoadOp::create(builder, loc, i64, pointer));
}

Value AttentionCode::loadNumber(Value operand, Value at) {
  Layout layout;
  Value pointer = addressOf(operand, at, layout);
  Type element = getElementInMemory(operand);
  Value number = LLVM::LoadOp::create(builder, loc, element, pointer);
  return element == type
             ? number
             : arith::ExtFOp::create(builder, loc, type, number).getResult();
}

Value AttentionCode::addressOfToken(Value operand, Value token) {
  Layout layout;
  return addressOf(operand, {currentBatch, token}, layout);
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

TilesAttr CpuAttentionForm::plan(KernelOp kernel, int64_t vectorBytes) const {
  return planTiles(AttentionPlanner(kernel, vectorBytes));
}

LogicalResult CpuAttentionForm::check(KernelOp kernel,
                                      int64_t vectorBytes) const {
  Type type = getStatisticsType(
      getElementTypeOrSelf(getAttention(kernel)->getOperand(0)));
  int64_t width = vectorBytes * 8 / type.getIntOrFloatBitWidth();
  TilesAttr tiles = kernel.getTilesAttr();
  bool isOfQueries = tiles.getUnit() == TileUnit::Queries;
  if (isOfQueries && tiles.getSize() % kStripRows != 0)
    return kernel.emitOpError("has tiles of ")
           << tiles.getSize() << " queries, not a multiple of " << kStripRows;
  if (tiles.getBlock() == 0 || tiles.getBlock() % width != 0)
    return kernel.emitOpError("has blocks of ")
           << tiles.getBlock() << " keys, not a multiple of the " << width
           << " elements of a vector; plan and emit kernels with the same "
              "vector-bytes";
  return success();
}

void CpuAttentionForm::emit(OpBuilder &builder, KernelOp kernel,
                            ValueRange buffers, int64_t vectorBytes,
                            Value begin, Value end) const {
  AttentionCode code(builder, kernel, buffers, vectorBytes);
  emitTiles(code, begin, end);
}
