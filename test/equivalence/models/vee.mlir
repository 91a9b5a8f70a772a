// A V: to the last place and back to the first, which has two stages and a parameter that both use.
!x = tensor<48x5xf64>
!w = tensor<5x5xf64>
func.func @vee(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %e = pp.param "e" {init = #pp.init<normal, 0.0, 0.4>} : !w
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
  %h2 = pp.on 2 -> !x {
    %m = pp.matmul %h1, %c : !x, !w
    %s = pp.add %m, %h0 : !x, !x
    pp.yield %s : !x
  }
  %h3 = pp.on 3 -> !x {
    %m = pp.matmul %h2, %d : !x, !w
    %t = pp.sigmoid %m : !x
    pp.yield %t : !x
  }
  %h4 = pp.on 1 -> !x {
    %m = pp.matmul %h3, %e : !x, !w
    %s = pp.add %m, %h1 : !x, !x
    pp.yield %s : !x
  }
  %loss = pp.on 0 -> tensor<f64> {
    %s = pp.add %h4, %h0 : !x, !x
    %m = pp.matmul %s, %a {transpose_rhs} : !x, !w
    %l = pp.mse %m, %y : !x, !x
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
