//===- CudaAttentionForm.cpp - Attention by tiles of queries and keys -----===//

#include "CudaAttentionForm.h"

using namespace mlir;
using namespace mlir::pp;

/// Returns the shared memory that a block may have: that of sm_80, whose code
/// runs on later GPUs, unless the plan is for one that has less.
static int64_t getMostSharedBytes(KernelOp kernel) {
  for (auto plan : kernel->getParentOfType<ModuleOp>().getOps<PlanOp>())
    if (llvm::is_contained({"sm_86", "sm_88", "sm_89", "sm_120", "sm_121"},
                           plan.getTarget().getGpu().rtrim("af")))
      return 99 * 1024;
  return 163 * 1024;
}

/// `threads`: the parameters of the attribute.
static LogicalResult setAttention(KernelOp kernel, int64_t queries,
                                  int64_t keys,
                                  std::array<int64_t, 4> threads) {
  auto [count, perRow, each, shared] = threads;
  if (int64_t most = getMostSharedBytes(kernel); shared > most)
    return kernel.emitOpError("needs ")
           << shared << " bytes of shared memory, of which a GPU's block has "
           << most << "; use narrower heads";
  auto makeTiles = [&](int64_t tiles) {
    return TilesAttr::get(kernel.getContext(), tiles, queries,
                          TileUnit::Queries, keys);
  };
  kernel.setTilesAttr(
      makeTiles(*kernel.getFormOp().countTiles(makeTiles(/*tiles=*/1))));
  kernel.setThreadsAttr(
      ThreadsAttr::get(kernel.getContext(), count, perRow, each, shared));
  return success();
}

LogicalResult CudaAttentionForm::plan(KernelOp kernel) const {
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

void CudaAttentionForm::emit(OpBuilder &builder, KernelOp kernel,
                             ValueRange buffers) const {
  if (usesTensorCores(kernel)) {
    WarpAttention code(builder, kernel, buffers);
    return emitTile(code);
  }
  AttentionThread code(builder, kernel, buffers);
  emitTile(code);
}
