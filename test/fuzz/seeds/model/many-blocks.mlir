// --microbatches 4 --block-bytes 1024 --device-memory 1MiB --precision bf16
func.func @linear_regression(%x: tensor<4294967296x8xf32> {pp.input = "x"},
                             %y: tensor<4294967296x3xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x1xf32>
  %b = pp.param "b" {init = #pp.init<zeros>, no_decay} : tensor<1xf32>
  %product = pp.matmul %x, %w {tanh} : tensor<4294967296x8xf32>, tensor<8x1xf32>
  %r23244 = pp.mul %product, %product : tensor<4294967296x1xf32>, tensor<4294967296x1xf32>
  %m97913 = pp.reduce max %r23244 [1] {keep_dims} : tensor<4294967296x1xf32>
  %r97913 = pp.sub %r23244, %m97913 : tensor<4294967296x1xf32>, tensor<4294967296x1xf32>
  %i53174 = pp.iota {dim = 0 : i64} -> tensor<1xi32>
  %u53174 = pp.cast %i53174 : tensor<1xi32> to tensor<1xf32>
  %r53174 = pp.add %b, %u53174 : tensor<1xf32>, tensor<1xf32>
  %predicted = pp.add %r97913, %r53174 {frozen} : tensor<4294967296x1xf32>, tensor<1xf32>
  %p69669 = pp.param "p69669" {init = #pp.init<ones>} : tensor<1xf32>
  %r62845 = pp.silu %p69669 : tensor<1xf32>
  %r69669 = pp.rms_norm %predicted, %r62845 {eps = 0.25 : f64} : tensor<4294967296x1xf32>, tensor<1xf32>
  %loss = pp.mse %r23244, %product : tensor<4294967296x1xf32>, tensor<4294967296x1xf32>
  return %loss : tensor<f32>
}
