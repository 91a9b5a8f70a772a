//===- AttentionOps.td - Attention ----------------------- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_ATTENTION_OPS
#define PPOPT_DIALECT_PP_ATTENTION_OPS

include "ppopt/Dialect/PP/OpBase.td"

defvar PP_AttentionForm = [DeclareOpInterfaceMethods<PP_KernelFormOpInterface, ["getFormWork"]>, DeclareOpInterfaceMethods<PP_AttentionOpInterface>];

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

#endif // PPOPT_DIALECT_PP_ATTENTION_OPS
