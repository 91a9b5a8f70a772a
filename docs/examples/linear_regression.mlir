// The smallest model: y = x w + b, fitted by least squares. 32 rows are a batch.
func.func @linear_regression(%x: tensor<32x8xf32> {pp.input = "x"},
                             %y: tensor<32x1xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x1xf32>
  %b = pp.param "b" {init = #pp.init<zeros>, no_decay} : tensor<1xf32>
  %matmul = pp.matmul %x, %w : tensor<32x8xf32>, tensor<8x1xf32>
  %predicted = pp.add %matmul, %b : tensor<32x1xf32>, tensor<1xf32>
  %loss = pp.mse %predicted, %y : tensor<32x1xf32>, tensor<32x1xf32>
  return %loss : tensor<f32>
}
