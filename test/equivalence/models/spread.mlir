// Losses added on different places: cross entropies with counts of their own on places 1 and 2, a squared error on the
// last, and a penalty, which counts once, on a parameter of the first.
!x = tensor<48x6xf64>
func.func @spread(%x: !x {pp.input = "x"}, %y: tensor<48x3xf64> {pp.input = "y"},
                  %first: tensor<48x2xi32> {pp.input = "first"}, %second: tensor<48xi32> {pp.input = "second"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x6xf64>
  %b = pp.param "b" {init = #pp.init<zeros>, no_decay} : tensor<6xf64>
  %u = pp.param "u" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x10xf64>
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x5xf64>
  %s = pp.param "s" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x3xf64>
  %h, %penalty = pp.on 0 -> !x, tensor<f64> {
    %m = pp.matmul %x, %w : !x, tensor<6x6xf64>
    %mb = pp.add %m, %b : !x, tensor<6xf64>
    %t = pp.gelu %mb {tanh} : !x
    %ww = pp.mul %w, %w : tensor<6x6xf64>, tensor<6x6xf64>
    %sw = pp.reduce sum %ww [0, 1] : tensor<6x6xf64>
    %k = pp.constant dense<0.05> : tensor<f64>
    %p = pp.mul %sw, %k : tensor<f64>, tensor<f64>
    pp.yield %t, %p : !x, tensor<f64>
  }
  %l1 = pp.on 1 -> tensor<f64> {
    %o = pp.matmul %h, %u : !x, tensor<6x10xf64>
    %r = pp.reshape %o : tensor<48x10xf64> to tensor<48x2x5xf64>
    %l = pp.cross_entropy %r, %first {ignore_index = -1 : i64} : tensor<48x2x5xf64>, tensor<48x2xi32>
    pp.yield %l : tensor<f64>
  }
  %o2, %l2 = pp.on 2 -> tensor<48x5xf64>, tensor<f64> {
    %o = pp.matmul %h, %v : !x, tensor<6x5xf64>
    %l = pp.cross_entropy %o, %second {ignore_index = 2 : i64} : tensor<48x5xf64>, tensor<48xi32>
    pp.yield %o, %l : tensor<48x5xf64>, tensor<f64>
  }
  %l3 = pp.on 3 -> tensor<f64> {
    %t = pp.tanh %o2 : tensor<48x5xf64>
    %m = pp.matmul %t, %s : tensor<48x5xf64>, tensor<5x3xf64>
    %l = pp.mse %m, %y : tensor<48x3xf64>, tensor<48x3xf64>
    pp.yield %l : tensor<f64>
  }
  %a1 = pp.add %l1, %l2 : tensor<f64>, tensor<f64>
  %a2 = pp.add %a1, %penalty : tensor<f64>, tensor<f64>
  %loss = pp.add %a2, %l3 : tensor<f64>, tensor<f64>
  return %loss : tensor<f64>
}
