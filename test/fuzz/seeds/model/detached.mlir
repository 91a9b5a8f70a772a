// --mesh pp=4 --schedule 1f1b --microbatches 3
!x = tensor<48x5xf64>
!w = tensor<5x5xf64>
func.func @detached(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %h0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    %t = pp.tanh %m : !x
    pp.yield %t : !x
  }
  %h1 = pp.on 1 -> !x {
    %m = pp.matmul %h0, %b : !x, !w
    %t = pp.silu %m : !x
    pp.yield %t : !x
  }
  %cut = pp.detach %h1 : !x
  %h2 = pp.on 2 -> !x {
    %m = pp.matmul %cut, %c : !x, !w
    %t = pp.tanh %m : !x
    pp.yield %t : !x
  }
  %loss = pp.on 3 -> tensor<f64> {
    %m = pp.matmul %h2, %d : !x, !w
    %s = pp.add %m, %cut : !x, !x
    %l = pp.mse %s, %y : !x, !x
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
