//===- Passes.td - Passes of the target cuda ------------- -*- tablegen -*-===//

#ifndef PPOPT_CODEGEN_CUDA_PASSES
#define PPOPT_CODEGEN_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def WidenCudaMatmuls : Pass<"pp-widen-cuda-matmuls", "::mlir::ModuleOp"> {
  let summary = "Computes large matmuls of an odd depth in f32";
  let description = [{
    A matmul in bf16 that the library computes is added to zeros in f32, and rounded once, if its terms are contiguous in an operand and no multiple of
    16 bytes, and it has at least as many products as the threshold `gpu-split-products`. The runtime computes it in two parts.

    ```mlir
    %0 = pp.matmul %x, %w : ...                                            // before

    %z = pp.zeros : tensor<8192x768xf32>                                   // after
    %0 = pp.matmul %x, %w : ...
    %1 = pp.cast %0 : tensor<8192x768xbf16> to tensor<8192x768xf32>
    %2 = pp.accumulate %z, %1 : tensor<8192x768xf32>
    %3 = pp.cast %2 : tensor<8192x768xf32> to tensor<8192x768xbf16>
    ```
  }];
}

def PadRows : Pass<"pp-pad-rows", "::mlir::ModuleOp"> {
  let summary = "Decides which temporaries of a GPU's tasks have padded rows";
  let description = [{
    Sets `pp.pitch` of launches and matmuls of tasks: for each result the elements from the begin of a row of its buffer to that of the next, 0 where
    rows are dense. A result is padded if its rows are long (threshold `gpu-pitch-columns`) and not multiples of 16 bytes, and everything that reads
    or writes its buffer is a kernel that computes addresses from a pitch or a matmul that folds it into strides. So whatever leaves the task,
    parts of concatenations, and what attention and collectives take stay dense. The pitch is a multiple of 256 bytes if that is at most 1/32
    more than the row, else of 16 bytes. Changes nothing else.

    ```mlir
    %0 = pp.matmul %x, %w : ...                                    // before
    %0 = pp.matmul %x, %w {pp.pitch = array<i64: 50304>} : ...     // after
        -> tensor<8192x50257xbf16>
    ```
  }];
}

def PlanCudaKernels : Pass<"pp-plan-cuda-kernels", "::mlir::pp::KernelOp"> {
  let summary = "Decides the tiles, threads and lanes of each kernel for a GPU";
  let description = [{
    Sets `tiles` and `threads` of each `pp.kernel`, and `pp.lanes` of each reduction of a kernel of form rows: a tile is what a block of threads
    computes. They depend on shapes and thresholds alone. Up to about 2,000 columns a row belongs to a warp or a part of one, a longer one to a
    block. A kernel that reads everything at the same index is a flat range. Changes nothing else.

    ```mlir
    pp.kernel @softmax_4x768(...) ... attributes {form = #pp.form<rows 4x768>}     // before

    pp.kernel @softmax_4x768(...) ... attributes {form = #pp.form<rows 4x768>,     // after
        threads = #pp.threads<128, 32 per row, 8 each>, tiles = #pp.tiles<1 of 4 rows>}
    ```
  }];
  // The pass emits scalar code into a scratch module to see how ops read.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::func::FuncDialect"];
}

def EmitCudaKernels : Pass<"pp-emit-cuda-kernels", "::mlir::ModuleOp"> {
  let summary = "Emits each kernel as a function of a GPU's threads";
  let description = [{
    Emits for each `pp.kernel @k` a kernel `@k(buffers...)` of arguments, then results, in the nested module `@device`, or in `@device_wide` if it needs
    indices of 64 bits: a buffer of 2^31 elements, an index that is read from 64-bit integers, or a position in a global tensor. Follows the
    kernel's form, sweeps, lanes, tiles and threads. On the host, `@k_tiles` is a trap: only a GPU can launch the kernel. The kernels stay in the
    module because the program's tables are built from them.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::func::FuncDialect", "::mlir::DLTIDialect"];
}

def PlanCudaMatmuls : Pass<"pp-plan-cuda-matmuls", "::mlir::ModuleOp"> {
  let summary = "Decides how kernels of a GPU compute the matmuls of a plan that generates them";
  let description = [{
    Sets `kernel` of each `pp.gemm` that the library does not compute: of all if the plan says `matmul = "generated"`, else of those whose
    operands have neither contiguous rows nor contiguous columns. It has its name, tiles, threads and the elements that a thread moves at a
    time. Equal matmuls whose operands are equally aligned share a kernel. They depend on sizes, strides, offsets and thresholds alone.
    Changes nothing else.

    ```mlir
    pp.gemm %a, %b into %c {m = 4096 : i64, n = 768 : i64, k = 3072 : i64, ...}           // before

    pp.gemm %a, %b into %c {m = 4096 : i64, n = 768 : i64, k = 3072 : i64, ...,           // after
        kernel = #pp.matmul_kernel<@matmul_4096x768x3072_bf16, 192 of 256 threads, tile 128x128x32, part 64x32, a 8 along k, b 8 along n,
                                   c 2, 37888 shared>}
    ```
  }];
}

def EmitCudaMatmuls : Pass<"pp-emit-cuda-matmuls", "::mlir::ModuleOp"> {
  let summary = "Emits the kernels of matmuls as functions of a GPU's threads";
  let description = [{
    Emits for each name of a `kernel` of `pp.gemm` a kernel `@name(a, b, c)`, whose arguments are the addresses of the operands' first elements, in the
    nested module `@device`, or in `@device_wide` if an offset may reach 2^31. Follows the attribute. The matmuls stay.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::DLTIDialect"];
}

def LowerDeviceMath : Pass<"pp-lower-device-math", "::mlir::ModuleOp"> {
  let summary = "Computes functions by a GPU's instructions, polynomials and libclc";
  let description = [{
    f32: exp, tanh, 1/sqrt and division by approximate instructions, with a relative error of a few units in the last place; erf by a
    polynomial; none of these in a module with `pp.accurate_math`. The others, and all of f64, become calls of libclc's functions (`_Z3expd`), which
    the device code is linked with.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

def LowerDeviceCode : Pass<"pp-lower-device-code", "::mlir::ModuleOp"> {
  let summary = "Lowers a nested module of kernels to the LLVM dialect";
  let description = [{
    Runs pp-lower-device-math and upstream's conversions, with indices of the width that the module's data layout says.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::vector::VectorDialect"];
}

#endif // PPOPT_CODEGEN_CUDA_PASSES
