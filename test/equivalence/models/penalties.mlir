// Parameters that are punished for what they sum to: their gradients are constant on places 0 and 1, and nothing else learns
// there. One of them is used on place 2 too; those of u and v are one value.
!x = tensor<48x5xf64>
!w = tensor<5x5xf64>
func.func @penalties(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %u = pp.param "u" {init = #pp.init<normal, 0.0, 0.4>} : tensor<f64>
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.4>} : tensor<f64>
  %rate = pp.constant dense<0.3> : tensor<f64>
  %first = pp.on 0 -> tensor<f64> {
    %sa = pp.reduce sum %a [0, 1] : !w
    %s = pp.add %sa, %u : tensor<f64>, tensor<f64>
    pp.yield %s : tensor<f64>
  }
  %sums = pp.on 1 -> tensor<f64> {
    %sb = pp.reduce mean %b [0, 1] : !w
    %n = pp.sub %v, %sb : tensor<f64>, tensor<f64>
    %s = pp.add %first, %n : tensor<f64>, tensor<f64>
    pp.yield %s : tensor<f64>
  }
  %h = pp.on 2 -> !x {
    %m = pp.matmul %x, %b : !x, !w
    %t = pp.tanh %m : !x
    pp.yield %t : !x
  }
  %loss = pp.on 3 -> tensor<f64> {
    %m = pp.matmul %h, %c : !x, !w
    %l = pp.mse %m, %y : !x, !x
    %p = pp.mul %sums, %rate : tensor<f64>, tensor<f64>
    %s = pp.add %l, %p : tensor<f64>, tensor<f64>
    pp.yield %s : tensor<f64>
  }
  return %loss : tensor<f64>
}
