//===- Passes.td - Passes of the target cpu -------------- -*- tablegen -*-===//

#ifndef PPOPT_CODEGEN_CPU_PASSES
#define PPOPT_CODEGEN_CPU_PASSES

include "mlir/Pass/PassBase.td"

def PlanKernels : Pass<"pp-plan-kernels", "::mlir::pp::KernelOp"> {
  let summary = "Decides the tiles of each kernel, and the lanes of its reductions, for a CPU";
  let description = [{
    Sets `tiles` of each `pp.kernel` and `pp.lanes` of each reduction of a kernel of form rows. They depend on shapes, types and thresholds; those of
    attention also on the size of vectors. A kernel of form rows that reads everything at the same index is a flat range. Changes nothing else.

    ```mlir
    pp.kernel @tanh_4x4096(...) ... attributes {form = #pp.form<rows 4x4096>}     // before

    pp.kernel @tanh_4x4096(...) ... attributes {form = #pp.form<rows 4x4096>,     // after
                                                tiles = #pp.tiles<4 of 4096 elements>}
    ```
  }];
  let options = [Option<"vectorBytes", "vector-bytes", "int64_t", /*default=*/"16",
                        "bytes of the CPU's vector registers: 16, 32 or 64">];
  // The pass emits scalar code into a scratch module to see how ops read.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::func::FuncDialect"];
}

def EmitKernels : Pass<"pp-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Emits each kernel as loops over its buffers";
  let description = [{
    Emits two functions for each `pp.kernel @k`: `@k_loops(buffers..., begin, end)` loops over tiles [begin, end) of its space, and
    `@k_tiles`, of the runtime's type `ppopt_kernel_fn`, calls it. Follows the kernel's form, sweeps, lanes and tiles. The kernels stay in
    the module because the program's tables are built from them.
  }];
  let options = [Option<"vectorBytes", "vector-bytes", "int64_t", /*default=*/"16",
                        "bytes of the CPU's vector registers: 16, 32 or 64">];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect",
                           "::mlir::vector::VectorDialect"];
}

def ApproximateMath : Pass<"pp-approximate-math"> {
  let summary = "Expands f32 functions to polynomials, which vectorise, and bf16 casts to integer ops";
  let description = [{
    exp, log, log1p, tanh and erf are computed in f32; sin, cos and powers in f64, for all operands. f64 still calls the math library. Conversions between f32 and bf16 become shifts and adds on every CPU: few CPUs have the instruction, and
    it flushes subnormal numbers; on the others compilers call a library function for each element.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def FoldKernels : Pass<"pp-fold-kernels", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Canonicalizes the code of kernels in one round";
  let description = [{
    Upstream's `canonicalize` with the patterns of some dialects: each function that is canonicalized first ranks all patterns. Another round finds
    nothing, nor does what simplifies regions.
  }];
  let options = [ListOption<"dialects", "dialects", "std::string", "the dialects whose patterns it applies">];
}

def ConvertKernels : Pass<"pp-convert-kernels", "::mlir::ModuleOp"> {
  let summary = "Converts the code of kernels to the LLVM dialect";
  let description = [{
    Before: functions in the dialects scf, arith, math, vector and cf. After: in the LLVM dialect alone, but for functions of math that no intrinsic
    computes. Has the patterns of upstream's conversions, which it applies in two passes: loops become branches, then all else is converted.
    A conversion first ranks all patterns. Therefore functions are converted in one group per thread, not one by one.

    ```mlir
    %e = math.exp %x : vector<8xf64>               // before
    %y = arith.addf %e, %e : vector<8xf64>

    %e = llvm.intr.exp(%x) : (vector<8xf64>) -> vector<8xf64>   // after
    %y = llvm.fadd %e, %e : vector<8xf64>
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
}

def CallMathLibrary : Pass<"pp-call-math-library", "::mlir::ModuleOp"> {
  let summary = "Replaces functions of math by calls of the C library";
  let description = [{
    Before: the ops of dialect math that `pp-convert-kernels` has left. After: calls of functions of the C library, which the module declares.

    ```mlir
    %y = math.erf %x : f64                        // before

    %y = llvm.call @erf(%x) : (f64) -> f64        // after
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::func::FuncDialect", "::mlir::vector::VectorDialect"];
}

def LowerBF16ToI16 : Pass<"pp-lower-bf16-to-i16", "::mlir::LLVM::LLVMFuncOp"> {
  let summary = "Replaces bf16 by i16 where values are only moved";
  let description = [{
    Before: a function of the LLVM dialect that loads, stores, selects and bitcasts bf16 values, and computes with none. After: it has no bf16. A
    CPU may have no vectors of bf16; LLVM then moves their elements through f32, and calls a library for the way back. Another op on bf16 is an
    error.

    ```mlir
    %0 = llvm.bitcast %bits : vector<8xi16> to vector<8xbf16>                  // before
    llvm.intr.masked.store %0, %p, %mask : vector<8xbf16>, vector<8xi1> into !llvm.ptr

    llvm.intr.masked.store %bits, %p, %mask : vector<8xi16>, vector<8xi1> into !llvm.ptr   // after, canonicalized
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def FlushDenormals : Pass<"pp-flush-denormals", "::mlir::ModuleOp"> {
  let summary = "Makes a program compute without denormals, if its plan says so";
  let description = [{
    If the plan says `denormals = "flush"`, adds a constructor that sets two bits of MXCSR, the register of x86-64 that says how floating-point
    instructions treat denormals: as operands they are 0, and so are results. The constructor runs before `main`, and threads inherit the register.
    Functions say the same, so that LLVM folds constants to what the instructions give.

    ```mlir
    llvm.func @tanh_4_tiles(...)                           // before

    llvm.func @tanh_4_tiles(...) attributes {denormal_fp_math = "preserve-sign,preserve-sign"}    // after
    llvm.func internal @flush_denormals()
    llvm.mlir.global_ctors ctors = [@flush_denormals], priorities = [0 : i32], data = [#llvm.zero]
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // PPOPT_CODEGEN_CPU_PASSES
