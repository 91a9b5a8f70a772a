//===- Passes.td - Passes that build the program --------- -*- tablegen -*-===//

#ifndef PPOPT_PROGRAM_PASSES
#define PPOPT_PROGRAM_PASSES

include "mlir/Pass/PassBase.td"

def PlanArena : Pass<"pp-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Assigns offsets in the arena of each place's ranks";
  let description = [{
    Appends a `pp.region` for each range: step state and scalars, parameters, gradients and optimizer states in the order of the
    buckets, inputs, slots, temporaries, workspace, receive buffers. A place has the parameters and buckets that it holds, the inputs that its
    tasks read, and all scalars. An arena larger than the plan's `device_memory` is an error that names the place, the excess, the largest
    regions, and what would reduce them.

    ```mlir
    pp.region <params, "b0"> at 320 bytes 4096
    pp.region <params, "b1"> at 320 bytes 8192 {place = 1 : i64}
    ```
  }];
}

def VerifyKernels : Pass<"pp-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that tasks neither allocate nor copy and read only written data, and that regions cover the arena";
  let description = [{
    A task contains only launches, matmuls and views of buffers. Its temporaries are within `temp_bytes`. The `pp.region`s of a place
    are contiguous. An op reads only bytes that one earlier op has written (or updated in place, or accumulated into) and that no other value has
    overwritten since. An op's writes overlap nothing else that it accesses. An argument that a task starts to write is complete at its end. Each
    kernel has a form and tiles, and none of its sweeps reads what an earlier one has overwritten. Changes nothing.
  }];
}

def VerifyProgram : Pass<"pp-verify-program", "::mlir::ModuleOp"> {
  let summary = "Checks that a runtime would accept the program that the module becomes";
  let description = [{
    Writes the program's document from a module of phase kernels, and reads it as a runtime does. Its fields are within the limits of the schema:
    indices exist, addresses are aligned and inside their arena, waits have their starts, types are ones that the runtime reads, sums, or looks up.
    Changes nothing.
  }];
}

def EmitTasks : Pass<"pp-emit-tasks", "::mlir::ModuleOp"> {
  let summary = "Converts tasks to functions and emits the program's tables";
  let description = [{
    Before: tasks on buffers, whose kernels are functions already. After: for each task `void @task(ptr rank, ptr args, ptr temps)` (`runtime.h`), a
    table of these functions, and as constants the program's document and the bytes of the persistent buffers. The plan, buckets, regions and
    schedules are removed: the document has them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect"];
}

#endif // PPOPT_PROGRAM_PASSES
