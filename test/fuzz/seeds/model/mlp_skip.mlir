// --mesh pp=2 --schedule zb-h1 --microbatches 4
!x = tensor<64x32xf32>
!w = tensor<32x32xf32>
!b = tensor<32xf32>

func.func private @residual(%x: !x, %w: !w, %b: !b) -> !x {
  %m = pp.matmul %x, %w : !x, !w
  %a = pp.add %m, %b : !x, !b
  %h = pp.relu %a : !x
  %y = pp.add %x, %h : !x, !x
  return %y : !x
}

func.func @mlp_skip(%x: !x {pp.input = "x"}, %y: tensor<64x4xf32> {pp.input = "y"}) -> tensor<f32> {
  %w0 = pp.param "layers.0.weight" {init = #pp.init<normal, 0.0, 0.1>} : !w
  %b0 = pp.param "layers.0.bias" {init = #pp.init<zeros>, no_decay} : !b
  %h0 = call @residual(%x, %w0, %b0) : (!x, !w, !b) -> !x

  %w1 = pp.param "layers.1.weight" {init = #pp.init<normal, 0.0, 0.1>} : !w
  %b1 = pp.param "layers.1.bias" {init = #pp.init<zeros>, no_decay} : !b
  %h1 = call @residual(%h0, %w1, %b1) : (!x, !w, !b) -> !x

  %head = pp.param "head" {init = #pp.init<normal, 0.0, 0.1>} : tensor<32x4xf32>
  %out = pp.matmul %h1, %head : !x, tensor<32x4xf32>
  %loss = pp.mse %out, %y : tensor<64x4xf32>, tensor<64x4xf32>
  return %loss : tensor<f32>
}
