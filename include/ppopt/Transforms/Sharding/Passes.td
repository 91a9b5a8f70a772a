//===- Passes.td - Passes that split the batch ----------- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_PASSES
#define PPOPT_TRANSFORMS_SHARDING_PASSES

include "mlir/Pass/PassBase.td"

def ResizeBatch : Pass<"pp-resize-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the entry another batch size";
  let description = "`--batch` overrides the model's: the same propagation as that of `pp-split-batch`, on the model before anything is decomposed.";
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"0", "rows of the global batch; 0 keeps the model's">];
}

def SplitBatch : Pass<"pp-split-batch", "::mlir::ModuleOp"> {
  let summary = "Proves that the batch can be split, and gives the entry the shapes of one microbatch on one rank";
  let description = [{
    Propagates one sharded axis, the batch, from the inputs' first dimension through the iteration spaces. A value is then split
    along one dimension, whole on every tile, or partial: a sum over the batch of which each tile has its part. A partial value
    may pass through ops that are linear in it. A value that is whole and meets a partial one in a sum counts once: it is divided by
    the number of tiles. Sums over the batch that depend on inputs alone and are used otherwise become results of the prologue. All else is
    refused, naming the op.
  }];
}

#endif // PPOPT_TRANSFORMS_SHARDING_PASSES
