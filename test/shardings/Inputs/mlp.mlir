// Two matmuls and a penalty, with the gradients: before it is sharded.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @mlp(%x: tensor<8x4xf64> {pp.input = "x"}) -> tensor<f64> {
  %w1 = pp.param "w1" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4x6xf64>
  %w2 = pp.param "w2" {init = #pp.init<zeros>, place = 0 : i64} : tensor<6x4xf64>
  %loss = pp.place 0 stage 0 backward -> tensor<f64> {
    %one = pp.constant dense<1.0> : tensor<f64>
    %two = pp.constant dense<2.0> : tensor<f64>
    %h = pp.matmul %x, %w1 : tensor<8x4xf64>, tensor<4x6xf64>
    %a = pp.tanh %h : tensor<8x6xf64>
    %y = pp.matmul %a, %w2 : tensor<8x6xf64>, tensor<6x4xf64>
    %yy = pp.mul %y, %y : tensor<8x4xf64>, tensor<8x4xf64>
    %s = pp.reduce sum %yy [0, 1] : tensor<8x4xf64>
    %ww = pp.mul %w2, %w2 : tensor<6x4xf64>, tensor<6x4xf64>
    %p = pp.reduce sum %ww [0, 1] : tensor<6x4xf64>
    %loss = pp.add %s, %p : tensor<f64>, tensor<f64>
    %dy = pp.mul %y, %two : tensor<8x4xf64>, tensor<f64>
    %da = pp.matmul %dy, %w2 {transpose_rhs} : tensor<8x4xf64>, tensor<6x4xf64>
    %aa = pp.mul %a, %a : tensor<8x6xf64>, tensor<8x6xf64>
    %slope = pp.sub %one, %aa : tensor<f64>, tensor<8x6xf64>
    %dh = pp.mul %da, %slope : tensor<8x6xf64>, tensor<8x6xf64>
    %dw1 = pp.matmul %x, %dh {transpose_lhs} : tensor<8x4xf64>, tensor<8x6xf64>
    %dw2 = pp.matmul %a, %dy {transpose_lhs} : tensor<8x6xf64>, tensor<8x4xf64>
    %dp = pp.mul %w2, %two : tensor<6x4xf64>, tensor<f64>
    %d = pp.add %dw2, %dp : tensor<6x4xf64>, tensor<6x4xf64>
    pp.add_grad %w1, %dw1 : tensor<4x6xf64>
    pp.add_grad %w2, %d : tensor<6x4xf64>
    pp.yield %loss : tensor<f64>
  }
  return %loss : tensor<f64>
}
