func.func @vectorized(%x: tensor<64x256xf32> {pp.input = "x"}, %y: tensor<64x256xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.02>} : tensor<256x256xf32>
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<256xf32>
  %0 = pp.normalize %x {center, eps = 1.0e-5 : f64} : tensor<64x256xf32>
  %1 = pp.matmul %0, %w : tensor<64x256xf32>, tensor<256x256xf32>
  %2 = pp.add %1, %b : tensor<64x256xf32>, tensor<256xf32>
  %3 = pp.gelu %2 : tensor<64x256xf32>
  %4 = pp.matmul %3, %w : tensor<64x256xf32>, tensor<256x256xf32>
  %5 = pp.softmax %4 : tensor<64x256xf32>
  %6 = pp.matmul %5, %w : tensor<64x256xf32>, tensor<256x256xf32>
  %loss = pp.mse %6, %y : tensor<64x256xf32>, tensor<64x256xf32>
  return %loss : tensor<f32>
}
