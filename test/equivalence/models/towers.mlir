// Two towers on different places, joined later; each reads an input of its own.
!x = tensor<48x5xf64>
!w = tensor<5x5xf64>
func.func @towers(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %ag = pp.param "a.scale" {init = #pp.init<ones>} : tensor<5xf64>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %bg = pp.param "b.scale" {init = #pp.init<ones>} : tensor<5xf64>
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : tensor<10x5xf64>
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %left = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    %t = pp.gelu %m : !x
    %n = pp.rms_norm %t, %ag : !x, tensor<5xf64>
    pp.yield %n : !x
  }
  %right = pp.on 2 -> !x {
    %m = pp.matmul %y, %b : !x, !w
    %t = pp.tanh %m : !x
    %n = pp.rms_norm %t, %bg : !x, tensor<5xf64>
    pp.yield %n : !x
  }
  %deeper = pp.on 1 -> !x {
    %m = pp.matmul %left, %d : !x, !w
    %t = pp.tanh %m : !x
    pp.yield %t : !x
  }
  %loss = pp.on 3 -> tensor<f64> {
    %j = pp.concat %deeper, %right {dim = 1 : i64} : !x, !x
    %m = pp.matmul %j, %c : tensor<48x10xf64>, tensor<10x5xf64>
    %p = pp.mul %left, %right : !x, !x
    %s = pp.add %m, %p : !x, !x
    %l = pp.mse %s, %y : !x, !x
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
