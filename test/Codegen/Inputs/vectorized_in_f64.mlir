func.func @vectorized(%x: tensor<64x256xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.02>} : tensor<256xf32>
  %0 = pp.mul %x, %w : tensor<64x256xf32>, tensor<256xf32>
  %1 = pp.sin %0 : tensor<64x256xf32>
  %2 = pp.detach %1 : tensor<64x256xf32>
  %3 = pp.power %2, %w : tensor<64x256xf32>, tensor<256xf32>
  %loss = pp.reduce mean %3 [0, 1] : tensor<64x256xf32>
  return %loss : tensor<f32>
}
