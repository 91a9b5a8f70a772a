//===- ParallelOps.td - Where a model computes ----------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_PARALLEL_OPS
#define PPOPT_DIALECT_PP_PARALLEL_OPS

include "ppopt/Dialect/PP/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

def PP_OnOp : PP_Op<"on", [SingleBlock, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "marks ops with the place that they run on";
  let opDocGroup = PP_ModelOps;
  let description = [{
    In models. It applies to all ops inside, including those of called functions, unless an inner `pp.on` overrides it. The
    region reads values from outside. Its yielded values are visible outside.

    Example:

    ```mlir
    %h = pp.on 1 -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.yield %0 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins PP_I64Attr:$place);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$place attr-dict-with-keyword (`->` type($results)^)? $body";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Placed and train
//===----------------------------------------------------------------------===//

def PP_PlaceOp : PP_Op<"place", [SingleBlock, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "a stage: ops that run on one place";
  let description = [{
    The region reads values from outside. Its yielded values are visible outside. From phase `placed` on every model op but `pp.param` and `pp.copy` is in
    one. Stages are numbered in topological order. `backward`: the stage's adjoint ops, in phase `train`. `evaluation`:
    forward ops of the stage that run in evaluation only, because training has them in the backward.

    Example:

    ```mlir
    func.func @placed(%x: tensor<4x8xf32>) -> tensor<f32> {
      %h = pp.place 0 stage 0 -> tensor<4x8xf32> {
        %0 = pp.tanh %x : tensor<4x8xf32>
        pp.yield %0 : tensor<4x8xf32>
      }
      %copied = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
      %loss = pp.place 1 stage 1 -> tensor<f32> {
        %1 = pp.reduce mean %copied [0, 1] : tensor<4x8xf32>
        pp.yield %1 : tensor<f32>
      }
      return %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins PP_I64Attr:$place, PP_I64Attr:$stage, UnitAttr:$backward, UnitAttr:$evaluation);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$place `stage` $stage (`backward` $backward^)? (`evaluation` $evaluation^)? attr-dict-with-keyword (`->` type($results)^)? $body";
  let hasVerifier = 1;
}

def PP_CopyOp : PP_ModelOp<"copy", [PP_LinearSpace, SameOperandsAndResultType]> {
  let summary = "a value on another place";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Between the stages, one per value and destination. Its adjoint is the copy back,
    whose `gradient_of` is this one's `id`. In a local schedule the copy of a `microbatch`, to a `slot` of place `to`.

    Example:

    ```mlir
    %y = pp.copy %x from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, PP_I64Attr:$from, PP_I64Attr:$to, PP_I64Attr:$id, OptionalAttr<PP_I64Attr>:$gradient_of,
                       OptionalAttr<PP_I64Attr>:$microbatch, OptionalAttr<PP_I64Attr>:$slot);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x `from` $from `to` $to attr-dict `:` type($x)";
  let builders = [OpBuilder<(ins "::mlir::Value":$x, "int64_t":$from, "int64_t":$to, "int64_t":$id, "::mlir::IntegerAttr":$gradient_of), [{
    build($_builder, $_state, x, from, to, id, gradient_of, /*microbatch=*/nullptr, /*slot=*/nullptr);
  }]>];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def PP_YieldOp : PP_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["PlaceOp", "OnOp", "PerMicrobatchOp", "RepeatOp", "ScheduleOp"]>]> {
  let summary = "ends a region; its values are visible outside";
  let opDocGroup = PP_ModelOps;
  let description = [{
    Ends the region of `pp.on`, of `pp.per_microbatch`, of `pp.repeat` and of `pp.place`. That of a `pp.schedule` leaves its tokens in flight: the next schedule of the place takes them.

    Example:

    ```mlir
    pp.on 0 {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.yield
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

def PP_AddGradOp : PP_Op<"add_grad", [HasParent<"PlaceOp">, SameTypeOperands, MemoryEffects<[MemWrite]>]> {
  let summary = "adds to a parameter's gradient";
  let description = [{
    `gradient` is a part of the gradient of the loss of the global batch with respect to `param`: the contribution of the parameter's uses
    in one stage. Parts of several stages and microbatches add up. A parameter learns if some op adds to its gradient, and is never changed
    otherwise. Autodiff puts the ops of a stage at the end of its backward region, in the order of the parameters. A task adds to the accumulator of its
    place. Where the gradient depends on no row of the batch, each of the batch's `tiles` computes the whole of
    it, and adds its share: the gradient divided by `tiles`.

    Example:

    ```mlir
    func.func @train(%dw: tensor<4x8xf32>) {
      %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4x8xf32>
      pp.place 0 stage 0 backward {
        pp.add_grad %w, %dw : tensor<4x8xf32>
        pp.yield
      }
      return
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$param, PP_FloatTensor:$gradient, OptionalAttr<PP_I64Attr>:$tiles);
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
  I32EnumAttrCase<"Update", 6, "update">,
  I32EnumAttrCase<"Collect", 7, "collect">,    // adds the gradients of places that borrow a bucket
  I32EnumAttrCase<"Loss", 8, "loss">,           // evaluation's part of a forward whose training's is in the backward
  I32EnumAttrCase<"Decide", 9, "decide">,       // whether and how the updates of a place change anything
  I32EnumAttrCase<"Evaluation", 10, "evaluation">, // a stage's forward in an evaluation of a model that has metrics
  I32EnumAttrCase<"Average", 11, "average">,       // exchanges a bucket's parameters with their averages
  I32EnumAttrCase<"Open", 12, "open">,             // begins the proposals of a place's states with the states
  I32EnumAttrCase<"Commit", 13, "commit">]>;       // makes a place's proposals its states, unless the step holds
def PP_TaskKindAttr : EnumAttr<PP_Dialect, PP_TaskKind, "task_kind"> {
  let assemblyFormat = "$value";
}

def PP_TaskOp : PP_Op<"task", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "an isolated piece of a step";
  let description = [{
    `pp.task KIND [stage N] [on P]`: of a stage, or (prologue, open, collect, norm, decide, update, commit, average: without a stage) of a place; P
    defaults to 0. Runs once per microbatch (prologue, forward, backward) or once per step (open, collect, norm, decide, update, commit), or (average)
    before and after an evaluation. An argument or result without a `pp.role` is a
    value, which `pp.step` hands from one task to another. A role says which state it is; the body can refer to nothing else outside. Shapes are those of one microbatch on one rank.
    From phase `kernels` on the arguments are buffers (memrefs), results have become arguments, a tied
    argument and result are one; `temp_bytes` is the size of the task's temporaries, the last `workspace_bytes` of which are
    library workspace.

    `collectives` are those that a run makes, in the order of their starts on each channel: each is in the body.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, PP_TaskKindAttr:$kind, PP_I64Attr:$stage, PP_I64Attr:$place,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs,
    OptionalAttr<PP_I64Attr>:$temp_bytes, OptionalAttr<PP_I64Attr>:$workspace_bytes,
    OptionalAttr<PP_TaskCollectives>:$collectives);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::pp::TaskKind":$kind, "int64_t":$stage, "int64_t":$place, "::mlir::FunctionType":$type)>];
  let extraClassDeclaration = [{
    /// The stage of a task that belongs to a place.
    static constexpr int64_t kNoStage = -1;
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// The role of an argument or a result: RoleKind::Value for values.
    ::mlir::pp::RoleAttr getArgRole(unsigned i);
    ::mlir::pp::RoleAttr getResultRole(unsigned i);
    /// The argument that result i is tied to (same role), or nothing.
    std::optional<unsigned> getTiedArgument(unsigned resultNumber);
    /// What a run of the task binds: the arguments, then the results that are tied to none. These results become arguments in phase kernels.
    ::llvm::SmallVector<::mlir::pp::TaskOperand> getBoundOperands();
    /// The numbers of the arguments and results that are values, which tasks hand to one another. All others are state.
    ::llvm::SmallVector<unsigned> getValueArguments();
    ::llvm::SmallVector<unsigned> getValueResults();
    /// The collectives that a run makes; empty if there are none.
    ::llvm::SmallVector<::mlir::pp::TaskCollectiveAttr> getCollectiveList();
  }];
}

def PP_ReturnOp : PP_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["TaskOp", "KernelOp"]>]> {
  let summary = "the results of a task or a kernel";
  let description = [{
    Ends the body of `pp.task` and of `pp.kernel`.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{}]>];
}

def PP_ReshardOp : PP_ModelOp<"reshard", [AllElementTypesMatch<["x", "result"]>]> {
  let summary = "the same value under another sharding";
  let opDocGroup = PP_InternalOps;
  let description = [{
    `shape` is the global shape. The op assembles the global value from all coordinates (adds up partial sums, takes the maximum of partial maxima) and
    gives each coordinate what `to` says; where `to` has a partial sum and `from` is whole, the value divided by the parts of the axis. Both types are
    global until shapes are local. A rank sends `bytes` bytes.

    Example:

    ```mlir
    %y = pp.reshard %x from #pp.sharding<[{}, {} ], sum = {tp}> to #pp.sharding<[{}, {} ]> of [4, 8] {bytes = 128 : i64} : tensor<4x8xf32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, PP_ShardingAttr:$from, PP_ShardingAttr:$to, DenseI64ArrayAttr:$shape, PP_I64Attr:$bytes);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x `from` $from `to` $to `of` $shape attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

def PP_OwnPartOp : PP_ModelOp<"own_part", [PP_TiledSpace, PP_Element, AllElementTypesMatch<["x", "result"]>]> {
  let summary = "the rank's part of a value that all ranks have";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Dimension `dim` of x has a part for each coordinate on an axis, and that of the result has 1 element: the part of the rank's coordinate, element `at`
    of the random key.

    Example:

    ```mlir
    %y = pp.own_part %x {at = 4 : i64, dim = 0 : i64} : tensor<2x8xf32> to tensor<1x8xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$x, Optional<PP_IntTensor>:$key, PP_I64Attr:$dim, PP_I64Attr:$at);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x (`key` $key^ `:` type($key))? attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

def PP_BatchSumOp : PP_ModelOp<"batch_sum", [SameOperandsAndResultType]> {
  let summary = "completes a partial sum over the batch";
  let opDocGroup = PP_InternalOps;
  let description = [{
    The operand is this tile's part of a sum over the batch that depends on model inputs alone. The result is the sum over all
    microbatches and data-parallel ranks. The prologue computes it, so it is known before the first forward. With `count` it is the number of
    counted targets: if it is zero the step is skipped.

    Example:

    ```mlir
    %all = pp.batch_sum %partial : tensor<f32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$partial, UnitAttr:$count);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$partial attr-dict `:` type($partial)";
}

def PP_MaskRowsOp : PP_ModelOp<"mask_rows", [PP_TiledSpace, PP_Element, AllTypesMatch<["x", "result"]>]> {
  let summary = "`x` where the row of the batch counts, else `fill`";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Index i of dimension `dim` is of row (i mod `period`) / (`period` / `rows`) of the batch's `rows`. The last batch of an evaluation may have fewer rows
    that count: the first ones, as many as the random key says. In training all of them count.

    Example:

    ```mlir
    %counted = pp.mask_rows %losses {dim = 0 : i64, period = 8 : i64, rows = 8 : i64} : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins PP_NumberTensor:$x, Optional<PP_IntTensor>:$key, PP_I64Attr:$dim, PP_I64Attr:$period, PP_I64Attr:$rows,
                       DefaultValuedOptionalAttr<PP_I64Attr, "0">:$fill, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_NumberTensor:$result);
  let assemblyFormat = "$x (`key` $key^ `:` type($key))? attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def PP_EvaluationShareOp : PP_ModelOp<"evaluation_share", [PP_TiledSpace, PP_Element, AllTypesMatch<["x", "result"]>]> {
  let summary = "one batch's share of a value that an evaluation sums over its batches";
  let opDocGroup = PP_InternalOps;
  let description = [{
    With `rows`, those of a batch, `x` is a mean over them: it is scaled by `rows` over the rows of the whole evaluation. Without, `x` is the same for each
    batch: it is divided by their number. In training it is `x`. The random key has the numbers.

    Example:

    ```mlir
    %share = pp.evaluation_share %mean {rows = 8 : i64} : tensor<f32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, Optional<PP_IntTensor>:$key, OptionalAttr<PP_I64Attr>:$rows);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x (`key` $key^ `:` type($key))? attr-dict `:` type($x)";
}

def PP_AccumulateOp : PP_ModelOp<"accumulate", [PP_LinearSpace, PP_Element, SameOperandsAndResultType]> {
  let summary = "accumulator + value, in place of the accumulator";
  let opDocGroup = PP_InternalOps;
  let description = [{
    In tasks, from an argument to the result that is tied to it.

    Example:

    ```mlir
    %sum = pp.accumulate %gradient, %part : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$accumulator, PP_FloatTensor:$value);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$accumulator `,` $value attr-dict `:` type($accumulator)";
}

#endif // PPOPT_DIALECT_PP_PARALLEL_OPS
