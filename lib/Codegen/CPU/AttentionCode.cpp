//===- AttentionCode.cpp - Shared code of attention kernels ---------------===//

#include "EmitAttention.h"

#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/Shapes.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace mlir::pp;

AttentionCode::AttentionCode(OpBuilder &builder, KernelOp kernel,
                             ValueRange buffers, int64_t vectorBytes)
    : BlockCode(builder, getAttention(kernel).getLoc(),
                getStatisticsType(
                    getElementTypeOrSelf(getAttention(kernel)->getOperand(0))),
                vectorBytes),
      AttentionShape(getAttention(kernel).getAttentionShape()),
      op(getAttention(kernel)), tiles(kernel.getTilesAttr()),
      unit(type.isF64() ? 1 : std::log(2.0)), kernel(kernel), buffers(buffers) {
}

PackedMatrix AttentionCode::allocate(int64_t rows, int64_t columns) {
  OpBuilder::InsertionGuard guard(builder);
  Block &entry = builder.getBlock()->getParent()->front();
  builder.setInsertionPointToStart(&entry);
  int64_t stride = pad(columns);
  Value count = LLVM::ConstantOp::create(builder, loc, builder.getI64Type(),
                                         rows * stride);
  Value pointer = LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), type,
      count, kBufferAlignment);
  return {pointer, stride};
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

/// Returns the address of [batch, head, row, 0]; nothing if the value is not
/// returned.
Value AttentionCode::addressOf(Value value, Value row, Layout &layout) {
  layout = getAttentionLayout(op, value);
  Value buffer = getBuffer(layout);
  if (!buffer)
    return Value();
  Value offset =
      add(index(layout.offset), add(mul(currentBatch, layout.strides[0]),
                                    add(mul(currentHead, layout.strides[1]),
                                        mul(row, layout.strides[2]))));
  return address(buffer, getElementTypeOrSelf(value), offset);
}

std::optional<StridedMatrix> AttentionCode::getMatrix(Value value, Value row) {
  Layout layout;
  Value pointer = addressOf(value, row, layout);
  if (!pointer)
    return std::nullopt;
  return StridedMatrix{pointer, getElementTypeOrSelf(value), layout.strides[2],
                       layout.sizes[3]};
}

Value AttentionCode::loadStatistic(Value value, Value row) {
  Layout layout;
  return loadScalar(addressOf(value, row, layout));
}

void AttentionCode::storeStatistic(Value element, Value value, Value row) {
  Layout layout;
  if (Value pointer = addressOf(value, row, layout))
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

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value AttentionCode::countSeen(Value query, Value key, Value count) {
  if (!isCausal)
    return count;
  return max(index(0), min(count, sub(add(query, 1), key)));
}

Value AttentionCode::select(Value seen, Value column, Value value,
                            double outside) {
  Value bound = arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                           sub(seen, column));
  Value isSeen = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       lanes(), broadcast(bound));
  return arith::SelectOp::create(builder, loc, isSeen, value, splat(outside));
}

Value AttentionCode::exp(Value x) {
  return type.isF64() ? math::ExpOp::create(builder, loc, x).getResult()
                      : exp2(x);
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
