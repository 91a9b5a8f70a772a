//===- Passes.td - Passes that give ops their places ----- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PLACEMENT_PASSES
#define PPOPT_TRANSFORMS_PLACEMENT_PASSES

include "mlir/Pass/PassBase.td"

def PlaceOps : Pass<"pp-place-ops", "::mlir::ModuleOp"> {
  let summary = "Puts every op of the entry into a stage on a place";
  let description = [{
    An op that `pp.on` marks runs on that place. An unmarked op follows the latest of its operands,
    else its first user. If nothing is marked, the ops are cut by cost into the plan's pieces. The
    ops of a place (or a piece) form the fewest stages that leave no cycle.

    Afterwards a `pp.copy` is on each edge that crosses places, one per value and destination.
    Parameters are outside the regions, one per place that uses them. A value that follows cheaply
    from inputs and constants is computed in every stage that reads it. In a mesh without an axis
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
