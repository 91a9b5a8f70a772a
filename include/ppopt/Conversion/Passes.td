//===- Passes.td - Passes of the phases kernels and native ----*- tablegen -*-===//

#ifndef PPOPT_CONVERSION_PASSES
#define PPOPT_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"pp-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups what is not a product into fused kernels, shared by launches";
  let description = [{
    Before: tasks whose bodies are element ops, sums, maxima, products and embedding gradients on tensors. After: a body is `pp.launch`es
    in tensor form, products, accumulations of products, and the views (reshape, transpose, slice, broadcast) that products
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
    kernel. Products become `pp.product`.

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

#endif // PPOPT_CONVERSION_PASSES
