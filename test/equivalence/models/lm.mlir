// A language model of one block: tied embedding, dropout at two places, uneven ignore_index counts.
func.func @block(%x: tensor<48x5x6xf64>, %g: tensor<6xf64>, %b: tensor<6xf64>, %wqkv: tensor<6x18xf64>, %bqkv: tensor<18xf64>,
                 %wo: tensor<6x6xf64>) -> tensor<48x5x6xf64> {
  %n = pp.layer_norm %x, %g, %b : tensor<48x5x6xf64>, tensor<6xf64>, tensor<6xf64>
  %m = pp.matmul %n, %wqkv : tensor<48x5x6xf64>, tensor<6x18xf64>
  %qkv = pp.add %m, %bqkv : tensor<48x5x18xf64>, tensor<18xf64>
  %r = pp.reshape %qkv : tensor<48x5x18xf64> to tensor<48x5x6x3xf64>
  %t = pp.transpose %r [0, 2, 1, 3] : tensor<48x5x6x3xf64>
  %q = pp.slice %t [0, 0, 0, 0] : tensor<48x6x5x3xf64> to tensor<48x2x5x3xf64>
  %k = pp.slice %t [0, 2, 0, 0] : tensor<48x6x5x3xf64> to tensor<48x2x5x3xf64>
  %v = pp.slice %t [0, 4, 0, 0] : tensor<48x6x5x3xf64> to tensor<48x2x5x3xf64>
  %a, %lse = pp.attention %q, %k, %v {causal} : tensor<48x2x5x3xf64>, tensor<48x2x5x3xf64>, tensor<48x2x5x3xf64>
  %at = pp.transpose %a [0, 2, 1, 3] : tensor<48x2x5x3xf64>
  %ar = pp.reshape %at : tensor<48x5x2x3xf64> to tensor<48x5x6xf64>
  %o = pp.matmul %ar, %wo : tensor<48x5x6xf64>, tensor<6x6xf64>
  %d = pp.dropout %o {p = 0.25 : f64} : tensor<48x5x6xf64>
  %y = pp.add %x, %d : tensor<48x5x6xf64>, tensor<48x5x6xf64>
  return %y : tensor<48x5x6xf64>
}
func.func @lm(%tokens: tensor<48x5xi32> {pp.input = "tokens"},
              %targets: tensor<48x5xi32> {pp.input = "targets", pp.shift = 1 : i64}) -> tensor<f64> {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.2>} : tensor<7x6xf64>
  %wpe = pp.param "wpe" {init = #pp.init<normal, 0.0, 0.2>} : tensor<5x6xf64>
  %g = pp.param "ln.weight" {init = #pp.init<ones>} : tensor<6xf64>
  %b = pp.param "ln.bias" {init = #pp.init<zeros>} : tensor<6xf64>
  %wqkv = pp.param "qkv.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x18xf64>
  %bqkv = pp.param "qkv.bias" {init = #pp.init<uniform, -0.1, 0.1>} : tensor<18xf64>
  %wo = pp.param "proj.weight" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x6xf64>
  %e = pp.embedding %wte, %tokens : tensor<7x6xf64>, tensor<48x5xi32>
  %x = pp.add %e, %wpe : tensor<48x5x6xf64>, tensor<5x6xf64>
  %xd = pp.dropout %x {p = 0.1 : f64} : tensor<48x5x6xf64>
  %h = func.call @block(%xd, %g, %b, %wqkv, %bqkv, %wo)
      : (tensor<48x5x6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6x18xf64>, tensor<18xf64>, tensor<6x6xf64>) -> tensor<48x5x6xf64>
  %logits = pp.matmul %h, %wte {transpose_rhs} : tensor<48x5x6xf64>, tensor<7x6xf64>
  %loss = pp.cross_entropy %logits, %targets {ignore_index = -1 : i64} : tensor<48x5x7xf64>, tensor<48x5xi32>
  return %loss : tensor<f64>
}
