//===- PlanKernels.cpp - Decides tiles, threads and lanes for a GPU -------===//
//
// Before: kernels with a form, a space and sweeps. After: the same with tiles
// and threads, and reductions over rows with lanes, which emitters follow:
//
//   pp.kernel @k(...) attributes {form = #pp.form<rows 9x768>,
//                                 threads = #pp.threads<256, 32 per row, 8
//                                 each>, tiles = #pp.tiles<2 of 8 rows>} {
//     pp.reduce sum %x [1] {pp.lanes = 256 : i64, pp.sweep = 0 : i64}
//
//===----------------------------------------------------------------------===//

#include "AttentionTile.h"
#include "Shuffle.h"
#include "VectorAccess.h"
#include "WarpTile.h"

#include "ppopt/Analysis/Thresholds.h"
#include "ppopt/Codegen/CUDA/Passes.h"
#include "ppopt/Codegen/KernelSpace.h"
#include "ppopt/Dialect/PP/TypeSizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

namespace mlir::pp {
#define GEN_PASS_DEF_PLANCUDAKERNELS
#include "ppopt/Codegen/CUDA/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

static constexpr int64_t kMostThreads = 1024;

/// Returns the shared memory that a block may have: that of sm_80, whose code
/// runs on later GPUs, unless the plan is for one that has less.
static int64_t getMostSharedBytes(KernelOp kernel) {
  for (auto plan : kernel->getParentOfType<ModuleOp>().getOps<PlanOp>())
    if (llvm::is_contained({"sm_86", "sm_88", "sm_89", "sm_120", "sm_121"},
                           plan.getTarget().getGpu().rtrim("af")))
      return 99 * 1024;
  return 163 * 1024;
}

namespace {

struct PlanCudaKernelsPass
    : pp::impl::PlanCudaKernelsBase<PlanCudaKernelsPass> {
  void runOnOperation() override {
    KernelOp kernel = getOperation();
    if (!kernel.getFormAttr()) {
      kernel.emitOpError("has no form; run --pp-form-kernels first");
      return signalPassFailure();
    }
    if (failed(plan(kernel)))
      signalPassFailure();
  }

private:
  LogicalResult plan(KernelOp kernel) {
    switch (kernel.getFormAttr().getKind()) {
    case KernelForm::Rows:
      planRows(kernel);
      return success();
    case KernelForm::Columns:
      planColumns(kernel);
      return success();
    case KernelForm::Scatter:
      planScatter(kernel);
      return success();
    case KernelForm::Attention:
    case KernelForm::AttentionGrad:
      return planAttention(kernel);
    case KernelForm::AttentionStep:
      planAttentionStep(kernel);
      return success();
    }
    llvm_unreachable("every form has tiles");
  }

  void set(KernelOp kernel, int64_t tiles, int64_t size, TileUnit unit,
           int64_t threads, int64_t perRow, int64_t each, int64_t block = 0) {
    kernel.setTilesAttr(
        TilesAttr::get(&getContext(), tiles, size, unit, block));
    kernel.setThreadsAttr(
        ThreadsAttr::get(&getContext(), threads, perRow, each, /*shared=*/0));
  }

  /// The threads of a block, of which `work` suffice; `times` as many as usual.
  int64_t countThreads(KernelOp kernel, int64_t work, int64_t times = 1) {
    int64_t most = llvm::bit_floor(uint64_t(std::min(
        times * getThreshold(kernel, Threshold::GpuThreads), kMostThreads)));
    return std::clamp<int64_t>(llvm::PowerOf2Ceil(work), kWarp, most);
  }

  /// The most neighbouring elements that a thread takes.
  int64_t getMostEach(KernelOp kernel) {
    return llvm::bit_floor(uint64_t(getThreshold(kernel, Threshold::GpuEach)));
  }

  /// The neighbouring elements that a thread takes: a power of two that divides
  /// the row, so that vectors are aligned and none is part of two rows.
  int64_t countEach(KernelOp kernel, int64_t columns) {
    int64_t each = getMostEach(kernel);
    while (columns % each != 0)
      each /= 2;
    return each;
  }

  /// Of long rows, most are padded, and the last of their elements are fewer.
  /// The order of a sum must not depend on whether they are, so it is the same
  /// for all.
  int64_t countEachOfRow(KernelOp kernel) {
    int64_t columns = kernel.getFormAttr().getColumns();
    bool isLong = columns >= getThreshold(kernel, Threshold::GpuPitchColumns);
    bool hasReductions = !kernel.getBody().front().getOps<ReduceOp>().empty();
    if ((isLong && hasReductions) || hasAlignedRows(kernel))
      return getMostEach(kernel);
    return countEach(kernel, columns);
  }

  /// Returns whether a kernel has padded rows, and none that begin between
  /// vectors.
  static bool hasAlignedRows(KernelOp kernel) {
    Block &body = kernel.getBody().front();
    SmallVector<Value> values(body.getArguments());
    llvm::append_range(values, body.getTerminator()->getOperands());
    for (auto [i, value] : llvm::enumerate(values)) {
      int64_t element = getElementBytes(getElementTypeOrSelf(value));
      int64_t row = kernel.getFormAttr().getColumns() * element;
      if (kernel.isFull(value) && !kernel.getPitch(i) &&
          row % kVectorBytes != 0)
        return false;
    }
    return kernel.hasPitch();
  }

  void planRows(KernelOp kernel) {
    Block &body = kernel.getBody().front();
    FormAttr form = kernel.getFormAttr();
    int64_t columns = form.getColumns(), rows = form.getRows();
    bool isOneSweep =
        body.getOps<ReduceOp>().empty() &&
        llvm::all_of(body.getTerminator()->getOperands(),
                     [&](Value value) { return kernel.isFull(value); });
    if (isOneSweep && !kernel.hasPitch() && isFlatRange(kernel))
      return planFlat(kernel, form.getNumElements());
    int64_t each = countEachOfRow(kernel);
    bool isShort = columns <= getThreshold(kernel, Threshold::GpuWarpColumns);
    int64_t work = llvm::divideCeil(columns, each);
    if (isOneSweep && !isShort) {
      // Parts of long rows need not wait for each other.
      int64_t threads = countThreads(kernel, work);
      set(kernel, rows * llvm::divideCeil(columns, threads * each),
          threads * each, TileUnit::Columns, threads, threads, each);
      return;
    }
    int64_t perRow = isShort
                         ? std::min<int64_t>(llvm::PowerOf2Ceil(work), kWarp)
                         : countThreads(kernel, work);
    int64_t threads = isShort ? countThreads(kernel, rows * perRow) : perRow;
    for (auto reduce : body.getOps<ReduceOp>())
      kernel.setLanes(reduce, perRow * each);
    set(kernel, llvm::divideCeil(rows, threads / perRow), threads / perRow,
        TileUnit::Rows, threads, perRow, each);
  }

  LogicalResult planAttention(KernelOp kernel) {
    if (usesTensorCores(kernel)) {
      WarpTile tile = chooseWarpTile(kernel);
      // Four threads have a row of a product, each two neighbours.
      return setAttention(kernel, tile.rows, tile.columns,
                          {tile.getThreads(), 4, 2, tile.sharedBytes});
    }
    AttentionTile tile = chooseAttentionTile(kernel);
    return setAttention(
        kernel, tile.queries, tile.keys,
        {kAttentionThreads, kAttentionColumns, 1, tile.sharedBytes});
  }

  /// `threads`: the parameters of the attribute.
  LogicalResult setAttention(KernelOp kernel, int64_t queries, int64_t keys,
                             std::array<int64_t, 4> threads) {
    auto [count, perRow, each, shared] = threads;
    if (int64_t most = getMostSharedBytes(kernel); shared > most)
      return kernel.emitOpError("needs ")
             << shared << " bytes of shared memory, of which a GPU's block has "
             << most << "; use narrower heads";
    AttentionShape shape(getAttention(kernel));
    int64_t parts = llvm::divideCeil(shape.queries, queries);
    if (kernel.getFormAttr().getKind() == KernelForm::AttentionGrad)
      parts += llvm::divideCeil(shape.keys, keys);
    kernel.setTilesAttr(TilesAttr::get(&getContext(),
                                       shape.batch * shape.heads * parts,
                                       queries, TileUnit::Queries, keys));
    kernel.setThreadsAttr(
        ThreadsAttr::get(&getContext(), count, perRow, each, shared));
    return success();
  }

  /// A block has a head. A row of a cache is shared by few threads of a warp,
  /// so that each loads neighbours; the others have other rows.
  void planAttentionStep(KernelOp kernel) {
    AttentionShape shape(getAttention(kernel));
    int64_t each =
        countEach(kernel, std::gcd(shape.queryWidth, shape.valueWidth));
    int64_t width = std::max(shape.queryWidth, shape.valueWidth);
    int64_t perRow = std::min<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(width, each)), kWarp);
    // Rows that a thread takes at a time are in registers.
    constexpr int64_t kMostKeys = 16, kMostColumns = 32;
    int64_t keys = std::clamp<int64_t>(
        kMostColumns / llvm::divideCeil(width, perRow), 1,
        std::min(getThreshold(kernel, Threshold::GpuStepKeys), kMostKeys));
    int64_t threads =
        countThreads(kernel, perRow * llvm::divideCeil(shape.keys, keys), 2);
    // Warps meet in shared memory; one needs none.
    Type type = getStatisticsType(
        getElementTypeOrSelf(getAttention(kernel)->getOperand(0)));
    auto getShared = [&] {
      return threads == kWarp ? 0
                              : threads / kWarp * (2 + shape.valueWidth) *
                                    getElementBytes(type);
    };
    while (getShared() > getThreshold(kernel, Threshold::GpuSharedBytes))
      threads /= 2;
    kernel.setTilesAttr(TilesAttr::get(&getContext(), shape.batch * shape.heads,
                                       /*size=*/1, TileUnit::Heads,
                                       threads / perRow * keys));
    kernel.setThreadsAttr(
        ThreadsAttr::get(&getContext(), threads, perRow, each, getShared()));
  }

