// --mesh dp=2 --block-bytes 64 --recompute layer

!ids = tensor<4x4xi32>
!x = tensor<4x4x4xf32>
!x3 = tensor<4x4x12xf32>
!x4 = tensor<4x4x16xf32>
!split = tensor<4x4x6x2xf32>
!heads3 = tensor<4x6x4x2xf32>
!heads = tensor<4x2x4x2xf32>
!merged = tensor<4x4x2x2xf32>
!logits = tensor<4x4x8xf32>
!c = tensor<4xf32>
!c3 = tensor<12xf32>
!c4 = tensor<16xf32>
!w_qkv = tensor<4x12xf32>
!w_proj = tensor<4x4xf32>
!w_up = tensor<4x16xf32>
!w_down = tensor<16x4xf32>
!wte = tensor<8x4xf32>
!wpe = tensor<4x4xf32>
!scalar = tensor<f32>

func.func private @attention(%x: !x,
    %ln1_w: !c, %ln1_b: !c,
    %qkv_w: !w_qkv, %qkv_b: !c3,
    %proj_w: !w_proj, %proj_b: !c) -> !x {
  %n = pp.layer_norm %x, %ln1_w, %ln1_b : !x, !c, !c
  %m = pp.matmul %n, %qkv_w : !x, !w_qkv
  %mb = pp.add %m, %qkv_b : !x3, !c3
  %s = pp.reshape %mb : !x3 to !split
  %qkv = pp.transpose %s [0, 2, 1, 3] : !split
  %q = pp.slice %qkv [0, 0, 0, 0] : !heads3 to !heads
  %k = pp.slice %qkv [0, 2, 0, 0] : !heads3 to !heads
  %v = pp.slice %qkv [0, 4, 0, 0] : !heads3 to !heads
  %a, %lse = pp.attention %q, %k, %v {causal} : !heads, !heads, !heads
  %at = pp.transpose %a [0, 2, 1, 3] : !heads
  %o = pp.reshape %at : !merged to !x
  %p = pp.matmul %o, %proj_w : !x, !w_proj
  %pb = pp.add %p, %proj_b : !x, !c
  %d = pp.dropout %pb {p = 0.1 : f64} : !x
  %y = pp.add %x, %d : !x, !x
  return %y : !x
}

func.func private @mlp(%x: !x,
    %ln2_w: !c, %ln2_b: !c,
    %fc_w: !w_up, %fc_b: !c4,
    %out_w: !w_down, %out_b: !c) -> !x {
  %n = pp.layer_norm %x, %ln2_w, %ln2_b : !x, !c, !c
  %m = pp.matmul %n, %fc_w : !x, !w_up
  %mb = pp.add %m, %fc_b : !x4, !c4
  %g = pp.gelu %mb {tanh} : !x4
  %p = pp.matmul %g, %out_w : !x4, !w_down
  %pb = pp.add %p, %out_b : !x, !c
  %d = pp.dropout %pb {p = 0.1 : f64} : !x
  %y = pp.add %x, %d : !x, !x
  return %y : !x
}

func.func @gpt(%tokens: !ids {pp.input = "tokens"},
    %targets: !ids {pp.input = "targets", pp.shift = 1 : i64}) -> !scalar {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.02>} : !wte
  %wpe = pp.param "wpe" {init = #pp.init<normal, 0.0, 0.02>} : !wpe
  %e = pp.embedding %wte, %tokens : !wte, !ids
  %ep = pp.add %e, %wpe : !x, !wpe
  %ed = pp.dropout %ep {p = 0.1 : f64} : !x

  %ln1_w0 = pp.param "h.0.ln_1.weight" {init = #pp.init<ones>, no_decay} : !c
  %ln1_b0 = pp.param "h.0.ln_1.bias" {init = #pp.init<zeros>, no_decay} : !c
  %qkv_w0 = pp.param "h.0.attn.qkv.weight" {init = #pp.init<normal, 0.0, 0.02>} : !w_qkv
  %qkv_b0 = pp.param "h.0.attn.qkv.bias" {init = #pp.init<zeros>, no_decay} : !c3
  %proj_w0 = pp.param "h.0.attn.proj.weight" {init = #pp.init<normal, 0.0, 0.014142135623730949>} : !w_proj
  %proj_b0 = pp.param "h.0.attn.proj.bias" {init = #pp.init<zeros>, no_decay} : !c
  %ln2_w0 = pp.param "h.0.ln_2.weight" {init = #pp.init<ones>, no_decay} : !c
  %ln2_b0 = pp.param "h.0.ln_2.bias" {init = #pp.init<zeros>, no_decay} : !c
  %fc_w0 = pp.param "h.0.mlp.fc.weight" {init = #pp.init<normal, 0.0, 0.02>} : !w_up
  %fc_b0 = pp.param "h.0.mlp.fc.bias" {init = #pp.init<zeros>, no_decay} : !c4
  %out_w0 = pp.param "h.0.mlp.proj.weight" {init = #pp.init<normal, 0.0, 0.014142135623730949>} : !w_down
  %out_b0 = pp.param "h.0.mlp.proj.bias" {init = #pp.init<zeros>, no_decay} : !c
  %a0 = call @attention(%ed, %ln1_w0, %ln1_b0, %qkv_w0, %qkv_b0, %proj_w0, %proj_b0)
      : (!x, !c, !c, !w_qkv, !c3, !w_proj, !c) -> !x
  %h0 = call @mlp(%a0, %ln2_w0, %ln2_b0, %fc_w0, %fc_b0, %out_w0, %out_b0)
      : (!x, !c, !c, !w_up, !c4, !w_down, !c) -> !x

  %lnf_w = pp.param "ln_f.weight" {init = #pp.init<ones>, no_decay} : !c
  %lnf_b = pp.param "ln_f.bias" {init = #pp.init<zeros>, no_decay} : !c
  %last = pp.layer_norm %h0, %lnf_w, %lnf_b : !x, !c, !c
  %logits = pp.matmul %last, %wte {transpose_rhs} : !x, !wte
  %loss = pp.cross_entropy %logits, %targets : !logits, !ids
  return %loss : !scalar
}
