//===- CompositeOps.td - Composites and losses ----------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_COMPOSITE_OPS
#define PPOPT_DIALECT_PP_COMPOSITE_OPS

include "ppopt/Dialect/PP/OpBase.td"

//===----------------------------------------------------------------------===//
// Composites: a fused form is faster, or the gradient needs less memory
//===----------------------------------------------------------------------===//

class PP_RowOp<string mnemonic, list<Trait> traits = []>
    : PP_ModelOp<mnemonic, !listconcat([SameOperandsAndResultType, PP_Space, PP_Decompose, PP_Adjoint], traits)> {
  let description = "\nExample:\n\n```mlir\n%y = pp." # mnemonic # " %x : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_FloatTensor:$x);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
  let hasVerifier = 1;
}

class PP_RowGradOp<string mnemonic, list<Trait> traits = []>
    : PP_ModelOp<mnemonic, !listconcat([SameOperandsAndResultType, PP_LinearSpace, PP_Decompose], traits)> {
  let opDocGroup = PP_InternalOps;
  let description = "\nExample:\n\n```mlir\n%dx = pp." # mnemonic # " %y, %dy : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_FloatTensor:$y, PP_FloatTensor:$dy);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($y)";
  let hasVerifier = 1;
}

def PP_SoftmaxOp : PP_RowOp<"softmax"> { let summary = "softmax over the last dimension"; }
def PP_SoftmaxGradOp : PP_RowGradOp<"softmax_grad"> { let summary = "gradient of softmax from its result y"; }
def PP_LogSoftmaxOp : PP_RowOp<"log_softmax"> { let summary = "log of softmax over the last dimension"; }
def PP_LogSoftmaxGradOp : PP_RowGradOp<"log_softmax_grad"> { let summary = "gradient of log_softmax from its result y"; }

