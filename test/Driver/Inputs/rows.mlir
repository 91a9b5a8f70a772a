func.func @main(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x4xf32>
  %0 = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
  %1 = pp.dropout %0 {p = 0.5 : f64} : tensor<8x4xf32>
  %2 = pp.reduce mean %1 [0, 1] : tensor<8x4xf32>
  return %2 : tensor<f32>
}
