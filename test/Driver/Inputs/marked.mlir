func.func @marked(%x: tensor<8x4xf32> {pp.input = "x"}, %y: tensor<8x4xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.3>} : tensor<4x4xf32>
  %h = pp.on 0 -> tensor<8x4xf32> {
    %inner = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
    pp.yield %inner : tensor<8x4xf32>
  }
  %loss = pp.on 1 -> tensor<f32> {
    %outer = pp.mse %h, %y : tensor<8x4xf32>, tensor<8x4xf32>
    pp.yield %outer : tensor<f32>
  }
  return %loss : tensor<f32>
}
