//===- AttentionOps.td - Attention ----------------------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_ATTENTION_OPS
#define PPOPT_DIALECT_PP_ATTENTION_OPS

include "ppopt/Dialect/PP/OpBase.td"

defvar PP_AttentionForm = [DeclareOpInterfaceMethods<PP_KernelFormOpInterface, ["getFormWork"]>,
                           DeclareOpInterfaceMethods<PP_AttentionOpInterface, ["getAttentionScores"]>];

def PP_AttentionOp : PP_ModelOp<"attention", !listconcat(PP_AttentionForm, [AttrSizedOperandSegments, PP_Infer, PP_Decompose, PP_Adjoint,
    PP_Stepwise, DeclareOpInterfaceMethods<PP_IterationSpaceOpInterface, ["drawsNumbers"]>])> {
  let summary = "softmax(scale * q kᵀ) v";
  let description = [{
    q [B, H, T, D], k [B, G, S, D], v [B, G, S, E]; out [B, H, T, E] and lse [B, H, T, 2]. G divides H: query
    head h reads the keys of head h / (H / G), so a group of consecutive query heads shares keys and values.

    lse is the log-sum-exp of each row of scores in two parts, whose sum it is: the largest score, and the log of
    the sum of exponentials of the scores minus that. Added up, large scores would leave no digits of the log.

    The position of query t is p = t + S - T, so the last query is at the last key. What happens to the score of
    query t and key s, in this order:

    1. `scale` times q·k; by default 1/sqrt(D).
    2. `soft_cap = c`: c tanh(score / c).
    3. `slopes` [H]: plus slopes[h] (s - p) (ALiBi).
    4. `bias` [1 or B, 1 or H, 1 or T, 1 or S], of q's type or, for bf16, f32: is added. It has a gradient, as `slopes` have.
    5. The key is hidden: by `causal` if s > p; by `window = w` if s <= p - w or s >= p + w; by a `mask` of
       such a shape where it is false; by `segments` [B, T] (T = S) if they differ at t and s (documents that are packed into one row).

    `causal`, `window` and `slopes` need T <= S. A query that sees no key has an output and gradients of zero, and
    an lse of 0 and infinity. `dropout = p` applies to the probabilities; `stream` is that of `pp.dropout`.

    Example:

    ```mlir
    func.func @attend(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x8x16xf32>, %mask: tensor<2x1x1x8xi1>) -> tensor<2x4x8x16xf32> {
      %out, %lse = pp.attention %q, %k, %k mask %mask {causal, window = 4 : i64}
          : tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x1x1x8xi1>
      return %out : tensor<2x4x8x16xf32>
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$q, PP_FloatTensor:$k, PP_FloatTensor:$v, Optional<PP_FloatTensor>:$bias,
                       Optional<PP_BoolTensor>:$mask, Optional<PP_FloatTensor>:$slopes, Optional<PP_IntTensor>:$segments,
                       UnitAttr:$causal, OptionalAttr<PP_I64Attr>:$window, OptionalAttr<PP_RealAttr>:$soft_cap,
                       OptionalAttr<PP_RealAttr>:$scale, OptionalAttr<PP_RealAttr>:$dropout, OptionalAttr<PP_I64Attr>:$stream);
  let results = (outs PP_FloatTensor:$out, PP_FloatTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`bias` $bias^)? (`mask` $mask^)? (`slopes` $slopes^)? (`segments` $segments^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
}

def PP_AttentionGradOp : PP_ModelOp<"attention_grad", !listconcat(PP_AttentionForm, [AttrSizedOperandSegments, PP_LinearSpace, PP_Decompose,
    AllTypesMatch<["q", "dq"]>, AllTypesMatch<["k", "dk"]>, AllTypesMatch<["v", "dv"]>, AllTypesMatch<["out", "dout"]>])> {
  let summary = "gradients of attention; the probabilities are computed again from lse";
  let opDocGroup = PP_InternalOps;
  let description = [{
    Autodiff makes it. The result dbias [B, H, T, S] is the gradient of what a bias or slopes add to each score; the op has it only
    if one of them needs a gradient.

    Example:

    ```mlir
    !x = tensor<2x3x4x8xf32>
    !lse = tensor<2x3x4x2xf32>
    func.func @gradients(%q: !x, %k: !x, %v: !x, %out: !x, %lse: !lse, %dout: !x) -> (!x, !x, !x) {
      %dq, %dk, %dv = pp.attention_grad %q, %k, %v, %out, %lse, %dout {causal} : !x, !x, !x, !x, !lse
      return %dq, %dk, %dv : !x, !x, !x
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$q, PP_FloatTensor:$k, PP_FloatTensor:$v, PP_FloatTensor:$out, PP_FloatTensor:$lse,
                       PP_FloatTensor:$dout, Optional<PP_FloatTensor>:$bias, Optional<PP_BoolTensor>:$mask,
                       Optional<PP_FloatTensor>:$slopes, Optional<PP_IntTensor>:$segments, UnitAttr:$causal,
                       OptionalAttr<PP_I64Attr>:$window, OptionalAttr<PP_RealAttr>:$soft_cap, OptionalAttr<PP_RealAttr>:$scale);
  let results = (outs PP_FloatTensor:$dq, PP_FloatTensor:$dk, PP_FloatTensor:$dv, Optional<PP_FloatTensor>:$dbias);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $dout (`bias` $bias^)? (`mask` $mask^)? (`slopes` $slopes^)? (`segments` $segments^)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($lse)
    (`bias` type($bias)^)? (`mask` type($mask)^)? (`slopes` type($slopes)^)? (`segments` type($segments)^)? (`->` type($dbias)^)?
  }];
  let hasVerifier = 1;
}

