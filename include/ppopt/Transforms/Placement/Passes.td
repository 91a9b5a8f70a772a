//===- Passes.td - Passes that give ops their places ----- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_PASSES
#define PPOPT_TRANSFORMS_PLACEMENT_PASSES

include "mlir/Pass/PassBase.td"

def PlaceOps : Pass<"pp-place-ops", "::mlir::ModuleOp"> {
  let summary = "Puts every op of the entry into a stage on a place";
  let description = [{
    Ops that `pp.on` marks run on that place; an unmarked op follows the latest of its operands, else its first user. Where nothing is
    marked, the ops are cut by cost into the plan's pieces. Of the ops of a place (or a piece) as few stages are formed as leave no cycle.
    On each edge that crosses places stands a `pp.copy`, one for each value and destination. Parameters stand outside, once for
    each place that uses them; what follows cheaply from inputs and constants stands in every stage that reads it. In a mesh without an axis
    `pp` all ops are on place 0, whatever the marks say.

    ```mlir
    %h = pp.on 0 -> tensor<8x4xf32> { ... }                              // before
    %l = pp.on 1 -> tensor<f32> { ... %h ... }

    %h = pp.place 0 stage 0 -> tensor<8x4xf32> { ... }                   // after
    %c = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
    %l = pp.place 1 stage 1 -> tensor<f32> { ... %c ... }
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_PLACEMENT_PASSES
