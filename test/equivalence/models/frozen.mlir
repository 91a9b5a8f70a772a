// A frozen front: nothing of place 0 learns, so no gradient goes back there.
!ids = tensor<48x5xi32>
!x = tensor<48x5x6xf64>
!w = tensor<6x6xf64>
func.func @frozen(%tokens: !ids {pp.input = "tokens"}, %targets: !ids {pp.input = "targets", pp.shift = 1 : i64})
    -> tensor<f64> {
  %wte = pp.param "wte" {init = #pp.init<normal, 0.0, 0.4>, frozen} : tensor<7x6xf64>
  %front = pp.param "front" {init = #pp.init<normal, 0.0, 0.4>, frozen} : !w
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : !w
  %head = pp.param "head" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x7xf64>
  %h0 = pp.on 0 -> !x {
    %e = pp.embedding %wte, %tokens : tensor<7x6xf64>, !ids
    %m = pp.matmul %e, %front : !x, !w
    %t = pp.gelu %m : !x
    pp.yield %t : !x
  }
  %h1 = pp.on 1 -> !x {
    %m = pp.matmul %h0, %a : !x, !w
    %t = pp.tanh %m : !x
    pp.yield %t : !x
  }
  %h2 = pp.on 2 -> !x {
    %m = pp.matmul %h1, %b : !x, !w
    %s = pp.add %m, %h0 : !x, !x
    pp.yield %s : !x
  }
  %loss = pp.on 3 -> tensor<f64> {
    %m = pp.matmul %h2, %head : !x, tensor<6x7xf64>
    %l = pp.cross_entropy %m, %targets {ignore_index = -1 : i64} : tensor<48x5x7xf64>, !ids
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
