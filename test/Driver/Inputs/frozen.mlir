func.func @frozen_front(%x: tensor<8x16xf32> {pp.input = "x"}, %y: tensor<8x16xf32> {pp.input = "y"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<normal, 0.0, 0.3>, frozen} : tensor<16x16xf32>
  %w1 = pp.param "w1" {init = #pp.init<normal, 0.0, 0.3>} : tensor<16x16xf32>
  %h = pp.on 0 -> tensor<8x16xf32> {
    %0 = pp.matmul %x, %w0 : tensor<8x16xf32>, tensor<16x16xf32>
    %1 = pp.tanh %0 : tensor<8x16xf32>
    pp.yield %1 : tensor<8x16xf32>
  }
  %loss = pp.on 1 -> tensor<f32> {
    %0 = pp.matmul %h, %w1 : tensor<8x16xf32>, tensor<16x16xf32>
    %1 = pp.mse %0, %y : tensor<8x16xf32>, tensor<8x16xf32>
    pp.yield %1 : tensor<f32>
  }
  return %loss : tensor<f32>
}
