// An MLP with a skip, a frozen parameter, one that is cut off by a detach, and one that is used three times.
func.func @skip(%x: tensor<48x5xf64> {pp.input = "x"}, %y: tensor<48x5xf64> {pp.input = "y"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf64>
  %b = pp.param "b" {init = #pp.init<uniform, -0.2, 0.2>} : tensor<5xf64>
  %fixed = pp.param "fixed" {init = #pp.init<normal, 0.0, 0.4>, frozen} : tensor<5x5xf64>
  %cut = pp.param "cut" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf64>
  %m1 = pp.matmul %x, %w : tensor<48x5xf64>, tensor<5x5xf64>
  %a1 = pp.add %m1, %b : tensor<48x5xf64>, tensor<5xf64>
  %h1 = pp.tanh %a1 : tensor<48x5xf64>
  %m2 = pp.matmul %h1, %fixed : tensor<48x5xf64>, tensor<5x5xf64>
  %h2 = pp.silu %m2 : tensor<48x5xf64>
  %m3 = pp.matmul %h2, %w {transpose_rhs} : tensor<48x5xf64>, tensor<5x5xf64>
  %a3 = pp.add %m3, %b : tensor<48x5xf64>, tensor<5xf64>
  %s = pp.add %a3, %h1 : tensor<48x5xf64>, tensor<48x5xf64>
  %mc = pp.matmul %x, %cut : tensor<48x5xf64>, tensor<5x5xf64>
  %d = pp.detach %mc : tensor<48x5xf64>
  %sd = pp.add %s, %d : tensor<48x5xf64>, tensor<48x5xf64>
  %m4 = pp.matmul %sd, %w : tensor<48x5xf64>, tensor<5x5xf64>
  %loss = pp.mse %m4, %y : tensor<48x5xf64>, tensor<48x5xf64>
  return %loss : tensor<f64>
}
