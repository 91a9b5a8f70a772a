//===- PlanKernels.cpp - Decides tiles and lanes of kernels for a CPU -----===//
//
// Before: kernels with a form, a space and sweeps. After: the same with tiles,
// and reductions over rows with lanes, which emitters follow:
//
//   pp.kernel @k(...) attributes {form = #pp.form<rows 7x33>,
//                                 tiles = #pp.tiles<7 of 1 rows>} {
//     pp.reduce sum %x [1] {pp.lanes = 32 : i64, pp.sweep = 0 : i64}
//
//===----------------------------------------------------------------------===//

#include "AttentionBlocks.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/CPU/Passes.h"
#include "ppopt/Codegen/KernelSpace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::pp {
#define GEN_PASS_DEF_PLANKERNELS
#include "ppopt/Codegen/CPU/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns a power of two: four registers of 64 bytes, or as many as divide the
/// row.
static int64_t countLanes(KernelOp kernel, ReduceOp reduce) {
  int64_t columns = kernel.getFormAttr().getColumns();
  Type type = getStatisticsType(getElementTypeOrSelf(reduce.getX()));
  int64_t lanes = getThreshold(kernel, Threshold::SumLanes);
  if (lanes == 0)
    lanes = std::max<int64_t>(1, 2048 / type.getIntOrFloatBitWidth());
  lanes = llvm::bit_floor(uint64_t(std::min(lanes, columns)));
  constexpr int64_t kFewest = 16, kShortRow = 8;
  if (columns % lanes != 0 && columns < kShortRow * lanes)
    for (int64_t fewer = lanes / 2; fewer >= kFewest; fewer /= 2)
      if (columns % fewer == 0)
        return fewer;
  return lanes;
}

/// Returns the number of columns of a tile of columns.
static int64_t getTileColumns(int64_t columns, int64_t most) {
  // Loops of constant length become straight-line vector code.
  for (int64_t quarters : {4, 3, 2, 1})
    if (int64_t width = most * quarters / 4; width && columns % width == 0)
      return width;
  return std::min(columns, most);
}

namespace {

struct PlanKernelsPass : pp::impl::PlanKernelsBase<PlanKernelsPass> {
  using PlanKernelsBase::PlanKernelsBase;

  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getFormAttr()) {
      kernel.emitOpError("has no form; run --pp-form-kernels first");
      return signalPassFailure();
    }
    kernel.setTilesAttr(plan(kernel));
  }

private:
  TilesAttr plan(KernelOp kernel) {
    switch (kernel.getFormAttr().getKind()) {
    case KernelForm::Rows:
      return planRows(kernel);
    case KernelForm::Columns:
    case KernelForm::Scatter:
      return planColumns(kernel);
    case KernelForm::Attention:
    case KernelForm::AttentionStep:
    case KernelForm::AttentionGrad:
      return planAttention(kernel, vectorBytes);
    }
    llvm_unreachable("every form has tiles");
  }

  TilesAttr makeTiles(int64_t count, int64_t size, TileUnit unit) {
    return TilesAttr::get(&getContext(), count, size, unit, /*block=*/0);
  }

  TilesAttr planRows(KernelOp kernel) {
    Block &body = kernel.getBody().front();
    FormAttr form = kernel.getFormAttr();
    for (auto reduce : body.getOps<ReduceOp>())
      kernel.setLanes(reduce, countLanes(kernel, reduce));
    int64_t size = getThreshold(kernel, Threshold::FlatTile);
    bool isOneSweep =
        body.getOps<ReduceOp>().empty() &&
        llvm::all_of(body.getTerminator()->getOperands(),
                     [&](Value value) { return kernel.isFull(value); });
    if (isOneSweep && isFlatRange(kernel))
      return makeTiles(llvm::divideCeil(form.getNumElements(), size), size,
                       TileUnit::Elements);
    if (isOneSweep && form.getColumns() > 2 * size)
      return makeTiles(form.getRows() *
                           llvm::divideCeil(form.getColumns(), size),
                       size, TileUnit::Columns);
    return makeTiles(form.getRows(), 1, TileUnit::Rows);
  }

  /// Each element of what columns are reduced to, or of a table, is computed
  /// by one tile.
  TilesAttr planColumns(KernelOp kernel) {
    int64_t columns = kernel.getFormAttr().getColumns(), rows = 1;
    for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
      rows = getNumElements(reduce.getResult()) / columns;
    int64_t size =
        getTileColumns(columns, getThreshold(kernel, Threshold::ColumnTile));
    return makeTiles(rows * llvm::divideCeil(columns, size), size,
                     TileUnit::Columns);
  }
};

} // namespace
