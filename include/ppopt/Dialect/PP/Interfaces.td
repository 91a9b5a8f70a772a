//===- Interfaces.td - The interfaces of ops ------------- -*- tablegen -*-===//
//
// Passes use ops only through these interfaces. See docs/adding-an-op.md.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_INTERFACES
#define PPOPT_DIALECT_PP_INTERFACES

include "mlir/IR/OpBase.td"

def PP_IterationSpaceOpInterface : OpInterface<"IterationSpaceOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    Describes an op as a loop nest: its loops (each of a kind, docs/sharding.md) and, for each dimension of each operand and result, the ordered list
    of loops that it runs over. The sharding rule, the proof that the batch is
    parallel, FLOPs and bytes follow from it.
  }];
  let methods = [
    InterfaceMethod<[{
      Returns the op's iteration space for its operands' current shapes.
    }], "::mlir::pp::IterationSpace", "getIterationSpace">,
    InterfaceMethod<[{
      Returns whether the results are linear in these operands together, with
      all others fixed: f(ax + by) = a f(x) + b f(y). A partial sum over the
      batch may pass only through such an op. `operands` is never empty.
    }], "bool", "isLinearIn", (ins "::llvm::ArrayRef<unsigned>":$operands),
    /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      Called when the op's operands and results have become local. An op whose results depend on
      the global index (iota, dropout, look-ups in a cut table) records its tile, and one that moves
      elements by offsets divides those along a cut loop; for all others this does nothing.
    }], "void", "localize", (ins "const ::mlir::pp::Localization &":$localization),
    /*methodBody=*/"", /*defaultImplementation=*/"(void)localization;">,
    InterfaceMethod<[{
      Returns whether results depend on the position in the global tensor or on the step,
      so that the op needs the random key (RandomKey.h) as an operand when tasks are formed.
    }], "bool", "needsRandomKey", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      Returns whether the op draws random numbers, so that it needs a `stream` (the hash of its call path).
    }], "bool", "drawsNumbers", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/[{
      return ::llvm::is_contained($_op->getName().getAttributeNames(), "stream");
    }]>,
    InterfaceMethod<[{
      Returns the range of the values of this integer operand if they are indices. The runtime checks values that come
      unchanged from the model's inputs; the task that contains the op checks all others.
    }], "::std::optional<::mlir::pp::IndexRange>", "getIndexRange", (ins "unsigned":$operand),
    /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
    InterfaceMethod<[{
      Returns what adds nothing in an operand that a loop of kind sum runs over.
    }], "int64_t", "getNeutralElement", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return 0;">,
  ];
}

def PP_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    Builds the op's adjoint. An op with neither this interface nor a
    decomposition can't be differentiated; autodiff's error names it.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends ops that compute the gradients of the operands. `resultGrads[i]` is
      the gradient of result i, or null if it is zero (at least one is
      not). `needed[i]` says whether operand i needs a gradient. Sets
      `operandGrads[i]`, of operand i's type, for each needed operand; may leave it
      null if it is zero. Must not build ops that no needed gradient uses. Emits an
      error and fails if a given gradient can't be propagated to the operands.
    }], "::llvm::LogicalResult", "buildAdjoint",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::ArrayRef<::mlir::Value>":$resultGrads,
         "::llvm::ArrayRef<bool>":$needed,
         "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>,
  ];
}

def PP_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    A composite of other ops. `Model` composites are replaced before
    differentiation, while shapes are global; `Kernel` composites have a gradient of
    their own and are replaced when kernels are formed.
  }];
  let methods = [
    InterfaceMethod<"Returns when the op is replaced.",
      "::mlir::pp::DecomposeAt", "getDecomposeAt">,
    InterfaceMethod<[{
      Appends the replacement. Returns one value per result, of the result's
      type.
    }], "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def PP_ElementOpInterface : OpInterface<"ElementOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    An op without reduction: each element of its (single) result is a function of elements of its
    operands. Fused kernels are built by pulling elements through such ops.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits the scalar code (arith and math ops) of the result's element at `index` (one index
      value per dimension). `read(i, idx)` emits the read of operand i at idx.
      Floating-point scalars are in the compute type: f32 for bf16 tensors (the
      reader extends, the writer truncates), else the element type. Emits an error and
      returns null if the op lacks an operand that it needs (a random key).
    }], "::mlir::Value", "emitElement",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$index,
         "::mlir::pp::ElementReader":$read)>,
  ];
}

def PP_StepwiseOpInterface : OpInterface<"StepwiseOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    An op that mixes positions of a sequence, but in which no position depends on a later one: it can be computed position by
    position, from caches of values of the earlier positions.
  }];
  let methods = [
    InterfaceMethod<[{
      Checks that the op can run stepwise if dimension `timeDims[i]` of operand i is the sequence (-1: none). Emits an error that
      says why not, and fails.
    }], "::llvm::LogicalResult", "checkStepwise", (ins "::llvm::ArrayRef<int64_t>":$timeDims)>,
    InterfaceMethod<"Returns the sequence dimension of each result.",
      "::llvm::SmallVector<int64_t>", "getResultTimeDims">,
    InterfaceMethod<[{
      Returns the types of the caches for the operands' current shapes: all positions, with the same number of bytes for each.
    }], "::llvm::SmallVector<::mlir::RankedTensorType>", "getCacheTypes">,
    InterfaceMethod<[{
      Appends the op for one position: `operands` are the op's operands with a sequence of length 1, `position` is a tensor<1xi64>. Returns one
      value per result, null for a result that a step does not compute. Sets `newCaches` to `caches` with this position added.
    }], "::llvm::SmallVector<::mlir::Value>", "buildStep",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$caches,
         "::mlir::Value":$position, "::llvm::SmallVectorImpl<::mlir::Value> &":$newCaches)>,
  ];
}

def PP_ScoreOpInterface : OpInterface<"ScoreOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = "An op that compares scores of classes (the last dimension) with the target classes: the loss of a language model.";
  let methods = [
    InterfaceMethod<"Returns a score for each class.", "::mlir::Value", "getScores">,
    InterfaceMethod<"Returns the index of the target class of each row of scores.", "::mlir::Value", "getRightClasses">,
  ];
}

#endif // PPOPT_DIALECT_PP_INTERFACES
