//===- Passes.td - Passes that form kernels -------------- -*- tablegen -*-===//

#ifndef PPOPT_CODEGEN_PASSES
#define PPOPT_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def BlockRows : Pass<"pp-block-rows", "::mlir::pp::TaskOp"> {
  let summary = "Computes large intermediate values of tasks one block of rows at a time";
  let description = [{
    A value is wide if it takes more than `budget` bytes. The pass forms a group around each wide matmul: the ops that make or read wide values of
    at least half the matmul's size, where the values are neither arguments nor results of the task. If every op of the group can be tiled along the
    matmul's first dimension, the group is computed one block of rows at a time, in the fewest equal blocks that keep each value within the budget.
    Operands are sliced and weights stay whole. Results are concatenated, and sums over rows (weight gradients) are accumulated over the blocks. The
    pass leaves a group alone if one of its ops mixes rows, or uses its position in the global tensor (random numbers, iota). A value of a block that is
    still too wide is tiled again along the next dimension.

    ```mlir
    %z = pp.matmul %h, %w                        // before
    %d = pp.matmul %z, %x {transpose_lhs}

    %h0 = pp.slice %h [0, 0]                     // after, for each block
    %z0 = pp.matmul %h0, %w
    %d0 = pp.matmul %z0, %x0 {transpose_lhs}
    %d = pp.add %d0, %d1
    ```
  }];
  let options = [Option<"budget", "budget", "int64_t", /*default=*/"67108864", "bytes that an intermediate value may take">];
}

def DecomposeKernels : Pass<"pp-decompose-kernels"> {
  let summary = "Replaces composites by element ops, reductions and matmuls";
  let description = [{
    Runs on local shapes: no composite is partitioned along a dimension that its decomposition counts or indexes.
    Statistics, sums and exponentials of bf16 values are computed in f32. After the pass, tasks contain element ops, sums, maxima,
    matmuls and embedding gradients.

    ```mlir
    %y = pp.softmax %x : tensor<8x16xf32>                             // before
    %0 = pp.reduce max %x [1] {keep_dims} : tensor<8x16xf32>          // after
    %1 = pp.sub %x, %0 : tensor<8x16xf32>, tensor<8x1xf32>
    %2 = pp.exp %1 : tensor<8x16xf32>
    %3 = pp.reduce sum %2 [1] {keep_dims} : tensor<8x16xf32>
    %c = pp.constant dense<1.000000e+00> : tensor<f32>
    %4 = pp.div %c, %3 : tensor<f32>, tensor<8x1xf32>
    %y = pp.mul %2, %4 : tensor<8x16xf32>, tensor<8x1xf32>
    ```
  }];
}

def FormKernels : Pass<"pp-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups the ops other than matmuls into fused kernels, shared by launches";
  let description = [{
    Before: task bodies are element ops, sums, maxima, matmuls and embedding gradients on tensors. After: they are `pp.launch` ops
    on tensors, matmuls, accumulations of matmuls, and the views (reshape, transpose, slice, broadcast) that matmuls
    fold into strides. docs/kernels.md gives the rules. Each kernel has its `form` and space, and in a kernel of form rows each reduction and each
    full result its sweep: whether a result may overwrite what the kernel reads depends on them.

    ```mlir
    %0 = pp.add %x, %b : tensor<8x16xf32>, tensor<16xf32>       // before
    %1 = pp.relu %0 : tensor<8x16xf32>

    %1 = pp.launch @add_relu_8x16 ins(%x, %b : ...) outs()      // after
      {inplace = array<i64: -1>} -> tensor<8x16xf32>
    ```
  }];
  // The pass emits scalar code into a scratch module to see how ops read.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::func::FuncDialect"];
}

def PlaceCollectives : Pass<"pp-place-collectives", "::mlir::pp::TaskOp"> {
  let summary = "Starts the collectives of tasks early and waits for them late";
  let description = [{
    Each collective becomes `pp.begin` and `pp.finish`. If the plan's `prefetch` is bucket, a gather begins before the first use of the one before (small ones do not
    count), or after the last use of one that is several times larger, else before its own; so does a gather of a value that another task has made, after the
    wait of the one before. A sum begins where its operand is
    complete. `pp.finish` comes before the first op that reads the result. The task's `collectives` get the order of the begins: all ranks of a group
    run the same task, so that any order is theirs.

    ```mlir
    %w1 = pp.all_gather %b0 ...          // before
    %0 = pp.matmul %x, %w1
    %w2 = pp.all_gather %b1 ...
    %1 = pp.matmul %0, %w2

    %2 = pp.begin 0 all_gather %b0 ...   // after
    %w1 = pp.finish 0(%2, %b0)
    %3 = pp.begin 1 all_gather %b1 ...
    %0 = pp.matmul %x, %w1
    %w2 = pp.finish 1(%3, %b1)
    %1 = pp.matmul %0, %w2
    ```
  }];
}

def SetKernelPitches : Pass<"pp-set-kernel-pitches", "::mlir::ModuleOp"> {
  let summary = "Gives kernels the pitches of the buffers that launches give them";
  let description = [{
    Before: some launches and matmuls of tasks have `pp.pitch`. After: so have the arguments and results of the kernels that take these values.
    Launches of one kernel with other pitches launch a copy of it.

    ```mlir
    %1 = pp.launch @relu ins(%0 : ...) {pp.pitch = array<i64: 50304>} ...     // before and after

    pp.kernel @relu(%x: tensor<8192x50257xbf16> {pp.pitch = 50304 : i64})     // after
        -> (tensor<8192x50257xbf16> {pp.pitch = 50304 : i64, ...})
    ```
  }];
}

def BufferizeTasks : Pass<"pp-bufferize-tasks", "::mlir::ModuleOp"> {
  let summary = "Assigns a buffer to every tensor of a task";
  let description = [{
    Arguments become memrefs. Results become arguments after them; a tied argument and result become one. Temporaries
    become `pp.temp` at offsets that are shared where lifetimes do not overlap; the task's attribute `temp_bytes` is
    their extent. A returned value is written directly to its destination. Only an argument that is returned unchanged is copied, by a
    kernel. Matmuls become `pp.gemm`, with the workspace that the plan's target asks for. The buffer of a value with `pp.pitch` has it in the strides of
    its type, and those of matmuls follow from it.

    ```mlir
    pp.task forward stage 0 @s0_F(%x: memref<8x16xf32> {...}, %h: memref<8x16xf32> {...}) {
      %0 = pp.temp 0 : memref<8x16xf32>
      pp.launch @add_8x16 ins(%x, %b : ...) outs(%0 : memref<8x16xf32>) {inplace = array<i64: -1>}
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

#endif // PPOPT_CODEGEN_PASSES
