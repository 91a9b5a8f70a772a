// --mesh pp=4 --tied owner --microbatches 2
!ids = tensor<48x5xi32>
!x = tensor<48x5x6xf64>
!heads = tensor<48x2x5x3xf64>
!v = tensor<6xf64>
!w = tensor<6x6xf64>
func.func @block(%x: !x, %g: !v, %b: !v, %wqkv: tensor<6x18xf64>, %bqkv: tensor<18xf64>, %wo: !w, %w1: tensor<6x8xf64>,
                 %w2: tensor<8x6xf64>) -> !x {
  %n = pp.layer_norm %x, %g, %b : !x, !v, !v
  %m = pp.matmul %n, %wqkv : !x, tensor<6x18xf64>
  %qkv = pp.add %m, %bqkv : tensor<48x5x18xf64>, tensor<18xf64>
  %r = pp.reshape %qkv : tensor<48x5x18xf64> to tensor<48x5x6x3xf64>
  %t = pp.transpose %r [0, 2, 1, 3] : tensor<48x5x6x3xf64>
  %q = pp.slice %t [0, 0, 0, 0] : tensor<48x6x5x3xf64> to !heads
  %k = pp.slice %t [0, 2, 0, 0] : tensor<48x6x5x3xf64> to !heads
  %v = pp.slice %t [0, 4, 0, 0] : tensor<48x6x5x3xf64> to !heads
  %a, %lse = pp.attention %q, %k, %v {causal} : !heads, !heads, !heads
  %at = pp.transpose %a [0, 2, 1, 3] : !heads
  %ar = pp.reshape %at : tensor<48x5x2x3xf64> to !x
  %o = pp.matmul %ar, %wo : !x, !w
  %o1 = pp.dropout %o {p = 0.25 : f64} : !x
  %y = pp.add %x, %o1 : !x, !x
  %f = pp.matmul %y, %w1 : !x, tensor<6x8xf64>
  %fg = pp.gelu %f {tanh} : tensor<48x5x8xf64>
  %f2 = pp.matmul %fg, %w2 : tensor<48x5x8xf64>, tensor<8x6xf64>
  %z = pp.add %y, %f2 : !x, !x
  return %z : !x
}
func.func @tied(%tokens: !ids {pp.input = "tokens"}, %targets: !ids {pp.input = "targets", pp.shift = 1 : i64})
    -> tensor<f64> {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.2>} : tensor<7x6xf64>
  %wpe = pp.param "wpe" {init = #pp.init<normal, 0.0, 0.2>} : tensor<5x6xf64>
  %g0 = pp.param "h0.ln.weight" {init = #pp.init<ones>} : !v
  %b0 = pp.param "h0.ln.bias" {init = #pp.init<zeros>} : !v
  %wqkv0 = pp.param "h0.qkv.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x18xf64>
  %bqkv0 = pp.param "h0.qkv.bias" {init = #pp.init<uniform, -0.1, 0.1>} : tensor<18xf64>
  %wo0 = pp.param "h0.proj.weight" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %w10 = pp.param "h0.up.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x8xf64>
  %w20 = pp.param "h0.down.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x6xf64>
  %g1 = pp.param "h1.ln.weight" {init = #pp.init<ones>} : !v
  %b1 = pp.param "h1.ln.bias" {init = #pp.init<zeros>} : !v
  %wqkv1 = pp.param "h1.qkv.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x18xf64>
  %bqkv1 = pp.param "h1.qkv.bias" {init = #pp.init<uniform, -0.1, 0.1>} : tensor<18xf64>
  %wo1 = pp.param "h1.proj.weight" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %w11 = pp.param "h1.up.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x8xf64>
  %w21 = pp.param "h1.down.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x6xf64>
  %h0 = pp.on 0 -> !x {
    %e = pp.embedding %wte, %tokens : tensor<7x6xf64>, !ids
    %s = pp.add %e, %wpe : !x, tensor<5x6xf64>
    %d = pp.dropout %s {p = 0.1 : f64} : !x
    pp.yield %d : !x
  }
  %h1 = pp.on 1 -> !x {
    %y = func.call @block(%h0, %g0, %b0, %wqkv0, %bqkv0, %wo0, %w10, %w20)
        : (!x, !v, !v, tensor<6x18xf64>, tensor<18xf64>, !w, tensor<6x8xf64>, tensor<8x6xf64>) -> !x
    pp.yield %y : !x
  }
  %h2 = pp.on 2 -> !x {
    %y = func.call @block(%h1, %g1, %b1, %wqkv1, %bqkv1, %wo1, %w11, %w21)
        : (!x, !v, !v, tensor<6x18xf64>, tensor<18xf64>, !w, tensor<6x8xf64>, tensor<8x6xf64>) -> !x
    pp.yield %y : !x
  }
  %loss = pp.on 3 -> tensor<f64> {
    %logits = pp.matmul %h2, %wte {transpose_rhs} : !x, tensor<7x6xf64>
    %l = pp.cross_entropy %logits, %targets {ignore_index = -1 : i64} : tensor<48x5x7xf64>, !ids
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
