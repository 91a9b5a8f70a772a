//===- Passes.td - Passes of the phases kernels and native  -*- tablegen -*-===//

#ifndef PPOPT_CODEGEN_PASSES
#define PPOPT_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def BlockRows : Pass<"pp-block-rows", "::mlir::ModuleOp"> {
  let summary = "Computes wide intermediate values of tasks one block of rows after the other";
  let description = [{
    A value is wide if it takes more than `budget` bytes. Around a wide matmul: the ops of the task that make or read wide values, of at least half of its
    size, which the task neither takes nor returns. If all of them can be cut along the matmul's first dimension, they are computed for one block of its rows after the other,
    in as few blocks of equal size as keep each value within the budget: operands are cut, weights whole, results are put together, and sums over the rows
    (the weights' gradients) added up block by block. A group is left alone if some op of it mixes rows, or draws random numbers (or counts) by its place in the global
    tensor. What a block still has too wide is cut again, along the next dimension.

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

def DecomposeKernels : Pass<"pp-decompose-kernels", "::mlir::ModuleOp"> {
  let summary = "Replaces composites by element ops, reductions and matmuls";
  let description = [{
    Runs on local shapes: a composite is split along none of the dimensions that its decomposition counts or
    indexes. Statistics, sums and exponentials of bf16 values are f32. Afterwards tasks hold element ops, sums, maxima,
    matmuls and the gradient of embeddings.

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
  let summary = "Groups what is not a matmul into fused kernels, shared by launches";
  let description = [{
    Before: tasks whose bodies are element ops, sums, maxima, matmuls and embedding gradients on tensors. After: a body is `pp.launch`es
    in tensor form, matmuls, accumulations of matmuls, and the views (reshape, transpose, slice, broadcast) that matmuls
    fold into strides. docs/kernels.md has the rules.

    ```mlir
    %0 = pp.add %x, %b : tensor<8x16xf32>, tensor<16xf32>       // before
    %1 = pp.relu %0 : tensor<8x16xf32>

    %1 = pp.launch @add_relu_8x16 ins(%x, %b : ...) outs()      // after
      {inplace = array<i64: -1>} -> tensor<8x16xf32>
    ```
  }];
  // Scalar code is written once, to see how ops read.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::func::FuncDialect"];
}

def BufferizeTasks : Pass<"pp-bufferize-tasks", "::mlir::ModuleOp"> {
  let summary = "Gives every tensor of a task a buffer";
  let description = [{
    Arguments become memrefs, results become arguments behind them; a tied argument and result are one. Temporaries
    are `pp.temp` at offsets that are shared where lifetimes do not overlap; the attribute `temp_bytes` of the task is
    their extent. A value that is returned is written to its destination; only an argument that is returned as it is is copied, by a
    kernel. Matmuls become `pp.gemm`.

    ```mlir
    pp.task forward stage 0 @s0_F(%x: memref<8x16xf32> {...}, %h: memref<8x16xf32> {...}) {
      %0 = pp.temp 0 : memref<8x16xf32>
      pp.launch @add_8x16 ins(%x, %b : ...) outs(%0 : memref<8x16xf32>) {inplace = array<i64: -1>}
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def EmitKernels : Pass<"pp-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Writes each kernel as loops over its buffers";
  let description = [{
    For each `pp.kernel @k` two functions: `@k_loops(buffers..., begin, end)`, the loops of tiles [begin, end) of its space, and
    `@k_tiles`, of the runtime's type `ppopt_kernel_fn`, that calls it. Each launch gets its number of tiles. The kernels stay, for
    the program's tables.
  }];
  let options = [Option<"vectorBytes", "vector-bytes", "int64_t", /*default=*/"16",
                        "bytes of the CPU's vector registers: 16, 32 or 64">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect",
                           "::mlir::vector::VectorDialect"];
}

def ApproximateMath : Pass<"pp-approximate-math"> {
  let summary = "f32 exp, log, tanh and erf as polynomials, which vectorise; bf16 as integers";
  let description = [{
    f64 keeps the library's functions. Conversions between f32 and bf16 are shifts and adds on every CPU: few have the instruction, which
    moreover flushes subnormal numbers, and elsewhere compilers call a library for each element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

#endif // PPOPT_CODEGEN_PASSES
