//===- CudaAttentionForm.cpp - Attention by tiles of queries and keys -----===//

#include "CudaAttentionForm.h"
#include "ppopt/Dialect/PP/KernelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

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

LogicalResult CudaAttentionForm::plan(KernelOp kernel) const {
  MLIRContext *context = kernel.getContext();
  int64_t queries, keys;
  ThreadsAttr threads;
  if (usesTensorCores(kernel)) {
    WarpTile tile = chooseWarpTile(kernel);
    queries = tile.rows;
    keys = tile.columns;
    // Four threads have a row of a product, each two neighbours.
    threads = ThreadsAttr::get(context, tile.getThreads(), /*perRow=*/4,
                               /*each=*/2, tile.sharedBytes);
  } else {
    AttentionTile tile = chooseAttentionTile(kernel);
    queries = tile.queries;
    keys = tile.keys;
    threads = ThreadsAttr::get(context, kAttentionThreads, kAttentionColumns,
                               /*each=*/1, tile.sharedBytes);
  }
  if (int64_t most = getMostSharedBytes(kernel); threads.getShared() > most)
    return kernel.emitOpError("needs ")
           << threads.getShared()
           << " bytes of shared memory, of which a GPU's block has " << most
           << "; use narrower heads";
  AttentionShape shape = getAttention(kernel).getAttentionShape();
  kernel.setTilesAttr(
      TilesAttr::get(context, shape.batch * countTiles(shape, queries, keys),
                     queries, TileUnit::Queries, keys));
  kernel.setThreadsAttr(threads);
  return success();
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
