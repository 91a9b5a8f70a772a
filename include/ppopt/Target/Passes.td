//===- Passes.td - Passes to phase native ---------------------*- tablegen -*-===//

#ifndef PPOPT_TARGET_PASSES
#define PPOPT_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def PlanArena : Pass<"pp-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Gives everything an offset in the rank's arena";
  let description = [{
    Appends a `pp.region` for each range: record and scalars, parameters, gradients and optimizer states in the order of the
    buckets, inputs, slots, temporaries, workspace, receive buffers.

    ```mlir
    pp.region "parameters" "params:b0" at 320 bytes 4096
    ```
  }];
  let statistics = [Statistic<"arenaBytes", "arena-bytes", "bytes of the arena">];
}

def VerifyKernels : Pass<"pp-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that tasks neither allocate nor copy, and that the arena is covered";
  let description = [{
    A task is launches, products and views of buffers; its temporaries lie within `temp_bytes`; the `pp.region`s follow one
    another without gaps. Changes nothing.
  }];
}

#endif // PPOPT_TARGET_PASSES
