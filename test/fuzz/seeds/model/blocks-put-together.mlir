// --mesh pp=4 --tied owner --microbatches 2 --block-bytes 64
func.func @block(%x: tensor<12288x5x6xf64>, %g: tensor<6xf64>, %b: tensor<6xf64>, %wqkv: tensor<6x18xf64>, %bqkv: tensor<18xf64>, %wo: tensor<6x6xf64>, %w1: tensor<6x8xf64>,
                 %w2: tensor<8x6xf64>) -> tensor<12288x5x6xf64> {
  %n = pp.layer_norm %x, %g, %b : tensor<12288x5x6xf64>, tensor<6xf64>, tensor<6xf64>
  %m = pp.matmul %n, %wqkv : tensor<12288x5x6xf64>, tensor<6x18xf64>
  %r4992 = pp.on 0 -> tensor<12288x5x18xf64> {
  %o4992 = pp.log %m : tensor<12288x5x18xf64>
  pp.yield %o4992 : tensor<12288x5x18xf64>
  }
  %qkv = pp.add %r4992, %bqkv : tensor<12288x5x18xf64>, tensor<18xf64>
  %r = pp.reshape %qkv : tensor<12288x5x18xf64> to tensor<12288x5x6x3xf64>
  %t = pp.transpose %r [0, 2, 1, 3] : tensor<12288x5x6x3xf64>
  %q = pp.slice %t [0, 0, 0, 0] : tensor<12288x6x5x3xf64> to tensor<12288x2x5x3xf64>
  %k = pp.slice %t [0, 2, 0, 0] : tensor<12288x6x5x3xf64> to tensor<12288x2x5x3xf64>
  %v = pp.slice %t [0, 4, 0, 0] : tensor<12288x6x5x3xf64> to tensor<12288x2x5x3xf64>
  %a, %lse = pp.attention %q, %v, %v {causal} : tensor<12288x2x5x3xf64>, tensor<12288x2x5x3xf64>, tensor<12288x2x5x3xf64>
  %at = pp.transpose %a [0, 2, 1, 3] : tensor<12288x2x5x3xf64>
  %ar = pp.reshape %at : tensor<12288x5x2x3xf64> to tensor<12288x5x6xf64>
  %m86106 = pp.reduce mean %ar [2] {keep_dims} : tensor<12288x5x6xf64>
  %r86106 = pp.mul %ar, %m86106 : tensor<12288x5x6xf64>, tensor<12288x5x1xf64>
  %o = pp.matmul %r86106, %wo : tensor<12288x5x6xf64>, tensor<6x6xf64>
  %o1 = pp.dropout %o {p = 0.25 : f64} : tensor<12288x5x6xf64>
  %y = pp.add %x, %o1 : tensor<12288x5x6xf64>, tensor<12288x5x6xf64>
  %f = pp.matmul %y, %w1 : tensor<12288x5x6xf64>, tensor<6x8xf64>
  %fg = pp.gelu %f {tanh} : tensor<12288x5x8xf64>
  %f2 = pp.matmul %fg, %w2 : tensor<12288x5x8xf64>, tensor<8x6xf64>
  %z = pp.add %ar, %f2 : tensor<12288x5x6xf64>, tensor<12288x5x6xf64>
  return %z : tensor<12288x5x6xf64>
}
func.func @tied(%tokens: tensor<12288x5xi32> {pp.input = "tokens"}, %targets: tensor<12288x5xi32> {pp.input = "targets", pp.shift = 1 : i64})
    -> tensor<f64> {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.2>} : tensor<1792x6xf64>
  %wpe = pp.param "wpe" {init = #pp.init<normal, 0.0, 0.2>} : tensor<5x6xf64>
  %g0 = pp.param "h0.ln.weight" {init = #pp.init<ones>} : tensor<6xf64>
  %b0 = pp.param "h0.ln.bias" {init = #pp.init<zeros>} : tensor<6xf64>
  %wqkv0 = pp.param "h0.qkv.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x18xf64>
  %bqkv0 = pp.param "h0.qkv.bias" {init = #pp.init<uniform, -0.1, 0.1>} : tensor<18xf64>
  %wo0 = pp.param "h0.proj.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x6xf64>
  %w10 = pp.param "h0.up.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x8xf64>
  %w20 = pp.param "h0.down.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x6xf64>
  %g1 = pp.param "h1.ln.weight" {init = #pp.init<ones>} : tensor<6xf64>
  %b1 = pp.param "h1.ln.bias" {init = #pp.init<zeros>} : tensor<6xf64>
  %wqkv1 = pp.param "h1.qkv.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x18xf64>
  %bqkv1 = pp.param "h1.qkv.bias" {init = #pp.init<uniform, -0.1, 0.1>} : tensor<18xf64>
  %wo1 = pp.param "h1.proj.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x6xf64>
  %w11 = pp.param "h1.up.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x8xf64>
  %w21 = pp.param "h1.down.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x6xf64>
  %h0 = pp.on 0 -> tensor<12288x5x6xf64> {
    %e = pp.embedding %wte, %tokens : tensor<1792x6xf64>, tensor<12288x5xi32>
    %s = pp.add %e, %wpe : tensor<12288x5x6xf64>, tensor<5x6xf64>
    %d = pp.dropout %s {p = 0.1 : f64} : tensor<12288x5x6xf64>
    pp.yield %d : tensor<12288x5x6xf64>
  }
  %h1 = pp.on 1 -> tensor<12288x5x6xf64> {
    %y = func.call @block(%h0, %g0, %b0, %wqkv0, %bqkv0, %wo0, %w10, %w20)
        : (tensor<12288x5x6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6x18xf64>, tensor<18xf64>, tensor<6x6xf64>, tensor<6x8xf64>, tensor<8x6xf64>) -> tensor<12288x5x6xf64>
    pp.yield %y : tensor<12288x5x6xf64>
  }
  %h2 = pp.on 2 -> tensor<12288x5x6xf64> {
    %y = func.call @block(%h1, %g1, %b1, %wqkv1, %bqkv1, %wo1, %w11, %w21)
        : (tensor<12288x5x6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6x18xf64>, tensor<18xf64>, tensor<6x6xf64>, tensor<6x8xf64>, tensor<8x6xf64>) -> tensor<12288x5x6xf64>
    pp.yield %y : tensor<12288x5x6xf64>
  }
  %loss = pp.on 3 -> tensor<f64> {
    %logits = pp.matmul %h2, %wte {transpose_rhs} : tensor<12288x5x6xf64>, tensor<1792x6xf64>
    %l = pp.cross_entropy %logits, %targets {ignore_index = -1 : i64} : tensor<12288x5x1792xf64>, tensor<12288x5xi32>
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
