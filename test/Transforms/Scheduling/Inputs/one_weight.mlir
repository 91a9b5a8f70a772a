func.func @one_weight(%x: tensor<4x3xf32> {pp.input = "x"}, %y: tensor<4x2xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.1>} : tensor<3x2xf32>
  %p = pp.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32>
  %loss = pp.mse %p, %y : tensor<4x2xf32>, tensor<4x2xf32>
  return %loss : tensor<f32>
}
