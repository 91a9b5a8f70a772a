//===- Passes.td - Passes to phase native ---------------- -*- tablegen -*-===//

#ifndef PPOPT_PROGRAM_PASSES
#define PPOPT_PROGRAM_PASSES

include "mlir/Pass/PassBase.td"

def PlanArena : Pass<"pp-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Gives everything an offset in the arena of each place's ranks";
  let description = [{
    Appends a `pp.region` for each range: record and scalars, parameters, gradients and optimizer states in the order of the
    buckets, inputs, slots, temporaries, workspace, receive buffers. A place has the parameters and buckets that it holds, the inputs that its
    tasks read, and all scalars. An arena that is larger than the plan's `device_memory` is an error that says by how much, whose it is, what is
    largest, and what would help.

    ```mlir
    pp.region "parameters" "params:b0" at 320 bytes 4096
    pp.region "parameters" "params:b1" at 320 bytes 8192 {place = 1 : i64}
    ```
  }];
}

def VerifyKernels : Pass<"pp-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that tasks neither allocate nor copy, read what was written, and that the arena is covered";
  let description = [{
    A task is launches, matmuls and views of buffers; its temporaries lie within `temp_bytes`; the `pp.region`s of a place
    follow one another without gaps. What an op reads has been written before, by one op (or in place, or added to), and no other value has
    taken its bytes since; what it writes overlaps nothing else that it touches; an argument that a task begins to write is complete in the end. Changes nothing.
  }];
}

#endif // PPOPT_PROGRAM_PASSES