  void planFlat(KernelOp kernel, int64_t elements) {
    int64_t each = countEach(kernel, elements);
    int64_t threads = countThreads(kernel, elements / each);
    set(kernel, llvm::divideCeil(elements, threads * each), threads * each,
        TileUnit::Elements, threads, threads, each);
  }

  /// A block has few columns, a sector of memory wide, so that many blocks
  /// share the rows; a thread has every n-th row of a column.
  void planColumns(KernelOp kernel) {
    int64_t columns = kernel.getFormAttr().getColumns(), kept = 1;
    for (auto reduce : kernel.getBody().front().getOps<ReduceOp>())
      kept = getNumElements(reduce.getResult()) / columns;
    int64_t perRow = std::min<int64_t>(
        {static_cast<int64_t>(llvm::bit_floor(
             uint64_t(getThreshold(kernel, Threshold::GpuColumns)))),
         static_cast<int64_t>(llvm::PowerOf2Ceil(columns)), kWarp});
    constexpr int64_t kFewestRows = 4; // of a thread
    int64_t rows = kernel.getFormAttr().getRows() / kept;
    int64_t threads =
        countThreads(kernel, perRow * llvm::divideCeil(rows, kFewestRows), 2);
    set(kernel, kept * llvm::divideCeil(columns, perRow), perRow,
        TileUnit::Columns, threads, perRow, /*each=*/1);
  }

  /// A thread adds to one column of some rows of the table, and skips the ids
  /// of other rows.
  void planScatter(KernelOp kernel) {
    int64_t columns = kernel.getFormAttr().getColumns();
    int64_t threads = countThreads(kernel, columns);
    auto scatters = kernel.getBody().front().getOps<EmbeddingGradOp>();
    int64_t tableRows = getShape((*scatters.begin()).getResult()).front();
    int64_t block =
        std::min(tableRows, getThreshold(kernel, Threshold::GpuTableRows));
    set(kernel,
        llvm::divideCeil(columns, threads) * llvm::divideCeil(tableRows, block),
        threads, TileUnit::Columns, threads, threads, /*each=*/1, block);
  }
};

} // namespace
