//===- Interfaces.td - What an op tells the passes ------- -*- tablegen -*-===//
//
// A pass knows ops by these interfaces only. See docs/adding-an-op.md.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_DIALECT_PP_INTERFACES
#define PPOPT_DIALECT_PP_INTERFACES

include "mlir/IR/OpBase.td"

def PP_IterationSpaceOpInterface : OpInterface<"IterationSpaceOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    Describes an op as a loop nest: its loops, each parallel, a reduction or
    whole, and for each dimension of each operand and result the ordered list
    of loops that it runs over. The sharding rule, the batch proof, FLOPs and
    bytes follow from it.
  }];
  let methods = [
    InterfaceMethod<[{
      The op's iteration space, for the shapes that its operands have now.
    }], "::mlir::pp::IterationSpace", "getIterationSpace">,
    InterfaceMethod<[{
      Whether the results are linear in these operands taken together, all
      others being held fixed: f(ax + by) = a f(x) + b f(y). A sum over the
      batch that is not yet complete may pass through such an op only.
      `operands` is never empty.
    }], "bool", "isLinearIn", (ins "::llvm::ArrayRef<unsigned>":$operands),
    /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      Called after the op was moved to tiles of its operands and results (dimension
      `dim` of result 0 is now a part, beginning at `tile`, of the global one). An op
      whose result depends on the global index (iota, dropout) records it; for all
      others this does nothing.
    }], "void", "setTile", (ins "const ::mlir::pp::TileInfo &":$tile),
    /*methodBody=*/"", /*defaultImplementation=*/"(void)tile;">,
    InterfaceMethod<[{
      Whether results depend on the position in the global tensor or on the step,
      so that the op needs the random key `tensor<4xi64>` (seed, step, row offset,
      training) as an operand when tasks are formed.
    }], "bool", "needsRandomKey", (ins),
    /*methodBody=*/"", /*defaultImplementation=*/"return false;">,
    InterfaceMethod<[{
      If the values of this integer operand index something: their range. The runtime checks values that come
      unchanged from the model's inputs, the task that holds the op all others.
    }], "::std::optional<::mlir::pp::IndexRange>", "getIndexRange", (ins "unsigned":$operand),
    /*methodBody=*/"", /*defaultImplementation=*/"return ::std::nullopt;">,
  ];
}

def PP_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    Builds the op's adjoint. An op that has no such interface and no
    decomposition can't be differentiated, and autodiff says so by name.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends ops that compute the gradients of the operands. `resultGrads[i]` is
      the gradient of result i, or null where it is zero (at least one is
      not). `needed[i]` says whether operand i needs a gradient. Sets
      `operandGrads[i]`, of operand i's type, for each needed operand; may leave it null where it
      is zero. Must not build what no needed gradient uses. Fails, after an error, if
      a given gradient can't be propagated to the operands.
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
    An op that is a composition of others. `Model` compositions are replaced
    before differentiation, while shapes are global; `Kernel` compositions have a gradient
    of their own and are replaced when kernels are formed.
  }];
  let methods = [
    InterfaceMethod<"When the op is replaced.",
      "::mlir::pp::DecomposeAt", "getDecomposeAt">,
    InterfaceMethod<[{
      Appends the replacement and returns one value for each result, of the
      result's type.
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
      value for each dimension). `read(i, idx)` emits the read of operand i at idx.
      Floating-point scalars are in the compute type: f32 for bf16 tensors (the
      reader extends, the writer truncates), else the element type. Null after an error
      if the op lacks what it needs (a random key).
    }], "::mlir::Value", "emitElement",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$index,
         "::mlir::pp::ElementReader":$read)>,
  ];
}

def PP_StepwiseOpInterface : OpInterface<"StepwiseOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = [{
    An op that mixes positions of a sequence, but takes nothing of a later position to an earlier one: it can go on position by
    position from caches of what earlier ones left.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether it can, where dimension `timeDims[i]` of operand i is the sequence (-1: it has none). Fails after an error that says
      why not.
    }], "::llvm::LogicalResult", "checkStepwise", (ins "::llvm::ArrayRef<int64_t>":$timeDims)>,
    InterfaceMethod<"The dimension of each result that is the sequence.",
      "::llvm::SmallVector<int64_t>", "getResultTimeDims">,
    InterfaceMethod<[{
      The types of the caches for the shapes that the operands have now: all positions, the same bytes for each.
    }], "::llvm::SmallVector<::mlir::RankedTensorType>", "getCacheTypes">,
    InterfaceMethod<[{
      Appends the op for one position: `operands` are those of the op with a sequence of 1, `position` a tensor<1xi64>. Returns a value for
      each result, null for one that a step does not give; sets `newCaches` to the caches with the position added, in place of `caches`.
    }], "::llvm::SmallVector<::mlir::Value>", "buildStep",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands, "::mlir::ValueRange":$caches,
         "::mlir::Value":$position, "::llvm::SmallVectorImpl<::mlir::Value> &":$newCaches)>,
  ];
}

def PP_ScoreOpInterface : OpInterface<"ScoreOpInterface"> {
  let cppNamespace = "::mlir::pp";
  let description = "An op that holds scores of classes, the last dimension, against the classes that are right: the loss of a language model.";
  let methods = [
    InterfaceMethod<"A score for each class.", "::mlir::Value", "getScores">,
    InterfaceMethod<"The number of the class that is right, for each row of scores.", "::mlir::Value", "getRightClasses">,
  ];
}

#endif // PPOPT_DIALECT_PP_INTERFACES
