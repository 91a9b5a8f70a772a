func.func @chain(%x: tensor<64x512xf32> {pp.input = "x"}, %y: tensor<64x512xf32> {pp.input = "y"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<normal, 0.0, 0.3>} : tensor<512x512xf32>
  %w1 = pp.param "w1" {init = #pp.init<normal, 0.0, 0.3>} : tensor<512x512xf32>
  %w2 = pp.param "w2" {init = #pp.init<normal, 0.0, 0.3>} : tensor<512x512xf32>
  %w3 = pp.param "w3" {init = #pp.init<normal, 0.0, 0.3>} : tensor<512x512xf32>
  %0 = pp.matmul %x, %w0 : tensor<64x512xf32>, tensor<512x512xf32>
  %h0 = pp.tanh %0 : tensor<64x512xf32>
  %1 = pp.matmul %h0, %w1 : tensor<64x512xf32>, tensor<512x512xf32>
  %h1 = pp.tanh %1 : tensor<64x512xf32>
  %2 = pp.matmul %h1, %w2 : tensor<64x512xf32>, tensor<512x512xf32>
  %h2 = pp.tanh %2 : tensor<64x512xf32>
  %3 = pp.matmul %h2, %w3 : tensor<64x512xf32>, tensor<512x512xf32>
  %loss = pp.mse %3, %y : tensor<64x512xf32>, tensor<64x512xf32>
  return %loss : tensor<f32>
}
