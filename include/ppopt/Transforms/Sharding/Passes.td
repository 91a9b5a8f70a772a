//===- Passes.td - Passes that split the batch ----------- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_PASSES
#define PPOPT_TRANSFORMS_SHARDING_PASSES

include "mlir/Pass/PassBase.td"

def ResizeBatch : Pass<"pp-resize-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the entry another batch size";
  let description = [{
    Implements `--batch`, which overrides the model's batch size. The batch is propagated as by
    `pp-split-batch`, on the model before anything is decomposed. Sums over the batch are complete,
    and rows may mix.

    ```mlir
    func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32>     // before
    func.func @main(%x: tensor<16x2xf32> {pp.input = "x"}) -> tensor<f32>    // after, batch=16
    ```
  }];
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"0", "rows of the global batch; 0 keeps the model's">];
}

def SplitBatch : Pass<"pp-split-batch", "::mlir::ModuleOp"> {
  let summary = "Proves that the batch can be split, and gives the entry the shapes of one microbatch on one rank";
  let description = [{
    Propagates one sharded axis, the batch, from the first dimension of the inputs through the
    iteration spaces. A value is then one of three:

    - split along one dimension,
    - whole: the same on every tile,
    - partial: each tile has its part of a sum over the batch.

    A partial value may pass through ops that are linear in it. A whole value that meets a partial
    one in a sum counts once: it is divided by the number of tiles. A sum over the batch that
    depends on inputs alone and has another reader becomes a result of the prologue. Anything else
    is an error that names the op.

    ```mlir
    %h = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>      // before
    %h = pp.matmul %x, %w : tensor<2x2xf32>, tensor<2x3xf32>      // after: dp=2, 2 microbatches
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_SHARDING_PASSES