def PP_NormalizeOp : PP_RowOp<"normalize"> {
  let summary = "rows of the last dimension scaled to unit variance";
  let description = [{
    x / sqrt(mean(x²) + eps); with `center`, the row's mean is subtracted first. Layer norm and RMS norm are
    made of it. Statistics of bf16 rows are f32.

    Example:

    ```mlir
    %y = pp.normalize %x {center, eps = 1.0e-5 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, UnitAttr:$center, PP_RealAttr:$eps);
}
def PP_NormalizeGradOp : PP_ModelOp<"normalize_grad", [SameOperandsAndResultType, PP_LinearSpace, PP_Decompose]> {
  let summary = "gradient of normalize from its operand x";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it.

    Example:

    ```mlir
    %dx = pp.normalize_grad %x, %dy {center, eps = 1.0e-5 : f64} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$dy, UnitAttr:$center, PP_RealAttr:$eps);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy attr-dict `:` type($x)";
  let hasVerifier = 1;
}

def PP_LayerNormOp : PP_ModelOp<"layer_norm", [PP_Space, PP_Decompose, AllTypesMatch<["x", "result"]>]> {
  let summary = "normalize(x, center) * scale + bias";
  let description = [{
    A composite, replaced before autodiff. scale and bias are vectors of the last dimension's size. `eps` defaults to 1e-5.

    Example:

    ```mlir
    %y = pp.layer_norm %x, %scale, %bias : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$scale, PP_FloatTensor:$bias, DefaultValuedAttr<PP_RealAttr, "1e-5">:$eps);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale `,` $bias attr-dict `:` type($x) `,` type($scale) `,` type($bias)";
  let hasVerifier = 1;
}

def PP_RmsNormOp : PP_ModelOp<"rms_norm", [PP_Space, PP_Decompose, AllTypesMatch<["x", "result"]>]> {
  let summary = "normalize(x) * scale";
  let description = [{
    A composite, replaced before autodiff. `eps` defaults to 1e-5.

    Example:

    ```mlir
    %y = pp.rms_norm %x, %scale : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$scale, DefaultValuedAttr<PP_RealAttr, "1e-5">:$eps);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $scale attr-dict `:` type($x) `,` type($scale)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

def PP_CrossEntropyOp : PP_ModelOp<"cross_entropy", [PP_Infer, PP_Space, PP_Decompose, PP_Score]> {
  let summary = "mean over counted targets of -log softmax(logits)[target]";
  let description = [{
    logits [..., V], targets [...] in [0, V) or equal to `ignore_index`, which is not counted. A composite, replaced before
    autodiff by the sum of token_loss over a constant, or over `count` if there is an ignore_index. With a `label_smoothing` e in [0, 1] a target
    is the class with 1 - e, and each of the V classes with e / V, as in PyTorch.

    Example:

    ```mlir
    %loss = pp.cross_entropy %logits, %targets {ignore_index = -1 : i64} : tensor<2x4x16xf32>, tensor<2x4xi32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$logits, PP_IntTensor:$targets, OptionalAttr<PP_I64Attr>:$ignore_index,
                       OptionalAttr<PP_RealAttr>:$label_smoothing);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits) `,` type($targets)";
  let hasVerifier = 1;
}

def PP_BceWithLogitsOp : PP_ModelOp<"bce_with_logits", [PP_Infer, PP_Space, PP_Decompose, SameTypeOperands]> {
  let summary = "mean over all elements of the binary cross entropy of logits";
  let description = [{
    Targets are probabilities, most often 0 or 1. An element is (1 - t) x + softplus(-x), which neither overflows nor loses small losses. A composite,
    replaced before autodiff.

    Example:

    ```mlir
    %loss = pp.bce_with_logits %logits, %targets : tensor<8x3xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$logits, PP_FloatTensor:$targets);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits)";
}

def PP_TokenLossOp : PP_ModelOp<"token_loss", [PP_Infer, DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["getIndexRange"]>, PP_Decompose, PP_Adjoint, PP_Score]> {
  let summary = "-log softmax(logits)[target] per row, 0 where ignored";
  let description = [{
    One loss per row of logits, not reduced.

    Example:

    ```mlir
    %losses = pp.token_loss %logits, %targets : tensor<2x4x16xf32>, tensor<2x4xi32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$logits, PP_IntTensor:$targets, OptionalAttr<PP_I64Attr>:$ignore_index);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits) `,` type($targets)";
}

def PP_TokenLossGradOp : PP_ModelOp<"token_loss_grad", [PP_IndexSpace, PP_Decompose, AllTypesMatch<["logits", "result"]>]> {
  let summary = "(softmax(logits) - onehot(target)) * dloss, 0 where ignored";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it.

    Example:

    ```mlir
    %dlogits = pp.token_loss_grad %logits, %targets, %dloss : tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<2x4xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$logits, PP_IntTensor:$targets, PP_FloatTensor:$dloss, OptionalAttr<PP_I64Attr>:$ignore_index);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets `,` $dloss attr-dict `:` type($logits) `,` type($targets) `,` type($dloss)";
  let hasVerifier = 1;
}

def PP_CountOp : PP_ModelOp<"count", [PP_CountedSpace, PP_Decompose]> {
  let summary = "how many targets are not `ignore_index`";
  let description = [{
    If the targets follow from the model's inputs alone, a batch in which the count is zero is skipped.

    Example:

    ```mlir
    %n = pp.count %targets {ignore_index = -1 : i64} : tensor<2x4xi32> to tensor<f32>
    ```
  }];
  let arguments = (ins PP_IntTensor:$targets, PP_I64Attr:$ignore_index);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$targets attr-dict `:` type($targets) `to` type($result)";
  let hasVerifier = 1;
}

def PP_MseOp : PP_ModelOp<"mse", [PP_Infer, PP_Space, PP_Decompose, SameTypeOperands]> {
  let summary = "mean of the squared differences over all elements";
  let description = [{
    A composite, replaced before autodiff.

    Example:

    ```mlir
    %loss = pp.mse %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$x, PP_FloatTensor:$y);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x) `,` type($y)";
}

#endif // PPOPT_DIALECT_PP_COMPOSITE_OPS
