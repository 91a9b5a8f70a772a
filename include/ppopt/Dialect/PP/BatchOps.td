//===- BatchOps.td - Rows of a microbatch, and states ---- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_BATCH_OPS
#define PPOPT_DIALECT_PP_BATCH_OPS

include "ppopt/Dialect/PP/OpBase.td"

//===----------------------------------------------------------------------===//
// Rows of a microbatch
//===----------------------------------------------------------------------===//

def PP_PerMicrobatchOp : PP_Op<"per_microbatch", [SingleBlock, RecursiveMemoryEffects, NoRegionArguments]> {
  let summary = "computes with the rows of one microbatch, all ranks together";
  let opDocGroup = PP_ModelOps;
  let description = [{
    For ops that mix the rows of a batch: a contrastive loss, statistics over the batch. With m microbatches the region runs m times, each time with
    the rows of one microbatch, of all ranks. A value that it yields has the rows of the batch, in which case each run makes those of its microbatch;
    or it has none, and is the mean over the microbatches. The region reads values from outside, and is written for the whole batch, as all of a
    model is. Without it an op that mixes rows is refused if there are several microbatches, since no step of several would equal that of one.

    Example:

    ```mlir
    %loss = pp.per_microbatch -> tensor<f32> {
      %0 = pp.matmul %a, %b {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32>
      %1 = pp.reduce mean %0 [0, 1] : tensor<8x8xf32>
      pp.yield %1 : tensor<f32>
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "attr-dict-with-keyword (`->` type($results)^)? $body";
}

class PP_MicrobatchOp<string mnemonic> : PP_ModelOp<mnemonic, [PP_LinearSpace, PP_Adjoint, AllElementTypesMatch<["x", "result"]>]> {
  let opDocGroup = PP_InternalOps;
  let arguments = (ins PP_Tensor:$x, OptionalAttr<PP_I64Attr>:$dim, PP_I64Attr:$microbatches);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
  let hasVerifier = 1;
}

def PP_EnterMicrobatchOp : PP_MicrobatchOp<"enter_microbatch"> {
  let summary = "the rows of the running microbatch";
  let description = [{
    Of dimension `dim` of x, which has the rows of the batch outermost, one of `microbatches` parts; without `dim`, x, which is the same for all
    microbatches. The axis of microbatches does not cut the result, which is another tensor for each of them.

    Example:

    ```mlir
    %y = pp.enter_microbatch %x {dim = 0 : i64, microbatches = 2 : i64} : tensor<8x4xf32> to tensor<4x4xf32>
    ```
  }];
}

def PP_LeaveMicrobatchOp : PP_MicrobatchOp<"leave_microbatch"> {
  let summary = "the rows of all microbatches";
  let description = [{
    The adjoint of pp.enter_microbatch. Dimension `dim` of the result has the rows of all `microbatches`, the first outermost; without `dim` the
    result is the sum of what the microbatches have.

    Example:

    ```mlir
    %y = pp.leave_microbatch %x {dim = 0 : i64, microbatches = 2 : i64} : tensor<4x4xf32> to tensor<8x4xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

def PP_ProposeOp : PP_Op<"propose", [SameTypeOperands, MemoryEffects<[MemWrite]>]> {
  let summary = "proposes a new value of a state";
  let opDocGroup = PP_ModelOps;
  let description = [{
    `target` is a pp.param with `state`; one op of a model proposes its value, in training. Each microbatch proposes one, in their order, and the
    step commits the last at its end: a step that updates nothing commits nothing. What the microbatches before have proposed is `pp.proposed`.
    Everything else reads what the last step has committed. No gradient passes.

    Example:

    ```mlir
    %mean = pp.param "running_mean" {init = #pp.init<zeros>, state} : tensor<4xf32>
    %old = pp.proposed %mean : tensor<4xf32>
    %new = pp.add %old, %batch : tensor<4xf32>, tensor<4xf32>
    pp.propose %mean, %new : tensor<4xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$target, PP_FloatTensor:$value);
  let assemblyFormat = "$target `,` $value attr-dict `:` type($target)";
}

def PP_ProposedOp : PP_ModelOp<"proposed", [PP_LinearSpace, SameOperandsAndResultType]> {
  let summary = "what the microbatches of the step so far have made of a state";
  let description = [{
    Before the first microbatch, the state. Only what is proposed may depend on it, so that no activation depends on the order in which microbatches are
    computed.

    Example:

    ```mlir
    %old = pp.proposed %mean : tensor<4xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$target);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$target attr-dict `:` type($target)";
}

def PP_ByModeOp : PP_ModelOp<"by_mode", [PP_LinearSpace, PP_Adjoint, SameOperandsAndResultType]> {
  let summary = "one value in training, another in evaluation";
  let description = [{
    An evaluation, a prediction and a generation compute `evaluation` and what it needs, a step `training`. Nothing chooses while a program runs: they
    are different tasks.

    Example:

    ```mlir
    %y = pp.by_mode %batch, %running : tensor<4xf32>
    ```
  }];
  let arguments = (ins PP_Tensor:$training, PP_Tensor:$evaluation);
  let results = (outs PP_Tensor:$result);
  let assemblyFormat = "$training `,` $evaluation attr-dict `:` type($training)";
}

//===----------------------------------------------------------------------===//
// Batch norm
//===----------------------------------------------------------------------===//

def PP_BatchNormOp : PP_Op<"batch_norm", [PP_Space, PP_Decompose, AllTypesMatch<["x", "result"]>,
                                          AllTypesMatch<["scale", "bias", "mean", "variance"]>, MemoryEffects<[MemWrite]>]> {
  let summary = "x normalized by the statistics of a batch, * scale + bias";
  let opDocGroup = PP_ModelOps;
  let description = [{
    As PyTorch's BatchNorm with running statistics: for each index of `dim`, in training (x - mean) / sqrt(variance + eps) over all other dimensions,
    with the rows of one microbatch and of all ranks (SyncBatchNorm); in evaluation with the states `mean` and `variance`. A step moves these towards the
    batch's by `momentum`, the variance towards the unbiased one. scale, bias, mean and variance are vectors of the size of `dim`. `eps` defaults to 1e-5,
    `momentum` to 0.1, `dim` to 1. A composite, replaced when calls are inlined.

    Example:

    ```mlir
    %scale = pp.param "norm.weight" {init = #pp.init<ones>} : tensor<4xf32>
    %bias = pp.param "norm.bias" {init = #pp.init<zeros>} : tensor<4xf32>
    %mean = pp.param "norm.running_mean" {init = #pp.init<zeros>, state} : tensor<4xf32>
    %variance = pp.param "norm.running_var" {init = #pp.init<ones>, state} : tensor<4xf32>
    %y = pp.batch_norm %x, %scale, %bias, %mean, %variance {momentum = 0.1 : f64} : tensor<8x4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$scale, PP_FloatTensor:$bias, PP_FloatTensor:$mean, PP_FloatTensor:$variance,
                       DefaultValuedAttr<PP_I64Attr, "1">:$dim, DefaultValuedAttr<PP_RealAttr, "1e-5">:$eps,
                       DefaultValuedAttr<PP_RealAttr, "0.1">:$momentum);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale `,` $bias `,` $mean `,` $variance attr-dict `:` type($x) `,` type($scale)";
  let hasVerifier = 1;
}

def PP_UnbiasedVarianceOp : PP_ModelOp<"unbiased_variance", [PP_Space, PP_Decompose, AllTypesMatch<["variance", "result"]>]> {
  let summary = "variance * n / (n - 1)";
  let opDocGroup = PP_InternalOps;
  let description = [{
    The variance of x over some dimensions, which have size 1 in `variance`; n is the number of its elements there. pp.batch_norm makes it: n is that of a
    microbatch, which is known after pp-lower-microbatches.

    Example:

    ```mlir
    %u = pp.unbiased_variance %variance, %x : tensor<1x4xf32>, tensor<8x4xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$variance, PP_FloatTensor:$x);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$variance `,` $x attr-dict `:` type($variance) `,` type($x)";
  let hasVerifier = 1;
}

#endif // PPOPT_DIALECT_PP_BATCH_OPS
