//===- CompositeOps.td - Composites and losses ----------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_COMPOSITE_OPS
#define PPOPT_DIALECT_PP_COMPOSITE_OPS

include "ppopt/Dialect/PP/ModelOps.td"

defvar PP_AttentionForm = [DeclareOpInterfaceMethods<PP_KernelFormOpInterface, ["getFormWork"]>, DeclareOpInterfaceMethods<PP_AttentionOpInterface>];

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

def PP_EmbeddingOp : PP_ModelOp<"embedding", [PP_Infer, PP_TableSpace, PP_Element, PP_Adjoint]> {
  let summary = "rows of a table [V, C] at ids [...]: [..., C]";
  let description = [{
    Ids are in [0, V). The runtime checks ids that come unchanged from the model's inputs; the task checks all others. A step with an id that is out
    of range is non-finite. Linear in the table. Where axes cut the rows of the table, `tile` says how the table is cut, and `key` is the random key,
    which has the rank's coordinates: rows for ids of other tiles are zero.

    Example:

    ```mlir
    %x = pp.embedding %table, %ids : tensor<256x8xf32>, tensor<2x4xi32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$table, PP_IntTensor:$ids, Optional<PP_IntTensor>:$key, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids (`key` $key^ `:` type($key))? attr-dict `:` type($table) `,` type($ids)";
  let hasVerifier = 1;
}

def PP_EmbeddingGradOp : PP_ModelOp<"embedding_grad", [PP_TableSpace, PP_Form]> {
  let summary = "adds each row of dy to the row of a zero table that its id names";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it. Where axes cut the rows of the table, `tile` and `key` are as in pp.embedding: rows of dy for ids of other tiles are left out.

    Example:

    ```mlir
    %dtable = pp.embedding_grad %ids, %dy : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<256x8xf32>
    ```
  }];
  let arguments = (ins PP_IntTensor:$ids, PP_FloatTensor:$dy, Optional<PP_IntTensor>:$key, OptionalAttr<PP_TileAttr>:$tile);
  let results = (outs PP_FloatTensor:$result);
  let assemblyFormat = "$ids `,` $dy (`key` $key^ `:` type($key))? attr-dict `:` type($ids) `,` type($dy) `to` type($result)";
  let hasVerifier = 1;
}

def PP_AttentionOp : PP_ModelOp<"attention", !listconcat(PP_AttentionForm, [PP_Infer, PP_Space, PP_Decompose, PP_Adjoint, PP_Stepwise])> {
  let summary = "softmax(scale * q kᵀ) v";
  let description = [{
    q [B, H, T, D], k [B, H, S, D], v [B, H, S, E]; out [B, H, T, E], and the log of each row's sum of
    exponentials, lse [B, H, T]. `causal` (T = S): position t sees 0..t. `scale` defaults to 1/sqrt(D).

    Example:

    ```mlir
    %out, %lse = pp.attention %q, %k, %v {causal} : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>
    ```
  }];
  let arguments = (ins PP_FloatTensor:$q, PP_FloatTensor:$k, PP_FloatTensor:$v, UnitAttr:$causal, OptionalAttr<PP_RealAttr>:$scale);
  let results = (outs PP_FloatTensor:$out, PP_FloatTensor:$lse);
  let assemblyFormat = "$q `,` $k `,` $v attr-dict `:` type($q) `,` type($k) `,` type($v)";
}

def PP_AttentionGradOp : PP_ModelOp<"attention_grad", !listconcat(PP_AttentionForm, [PP_LinearSpace, PP_Decompose,
    AllTypesMatch<["q", "dq"]>, AllTypesMatch<["k", "dk"]>, AllTypesMatch<["v", "dv"]>, AllTypesMatch<["out", "dout"]>])> {
  let summary = "gradients of attention; the probabilities are computed again from lse";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it.

    Example:

    ```mlir
    !x = tensor<2x3x4x8xf32>
    !lse = tensor<2x3x4xf32>
    func.func @gradients(%q: !x, %k: !x, %v: !x, %out: !x, %lse: !lse, %dout: !x) -> (!x, !x, !x) {
      %dq, %dk, %dv = pp.attention_grad %q, %k, %v, %out, %lse, %dout {causal} : !x, !x, !x, !x, !lse
      return %dq, %dk, %dv : !x, !x, !x
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$q, PP_FloatTensor:$k, PP_FloatTensor:$v, PP_FloatTensor:$out,
                       PP_FloatTensor:$lse, PP_FloatTensor:$dout, UnitAttr:$causal, OptionalAttr<PP_RealAttr>:$scale);
  let results = (outs PP_FloatTensor:$dq, PP_FloatTensor:$dk, PP_FloatTensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $dout attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def PP_AttentionStepOp : PP_ModelOp<"attention_step", [PP_Space, PP_Decompose,
    DeclareOpInterfaceMethods<PP_KernelFormOpInterface, ["getFormWork", "getOverwritten"]>, DeclareOpInterfaceMethods<PP_AttentionOpInterface>,
    AllTypesMatch<["q", "k"]>, AllTypesMatch<["v", "out"]>, AllTypesMatch<["k_cache", "k_after"]>, AllTypesMatch<["v_cache", "v_after"]>]> {
  let summary = "causal attention of one position, from caches of keys and values";
  let opDocGroup = PP_InternalOps;
  let description = [{
    q, k [B, H, 1, D] and v [B, H, 1, E] are those of the position `at` [1]. The caches [B, H, S, D] and [B, H, S, E] hold those of the positions
    before it. out [B, H, 1, E] is attention over the positions 0..at. k_after and v_after are the caches with this position's rows, in place of k_cache
    and v_cache. Rows after the position are not read.

    Example:

    ```mlir
    !row = tensor<1x3x1x8xf32>
    !cache = tensor<1x3x16x8xf32>
    func.func @step(%q: !row, %k: !row, %v: !row, %keys: !cache, %values: !cache, %at: tensor<1xi64>) -> !row {
      %out, %keys_after, %values_after = pp.attention_step %q, %k, %v cache %keys, %values at %at {scale = 0.35 : f64}
          : !row, !row, !cache, !cache, tensor<1xi64>
      return %out : !row
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$q, PP_FloatTensor:$k, PP_FloatTensor:$v, PP_FloatTensor:$k_cache, PP_FloatTensor:$v_cache,
                       PP_IntTensor:$at, PP_RealAttr:$scale);
  let results = (outs PP_FloatTensor:$out, PP_FloatTensor:$k_after, PP_FloatTensor:$v_after);
  let assemblyFormat = [{
    $q `,` $k `,` $v `cache` $k_cache `,` $v_cache `at` $at attr-dict `:` type($q) `,` type($v) `,` type($k_cache) `,` type($v_cache) `,` type($at)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

class PP_IndexOfOp<string mnemonic, string which> : PP_ModelOp<mnemonic, [PP_Infer, PP_Space, PP_Decompose]> {
  let summary = "index of the " # which # " element along `dim`";
  let description = "Of equal elements the first; a NaN is before all numbers. The result lacks `dim`; it has no gradient. A composite, replaced before"
      "\nautodiff.\n\nExample:\n\n```mlir\n%i = pp." # mnemonic # " %x {dim = 1 : i64} : tensor<4x8xf32>\n```\n";
  let arguments = (ins PP_NumberTensor:$x, PP_I64Attr:$dim);
  let results = (outs PP_IntTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}
def PP_ArgmaxOp : PP_IndexOfOp<"argmax", "largest">;
def PP_ArgminOp : PP_IndexOfOp<"argmin", "smallest">;

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

def PP_CheckIdsOp : PP_ModelOp<"check_ids", [PP_Decompose, AllTypesMatch<["status", "result"]>]> {
  let summary = "records an id that is out of range";
  let opDocGroup = PP_InternalOps;
  let description = [{
    The result is the status, if that is not 0. Else it is the largest of the ids that are neither in [0, `size`) nor equal to `ignore_index`, where
    negative ids count as larger than all others; 0 if there is none. In tasks.

    Example:

    ```mlir
    %after = pp.check_ids %status, %ids {size = 16 : i64} : tensor<i64>, tensor<2x4xi32>
    ```
  }];
  let arguments = (ins PP_IntTensor:$status, PP_IntTensor:$ids, PP_I64Attr:$size, OptionalAttr<PP_I64Attr>:$ignore_index);
  let results = (outs PP_IntTensor:$result);
  let assemblyFormat = "$status `,` $ids attr-dict `:` type($status) `,` type($ids)";
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
