// --mesh pp=4 --schedule 1f1b --microbatches 3 --block-bytes 64
func.func @detached(%x: tensor<48x999xf64> {pp.input = "x"}, %y: tensor<48x999xf64> {pp.input = "y"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : tensor<999x999xf64>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : tensor<999x999xf64>
  %c = pp.param "c" {init = #pp.init<normal, 0.0, 0.4>} : tensor<999x999xf64>
  %d = pp.param "d" {init = #pp.init<normal, 0.0, 0.4>} : tensor<999x999xf64>
  %h0 = pp.on 0 -> tensor<48x999xf64> {
  %r34663 = pp.log_softmax %a : tensor<999x999xf64>
  %r31663 = pp.log_softmax %r34663 : tensor<999x999xf64>
    %m = pp.matmul %x, %r31663 : tensor<48x999xf64>, tensor<999x999xf64>
    %t = pp.tanh %m : tensor<48x999xf64>
    pp.yield %t : tensor<48x999xf64>
  }
  %h1 = pp.on 1 -> tensor<48x999xf64> {
    %m = pp.matmul %h0, %b : tensor<48x999xf64>, tensor<999x999xf64>
  %r27905 = pp.neg %m : tensor<48x999xf64>
    %t = pp.silu %r27905 : tensor<48x999xf64>
    pp.yield %t : tensor<48x999xf64>
  }
  %cut = pp.detach %h1 : tensor<48x999xf64>
  %h2 = pp.on 2 -> tensor<48x999xf64> {
    %m = pp.matmul %cut, %c : tensor<48x999xf64>, tensor<999x999xf64>
    %t = pp.tanh %m : tensor<48x999xf64>
    pp.yield %t : tensor<48x999xf64>
  }
  %loss = pp.on 3 -> tensor<f64> {
    %m = pp.matmul %h2, %d : tensor<48x999xf64>, tensor<999x999xf64>
    %s = pp.add %m, %cut : tensor<48x999xf64>, tensor<48x999xf64>
    %l = pp.mse %s, %y : tensor<48x999xf64>, tensor<48x999xf64>
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
