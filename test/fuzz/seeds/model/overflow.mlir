//
func.func @m(%x: tensor<4x8xf32> {pp.input = "x"}, %y: tensor<4x9223372036854775807xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.1>} : tensor<8x9223372036854775807xf32>
  %p = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x9223372036854775807xf32>
  %loss = pp.mse %p, %y : tensor<4x9223372036854775807xf32>, tensor<4x9223372036854775807xf32>
  return %loss : tensor<f32>
}
