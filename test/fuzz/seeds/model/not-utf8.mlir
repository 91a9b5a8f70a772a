// --mesh dp=1 --microbatches 4 --recompute cheap --precision bf16 --tied sum


func.func private @attention(%x: tensor<4x4x4xf32>,
    %ln1_w: tensor<4xf32>, %ln1_b: tensor<4xf32>,
    %qkv_w: tensor<4x12xf32>, %qkv_b: tensor<12xf32>,
    %proj_w: tensor<4x4xf32>, %proj_b: tensor<4xf32>) -> tensor<4x4x4xf32> {
  %n = pp.layer_norm %x, %ln1_w, %ln1_b : tensor<4x4x4xf32>, tensor<4xf32>, tensor<4xf32>
  %m = pp.matmul %n, %qkv_w : tensor<4x4x4xf32>, tensor<4x12xf32>
  %mb = pp.add %m, %qkv_b : tensor<4x4x12xf32>, tensor<12xf32>
  %s = pp.reshape %mb : tensor<4x4x12xf32> to tensor<4x4x6x2xf32>
  %qkv = pp.transpose %s [0, 2, 1, 3] : tensor<4x4x6x2xf32>
  %q = pp.slice %qkv [0, 0, 0, 0] : tensor<4x6x4x2xf32> to tensor<4x2x4x2xf32>
  %k = pp.slice %qkv [0, 2, 0, 0] : tensor<4x6x4x2xf32> to tensor<4x2x4x2xf32>
  %v = pp.slice %qkv [0, 4, 0, 0] : tensor<4x6x4x2xf32> to tensor<4x2x4x2xf32>
  %a, %lse = pp.attention %q, %k, %v {causal} : tensor<4x2x4x2xf32>, tensor<4x2x4x2xf32>, tensor<4x2x4x2xf32>
  %at = pp.transpose %a [0, 2, 1, 3] : tensor<4x2x4x2xf32>
  %o = pp.reshape %at : tensor<4x4x2x2xf32> to tensor<4x4x4xf32>
  %p = pp.matmul %o, %proj_w : tensor<4x4x4xf32>, tensor<4x4xf32>
  %pb = pp.add %p, %proj_b : tensor<4x4x4xf32>, tensor<4xf32>
  %d = pp.dropout %pb {p = 0.1 : f64} : tensor<4x4x4xf32>
  %y = pp.add %x, %d : tensor<4x4x4xf32>, tensor<4x4x4xf32>
  return %y : tensor<4x4x4xf32>
}

func.func private @mlp(%x: tensor<4x4x4xf32>,
    %ln2_w: tensor<4xf32>, %ln2_b: tensor<4xf32>,
    %fc_w: tensor<4x16xf32>, %fc_b: tensor<16xf32>,
    %out_w: tensor<16x4xf32>, %out_b: tensor<4xf32>) -> tensor<4x4x4xf32> {
  %n = pp.layer_norm %x, %ln2_w, %ln2_b : tensor<4x4x4xf32>, tensor<4xf32>, tensor<4xf32>
  %m = pp.matmul %n, %fc_w : tensor<4x4x4xf32>, tensor<4x16xf32>
  %mb = pp.add %m, %fc_b : tensor<4x4x16xf32>, tensor<16xf32>
  %g = pp.gelu %mb {tanh} : tensor<4x4x16xf32>
  %p = pp.matmul %g, %out_w : tensor<4x4x16xf32>, tensor<16x4xf32>
  %pb = pp.add %p, %out_b : tensor<4x4x4xf32>, tensor<4xf32>
  %d = pp.dropout %pb {p = 0.1 : f64} : tensor<4x4x4xf32>
  %y = pp.add %x, %d : tensor<4x4x4xf32>, tensor<4x4x4xf32>
  return %y : tensor<4x4x4xf32>
}

func.func @gpt(%tokens: tensor<4x4xi32> {pp.input = "tokens"},
    %targets: tensor<4x4xi32> {pp.input = "targets", pp.shift = 1 : i64}) -> tensor<f32> {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.02>} : tensor<8x4xf32>
  %wpe = pp.param "wpe" {init = #pp.init<normal, 0.0, 0.02>} : tensor<4x4xf32>
  %e = pp.embedding %wte, %tokens : tensor<8x4xf32>, tensor<4x4xi32>
  %ep = pp.add %e, %wpe : tensor<4x4x4xf32>, tensor<4x4xf32>
  %ed = pp.dropout %ep {p = 0.1 : f64} : tensor<4x4x4xf32>

  %ln1_w0 = pp.param "h.0.ln_1.weight" {init = #pp.init<ones>, no_decay} : tensor<4xf32>
  %ln1_b0 = pp.param "h.0.ln_1.bias" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %qkv_w0 = pp.param "h.0.attn.qkv.weight" {init = #pp.init<normal, 0.0, 0.02>} : tensor<4x12xf32>
  %qkv_b0 = pp.param "h.0.attn.qkv.bias" {init = #pp.init<zeros>, no_decay} : tensor<12xf32>
  %proj_w0 = pp.param "h.0.attn.proj.weight" {init = #pp.init<normal, 0.0, 0.014142135623730949>} : tensor<4x4xf32>
  %proj_b0 = pp.param "h.0.attn.proj.bias" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %ln2_w0 = pp.param "h.0.ln_2.weightá" {init = #pp.init<ones>, no_decay} : tensor<4xf32>
  %ln2_b0 = pp.param "h.0.ln_2.bias" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %fc_w0 = pp.param "h.0.mlp.fc.weight" {init = #pp.init<normal, 0.0, 0.02>} : tensor<4x16xf32>
  %fc_b0 = pp.param "h.0.mlp.fc.bias" {init = #pp.init<zeros>, no_decay} : tensor<16xf32>
  %out_w0 = pp.param "h.0.mlp.proj.weight" {init = #pp.init<normal, 0.0, 0.014142135623730949>} : tensor<16x4xf32>
  %out_b0 = pp.param "h.0.mlp.proj.bias" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %a0 = call @attention(%ed, %ln1_w0, %ln1_b0, %qkv_w0, %qkv_b0, %proj_w0, %proj_b0)
      : (tensor<4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x12xf32>, tensor<12xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4x4xf32>
  %h0 = call @mlp(%a0, %ln2_w0, %ln2_b0, %fc_w0, %fc_b0, %out_w0, %out_b0)
      : (tensor<4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<16x4xf32>, tensor<4xf32>) -> tensor<4x4x4xf32>

  %lnf_w = pp.param "ln_f.weight" {init = #pp.init<ones>, no_decay} : tensor<4xf32>
  %lnf_b = pp.param "ln_f.bias" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %last = pp.layer_norm %h0, %lnf_w, %lnf_b : tensor<4x4x4xf32>, tensor<4xf32>, tensor<4xf32>
  %logits = pp.matmul %last, %wte {transpose_rhs} : tensor<4x4x4xf32>, tensor<8x4xf32>
  %r88401 = pp.constant dense<0.5> : tensor<4x4x8xf32>
  %loss = pp.cross_entropy %r88401, %targets : tensor<4x4x8xf32>, tensor<4x4xi32>
  return %loss : tensor<f32>
}
