//===- KernelInterfaces.td - What kernels ask of ops ----- -*- tablegen -*-===//
//
// Ops that have a form of kernels, show their operand, or are a library's. See docs/adding-a-kernel-form.md.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_KERNEL_INTERFACES
#define PPOPT_DIALECT_PP_KERNEL_INTERFACES

include "mlir/IR/OpBase.td"

def PP_KernelFormOpInterface : OpInterface<"KernelFormOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    An op whose kernels have a form of their own. A kernel of this form has one such op. The target has the code of the form.
  }];
  let methods = [
    InterfaceMethod<"Returns the form of the op's kernels.", "::mlir::pp::KernelForm", "getKernelForm">,
    InterfaceMethod<"Returns the sizes of the kernel's space: one or more.", "::llvm::SmallVector<int64_t>", "getKernelSpace">,
    InterfaceMethod<[{
      Returns how many tiles of this size cover the space; nothing if the form has no such tiles. `count` is not read.
    }], "::std::optional<int64_t>", "countTiles", (ins "::mlir::pp::TilesAttr":$tiles)>,
    InterfaceMethod<[{
      Returns whether the kernel reads operands and writes results by strides, into which their views are folded. If not, it computes
      elements of operands where it needs them, reads rows with a pitch, and adds its result to the accumulator that alone reads it.
    }], "bool", "usesStrides">,
    InterfaceMethod<[{
      Returns the operand in whose memory a result must be; null if it may be anywhere.
    }], "::mlir::Value", "getOverwritten", (ins "::mlir::Value":$result),
    /*methodBody=*/"", /*defaultImplementation=*/"(void)result; return {};">,
    InterfaceMethod<[{
      Returns the work that does not follow from the op's iteration space.
    }], "::mlir::pp::FormWork", "getFormWork", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
}

def PP_AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = "An op that computes with scores of queries and keys. Kernels of such ops share code.";
  let methods = [
    InterfaceMethod<"Returns the sizes of operands.", "::mlir::pp::AttentionShape", "getAttentionShape">,
    InterfaceMethod<"Returns what changes or hides scores before the softmax.",
      "::mlir::pp::AttentionScores", "getAttentionScores", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return {};">,
  ];
}

def PP_ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    An op whose result has elements of its only operand, unchanged. What reads the result can read the operand instead.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the layout of the result in the operand's memory; nothing if its elements have no strides there.
    }], "::std::optional<::mlir::pp::Layout>", "getResultLayout", (ins "const ::mlir::pp::Layout &":$operand)>,
    InterfaceMethod<[{
      Returns the layout of the operand in the result's memory; nothing if not all of its elements are there, each once and with strides.
    }], "::std::optional<::mlir::pp::Layout>", "getOperandLayout", (ins "const ::mlir::pp::Layout &":$result),
    /*methodBody=*/"", /*defaultImplementation=*/"(void)result; return ::std::nullopt;">,
    InterfaceMethod<[{
      Returns the operand's elements that a box of the result has; nothing if they are not a box.
    }], "::std::optional<::mlir::pp::ElementBox>", "getOperandBox", (ins "const ::mlir::pp::ElementBox &":$box)>,
    InterfaceMethod<[{
      Returns whether the result is the operand's memory under another shape: element i of one, in row-major order, is element i of the other.
    }], "bool", "keepsOrder", (ins), /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<"Returns whether a view of the result gives the operand.", "bool", "hasInverse", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      Appends the view that gives the operand from `result`, which equals the op's result. For ops with `hasInverse`.
    }], "::mlir::Value", "buildInverse", (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$result),
    /*methodBody=*/"", /*defaultImplementation=*/[{
      (void)builder; (void)result;
      llvm_unreachable("the view has no inverse");
    }]>,
  ];
}

def PP_LibraryCallOpInterface : OpInterface<"LibraryCallOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    An op with one result that a library computes. It reads operands by strides, into which their views are folded, and may add to its result.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the call for operands of these layouts and a result with these strides, which it adds to if `accumulates`; nothing if no call
      reads such operands.
    }], "::std::optional<::ppopt::MatmulDescriptor>", "describeCall",
    (ins "::llvm::ArrayRef<::mlir::pp::Layout>":$operands, "::llvm::ArrayRef<int64_t>":$resultStrides, "bool":$accumulates)>,
    InterfaceMethod<[{
      Returns the smallest call that adds to elements of this type.
    }], "::ppopt::MatmulDescriptor", "describeAccumulation", (ins "::mlir::Type":$element)>,
    InterfaceMethod<[{
      Appends a call on buffers. `offsets`: the first element of each operand in its buffer. `workspace` may be null.
    }], "void", "createCall",
    (ins "::mlir::OpBuilder &":$builder, "const ::ppopt::MatmulDescriptor &":$call, "::mlir::ValueRange":$operands,
         "::llvm::ArrayRef<int64_t>":$offsets, "::mlir::Value":$result, "::mlir::Value":$workspace)>,
  ];
}

#endif // PPOPT_DIALECT_PP_KERNEL_INTERFACES
