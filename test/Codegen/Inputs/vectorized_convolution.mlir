func.func @convolution(%x: tensor<4x1x8x64xf32> {pp.input = "x"}) -> tensor<f32> {
  %g = pp.param "g" {init = #pp.init<ones>} : tensor<64xf32>
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.5>} : tensor<1x8x8x3xf32>
  %h = pp.mul %x, %g : tensor<4x1x8x64xf32>, tensor<64xf32>
  %y = pp.conv %h, %w offsets [-1] : tensor<4x1x8x64xf32>, tensor<1x8x8x3xf32> to tensor<4x1x8x64xf32>
  %s = pp.mul %y, %y : tensor<4x1x8x64xf32>, tensor<4x1x8x64xf32>
  %loss = pp.reduce mean %s [0, 1, 2, 3] : tensor<4x1x8x64xf32>
  return %loss : tensor<f32>
}
