// --mesh pp=4 --schedule gpipe --microbatches 2 --launch local
func.func @feeds(%x: tensor<65538x5xf64> {pp.input = "x"}, %y: tensor<65538x5xf64> {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf64>
  %ab = pp.param "a.bias" {init = #pp.init<uniform, -0.2, 0.2>} : tensor<5xf64>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf64>
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf64>
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf64>
  %half = pp.constant dense<0.5> : tensor<f64>
  %h0 = pp.on 0 -> tensor<65538x5xf64> {
    %m = pp.matmul %x, %a : tensor<65538x5xf64>, tensor<5x5xf64>
    %s = pp.add %m, %ab : tensor<65538x5xf64>, tensor<5xf64>
    %t = pp.tanh %s : tensor<65538x5xf64>
    pp.yield %t : tensor<65538x5xf64>
  }
  %h1, %l1 = pp.on 1 -> tensor<65538x5xf64>, tensor<f64> {
    %m = pp.matmul %h0, %b : tensor<65538x5xf64>, tensor<5x5xf64>
    %t = pp.silu %m : tensor<65538x5xf64>
    %l = pp.mse %t, %y : tensor<65538x5xf64>, tensor<65538x5xf64>
    %lh = pp.mul %half, %l : tensor<f64>, tensor<f64>
    pp.yield %t, %lh : tensor<65538x5xf64>, tensor<f64>
  }
  %h2 = pp.on 2 -> tensor<65538x5xf64> {
    %m = pp.matmul %h1, %c : tensor<65538x5xf64>, tensor<5x5xf64>
    %t = pp.sigmoid %m : tensor<65538x5xf64>
    pp.yield %t : tensor<65538x5xf64>
  }
  %l3 = pp.on 3 -> tensor<f64> {
  %r24639 = pp.div %h2, %x : tensor<65538x5xf64>, tensor<65538x5xf64>
    %s = pp.add %r24639, %h0 : tensor<65538x5xf64>, tensor<65538x5xf64>
    %m = pp.matmul %s, %d : tensor<65538x5xf64>, tensor<5x5xf64>
  %r31094 = pp.tanh %m : tensor<65538x5xf64>
  %r77065 = pp.log_softmax %r31094 : tensor<65538x5xf64>
  %r38478 = pp.normalize %r77065 {center, eps = 1.0e-5 : f64} : tensor<65538x5xf64>
    %l = pp.mse %r38478, %y : tensor<65538x5xf64>, tensor<65538x5xf64>
    pp.yield %l : tensor<f64>
  }
  %loss = pp.add %l1, %l3 : tensor<f64>, tensor<f64>
  return %loss : tensor<f64>
}
