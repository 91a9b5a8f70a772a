// Parameters of all types, of one element, of fewer than a group has ranks, of more than a chunk has, a frozen one and a tied one; on four places.
!x = tensor<24x7xf64>
!h = tensor<24x37xf64>
!hf = tensor<24x37xf32>
!hb = tensor<24x37xbf16>
!y = tensor<24x3xf64>
func.func @odd(%x: !x {pp.input = "x"}, %y: !y {pp.input = "y"}) -> tensor<f64> {
  %gain = pp.param "gain" {init = #pp.init<ones>} : tensor<1xf64>
  %w0 = pp.param "w0" {init = #pp.init<normal, 0.0, 0.3>} : tensor<7x37xf64>
  %b0 = pp.param "b0" {init = #pp.init<uniform, -0.2, 0.2>, no_decay} : tensor<37xf32>
  %w1 = pp.param "w1" {init = #pp.init<normal, 0.0, 0.2>} : tensor<37x37xbf16>
  %one = pp.param "one" {init = #pp.init<ones>} : tensor<1xbf16>
  %front = pp.param "front" {init = #pp.init<normal, 0.0, 0.2>, frozen} : tensor<37x37xf32>
  %w2 = pp.param "w2" {init = #pp.init<normal, 0.0, 0.2>} : tensor<37x37xf32>
  %two = pp.param "two" {init = #pp.init<zeros>} : tensor<1xf32>
  %w3 = pp.param "w3" {init = #pp.init<normal, 0.0, 0.2>} : tensor<37x3xf64>
  %b3 = pp.param "b3" {init = #pp.init<zeros>} : tensor<3xf64>
  %h0 = pp.on 0 -> !hf {
    %m = pp.matmul %x, %w0 : !x, tensor<7x37xf64>
    %g = pp.mul %m, %gain : !h, tensor<1xf64>
    %t = pp.tanh %g : !h
    %c = pp.cast %t : !h to !hf
    %b = pp.add %c, %b0 : !hf, tensor<37xf32>
    pp.yield %b : !hf
  }
  %h1 = pp.on 1 -> !hf {
    %c = pp.cast %h0 : !hf to !hb
    %m = pp.matmul %c, %w1 : !hb, tensor<37x37xbf16>
    %g = pp.mul %m, %one : !hb, tensor<1xbf16>
    %f = pp.cast %g : !hb to !hf
    pp.yield %f : !hf
  }
  %h2 = pp.on 2 -> !hf {
    %k = pp.matmul %h1, %front : !hf, tensor<37x37xf32>
    %t = pp.silu %k : !hf
    %m = pp.matmul %t, %w2 : !hf, tensor<37x37xf32>
    %s = pp.add %m, %two : !hf, tensor<1xf32>
    pp.yield %s : !hf
  }
  %loss = pp.on 3 -> tensor<f64> {
    %d = pp.cast %h2 : !hf to !h
    %g = pp.mul %d, %gain : !h, tensor<1xf64>
    %m = pp.matmul %g, %w3 : !h, tensor<37x3xf64>
    %s = pp.add %m, %b3 : !y, tensor<3xf64>
    %l = pp.mse %s, %y : !y, !y
    pp.yield %l : tensor<f64>
  }
  return %loss : tensor<f64>
}
