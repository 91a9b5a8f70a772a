//===- KernelOps.td - Kernels, matmuls and buffers ------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_KERNEL_OPS
#define PPOPT_DIALECT_PP_KERNEL_OPS

include "ppopt/Dialect/PP/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

def PP_KernelOp : PP_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "a fused kernel";
  let description = [{
    Arguments and results are tensors. Each result is written to a buffer of the launch's `outs`. The body contains element ops and
    reductions (composites are decomposed). Kernels are outlined once per shape and shared by launches.

    Attributes say how it is computed. form-kernels sets `form`, and in a kernel of form rows the sweep of each reduction and of each full result
    (`pp.sweep`); the target's plan-kernels sets `tiles`, the lanes of these reductions (`pp.lanes`), and for GPUs `threads`. A
    sweep of the columns reads the reductions of earlier sweeps only. Results without a sweep have one element per row, and are
    written after the last.

    An argument or a result with `pp.pitch` has a buffer whose rows begin that many elements after one another (set-kernel-pitches); the
    padding between them is never read or written.

    Example:

    ```mlir
    pp.kernel @reduce_div_4x8(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 1 : i64})
        attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
      %0 = pp.reduce sum %x [1] {keep_dims, pp.lanes = 8 : i64, pp.sweep = 0 : i64} : tensor<4x8xf32>
      %1 = pp.div %x, %0 : tensor<4x8xf32>, tensor<4x1xf32>
      pp.return %1 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<PP_FormAttr>:$form, OptionalAttr<PP_TilesAttr>:$tiles, OptionalAttr<PP_ThreadsAttr>:$threads,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }

    /// Returns whether a value has an element for each of the space.
    bool isFull(::mlir::Value value);
    /// The sweep of a reduction, or that in which a full result is written; nothing if it has none.
    std::optional<int64_t> getSweep(ReduceOp reduction);
    std::optional<int64_t> getSweep(unsigned result);
    void setSweep(ReduceOp reduction, int64_t sweep);
    void setSweep(unsigned result, int64_t sweep);
    /// The partial sums of a row that a reduction adds up at the end; nothing if that is not decided.
    std::optional<int64_t> getLanes(ReduceOp reduction);
    void setLanes(ReduceOp reduction, int64_t lanes);
    /// The pitch of a buffer: of arguments, then of results.
    ::mlir::pp::Pitch getPitch(unsigned buffer);
    void setPitch(unsigned buffer, ::mlir::pp::Pitch pitch);
    /// Returns whether any buffer has a pitch.
    bool hasPitch();
    /// Returns whether kernels of this form compute addresses of arguments, or of results, from pitches.
    bool takesPitches(bool ofResults);
    /// Returns the op that gives the kernel a form of its own; null if its form is rows or columns.
    ::mlir::pp::KernelFormOpInterface getFormOp();
    /// Checks that the form fits the body, and the sweeps and tiles the form.
    ::llvm::LogicalResult verifyForm();
    /// Checks that rows have room in their pitch, and that the form has rows.
    ::llvm::LogicalResult verifyPitches();
  }];
}

def PP_LaunchOp : PP_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a kernel";
  let description = [{
    On tensors (before buffers are assigned), the results are the kernel's. On buffers it has no results; `outs` are written. `inplace[i]`
    is the argument whose buffer result i may share (each element is read before it is written, at the same index), or -1. A launch computes
    all tiles of the kernel.

    Example:

    ```mlir
    pp.kernel @tanh_4x8(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>) {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    func.func @body(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
      pp.launch @tanh_4x8 ins(%x : memref<4x8xf32>) outs(%y : memref<4x8xf32>) {inplace = array<i64: -1>}
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<AnyType>:$ins, Variadic<AnyMemRef>:$outs,
                       DenseI64ArrayAttr:$inplace);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$kernel `ins` `(` ($ins^ `:` type($ins))? `)` `outs` `(` ($outs^ `:` type($outs))? `)` attr-dict (`->` type($results)^)?";
}

def PP_GemmOp : PP_Op<"gemm", []> {
  let summary = "a matmul on buffers";
  let description = [{
    C[b0,b1,m,n] = sum over k of A[b0,b1,m,k] * B[b0,b1,k,n], or added to C with `accumulate`. Strides in elements, in the order
    b0, b1, row, column, from each operand's `offset` (elements). The target's library computes it, or the `kernel` that is compiled for it.

    Example:

    ```mlir
    func.func @body(%a: memref<4x8xf32>, %b: memref<8x3xf32>, %c: memref<4x3xf32>) {
      pp.gemm %a, %b into %c {m = 4 : i64, n = 3 : i64, k = 8 : i64, batch = array<i64: 1, 1>,
          a_strides = array<i64: 0, 0, 8, 1>, b_strides = array<i64: 0, 0, 3, 1>, c_strides = array<i64: 0, 0, 3, 1>,
          a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64} : memref<4x8xf32>, memref<8x3xf32>, memref<4x3xf32>
      return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$a, AnyMemRef:$b, AnyMemRef:$c, Optional<AnyMemRef>:$workspace,
    PP_I64Attr:$m, PP_I64Attr:$n, PP_I64Attr:$k, DenseI64ArrayAttr:$batch,
    DenseI64ArrayAttr:$a_strides, DenseI64ArrayAttr:$b_strides, DenseI64ArrayAttr:$c_strides,
    PP_I64Attr:$a_offset, PP_I64Attr:$b_offset, PP_I64Attr:$c_offset, UnitAttr:$accumulate,
    OptionalAttr<PP_MatmulKernelAttr>:$kernel);
  let assemblyFormat = "$a `,` $b `into` $c (`workspace` $workspace^ `:` type($workspace))? attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let extraClassDeclaration = [{
    /// Returns `matmul_4x256x64x32_f32`, with `_acc` if it accumulates.
    std::string makeName();
  }];
  let hasVerifier = 1;
}

def PP_TempOp : PP_Op<"temp", [Pure]> {
  let summary = "a temporary at an offset, in bytes, of the task's temporaries";
  let description = [{
    In tasks on buffers.

    Example:

    ```mlir
    %t = pp.temp 64 : memref<4x8xf32>
    ```
  }];
  let arguments = (ins PP_I64Attr:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$offset attr-dict `:` type($result)";
}

def PP_RegionOp : PP_Op<"region"> {
  let summary = "a range of the arena of a place's ranks";
  let description = [{
    Holds a buffer (`#pp.buffer`). The regions of a place are contiguous, without gaps or overlap.

    Example:

    ```mlir
    pp.region <params, "b0"> at 64 bytes 512
    ```
  }];
  let arguments = (ins PP_BufferAttr:$buffer, PP_I64Attr:$offset, PP_I64Attr:$bytes, DefaultValuedAttr<PP_I64Attr, "0">:$place);
  let assemblyFormat = "$buffer `at` $offset `bytes` $bytes attr-dict";
  let extraClassDeclaration = [{
    /// What the range is for: one of the kinds in docs/program.md.
    ::mlir::pp::MemoryKind getKind() { return getBuffer().getMemoryKind(); }
  }];
}

#endif // PPOPT_DIALECT_PP_KERNEL_OPS
