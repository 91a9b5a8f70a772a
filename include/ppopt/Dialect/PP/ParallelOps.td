//===- ParallelOps.td - Where a model computes ----------------*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_PARALLEL_OPS
#define PPOPT_DIALECT_PP_PARALLEL_OPS

include "ppopt/Dialect/PP/ModelOps.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

//===----------------------------------------------------------------------===//
// Placed and train
//===----------------------------------------------------------------------===//

def PP_PlaceOp : PP_Op<"place", [SingleBlock, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "ops that run on one place";
  let description = [{
    The region reads values of outside; what it yields is seen outside. In phase `placed` every model op but `pp.param` is in
    one.
  }];
  let arguments = (ins I64Attr:$place);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$place attr-dict-with-keyword (`->` type($results)^)? $body";
  let hasVerifier = 1;
}

def PP_YieldOp : PP_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["PlaceOp"]>]> {
  let summary = "what is seen outside of a region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

def PP_UpdateOp : PP_Op<"update", [AllTypesMatch<["param", "gradient"]>]> {
  let summary = "the optimizer updates a parameter by its gradient";
  let description = [{
    `gradient` is that of the global batch. A parameter without an update is never changed. Appears
    in phase `train`, one at most for each parameter.
  }];
  let arguments = (ins PP_FloatTensor:$param, PP_FloatTensor:$gradient);
  let assemblyFormat = "$param `,` $gradient attr-dict `:` type($param)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Partitioned
//===----------------------------------------------------------------------===//

def PP_TaskKind : PP_Enum<"TaskKind", "what a task does", [
  I32EnumAttrCase<"Prologue", 0, "prologue">,   // counts that depend on inputs only
  I32EnumAttrCase<"Forward", 1, "forward">,
  I32EnumAttrCase<"Backward", 2, "backward">,   // for inputs and weights
  I32EnumAttrCase<"BackwardInput", 3, "backward_input">,
  I32EnumAttrCase<"BackwardWeight", 4, "backward_weight">,
  I32EnumAttrCase<"Norm", 5, "norm">,
  I32EnumAttrCase<"Update", 6, "update">]>;
def PP_TaskKindAttr : EnumAttr<PP_Dialect, PP_TaskKind, "task_kind"> {
  let assemblyFormat = "$value";
}

def PP_TaskOp : PP_Op<"task", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "an isolated piece of a step";
  let description = [{
    Runs once a microbatch (prologue, forward, backward) or once a step (norm, update). Each argument and result says by
    its `pp.role` what it is; nothing else of outside can be referred to. Shapes are those of one microbatch on one rank.
    From phase `kernels` on the arguments are buffers (memrefs), results have become arguments, a tied
    argument and result are one; `temp_bytes` is the size of the task's temporaries, the last `workspace_bytes` of which are
    library workspace.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PP_TaskKindAttr:$kind, I64Attr:$stage,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
    OptionalAttr<I64Attr>:$temp_bytes, OptionalAttr<I64Attr>:$workspace_bytes);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::pp::TaskKind":$kind, "int64_t":$stage, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The role of an argument or a result; the verifier holds that each has one.
    ::mlir::pp::RoleAttr getArgRole(unsigned i);
    ::mlir::pp::RoleAttr getResultRole(unsigned i);
    /// The argument that result i is tied to (same role), or nothing.
    std::optional<unsigned> getTiedArgument(unsigned resultNumber);
  }];
}

def PP_ReturnOp : PP_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["TaskOp", "KernelOp"]>]> {
  let summary = "the results of a task or a kernel";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

def PP_BatchSumOp : PP_ModelOp<"batch_sum", [SameOperandsAndResultType]> {
  let summary = "completes a partial sum over the batch";
  let description = [{
    The operand is this tile's part of a sum over the batch that depends on model inputs alone; the result is the sum over all
    microbatches and data-parallel ranks. It is known before the first forward: the prologue computes it. With `count` it is how many
    targets are counted: where it is zero the step is skipped.
  }];
  let arguments = (ins PP_FloatTensor:$partial, UnitAttr:$count);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$partial attr-dict `:` type($partial)";
}

def PP_AccumulateOp : PP_ModelOp<"accumulate", [PP_LinearSpace, PP_Element, SameOperandsAndResultType]> {
  let summary = "accumulator + value, in place of the accumulator";
  let arguments = (ins PP_FloatTensor:$accumulator, PP_FloatTensor:$value);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$accumulator `,` $value attr-dict `:` type($accumulator)";
}

#endif // PPOPT_DIALECT_PP_PARALLEL_OPS