def PP_AttentionStepOp : PP_ModelOp<"attention_step", [PP_Infer, PP_Space, PP_Decompose,
    DeclareOpInterfaceMethods<PP_KernelFormOpInterface, ["getFormWork", "getOverwritten"]>,
    DeclareOpInterfaceMethods<PP_AttentionOpInterface, ["getAttentionScores"]>]> {
  let summary = "causal attention of one position, from caches of keys and values";
  let opDocGroup = PP_InternalOps;
  let description = [{
    q [B, H, 1, D], k [B, G, 1, D] and v [B, G, 1, E] are those of the position `at` [1]. The caches [B, G, S, D] and [B, G, S, E] hold those
    of the positions before it. out [B, H, 1, E] is attention over the positions 0..at: of all, or of the last `window` of them. k_after and
    v_after are the caches with this position's rows, in place of k_cache and v_cache. Rows after the position are not read.

    Example:

    ```mlir
    !row = tensor<1x3x1x8xf32>
    !cache = tensor<1x3x16x8xf32>
    func.func @step(%q: !row, %k: !row, %v: !row, %keys: !cache, %values: !cache, %at: tensor<1xi64>) -> !row {
      %out, %keys_after, %values_after = pp.attention_step %q, %k, %v cache %keys, %values at %at {scale = 0.35 : f64}
          : !row, !row, !row, !cache, !cache, tensor<1xi64>
      return %out : !row
    }
    ```
  }];
  let arguments = (ins PP_FloatTensor:$q, PP_FloatTensor:$k, PP_FloatTensor:$v, PP_FloatTensor:$k_cache, PP_FloatTensor:$v_cache,
                       PP_IntTensor:$at, Optional<PP_FloatTensor>:$slopes, OptionalAttr<PP_I64Attr>:$window,
                       OptionalAttr<PP_RealAttr>:$soft_cap, PP_RealAttr:$scale);
  let results = (outs PP_FloatTensor:$out, PP_FloatTensor:$k_after, PP_FloatTensor:$v_after);
  let assemblyFormat = [{
    $q `,` $k `,` $v `cache` $k_cache `,` $v_cache `at` $at (`slopes` $slopes^)? attr-dict `:` type(operands)
  }];
  let hasVerifier = 1;
}

#endif // PPOPT_DIALECT_PP_ATTENTION_OPS
