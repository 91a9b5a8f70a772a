// --mesh pp=4 --schedule gpipe --microbatches 2 --launch local
!x = tensor<48x5xf64>
!w = tensor<5x5xf64>
func.func @feeds(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %ab = pp.param "a.bias" {init = #pp.init<uniform, -0.2, 0.2>} : tensor<5xf64>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %half = pp.constant dense<0.5> : tensor<f64>
  %h0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    %s = pp.add %m, %ab : !x, tensor<5xf64>
    %t = pp.tanh %s : !x
    pp.yield %t : !x
  }
  %h1, %l1 = pp.on 1 -> !x, tensor<f64> {
    %m = pp.matmul %h0, %b : !x, !w
    %t = pp.silu %m : !x
    %l = pp.mse %t, %y : !x, !x
    %lh = pp.mul %half, %l : tensor<f64>, tensor<f64>
    pp.yield %t, %lh : !x, tensor<f64>
  }
  %h2 = pp.on 2 -> !x {
    %m = pp.matmul %h1, %c : !x, !w
    %t = pp.sigmoid %m : !x
    pp.yield %t : !x
  }
  %l3 = pp.on 3 -> tensor<f64> {
    %s = pp.add %h2, %h0 : !x, !x
    %m = pp.matmul %s, %d : !x, !w
    %l = pp.mse %m, %y : !x, !x
    pp.yield %l : tensor<f64>
  }
  %loss = pp.add %l1, %l3 : tensor<f64>, tensor<f64>
  return %loss : tensor<f64>
}
