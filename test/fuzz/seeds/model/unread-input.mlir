// --mesh pp=3 --device-memory 4096
func.func @m(%x: tensor<4x8xf32> {pp.input = "x"}, %y: tensor<4x4xf16> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.1>} : tensor<8x4xf32>
  %p43904 = pp.param "p43904" {init = #pp.init<ones>} : tensor<4xf32>
  %r43904 = pp.rms_norm %w, %p43904 {eps = 0.25 : f64} : tensor<8x4xf32>, tensor<4xf32>
  %p = pp.matmul %x, %r43904 : tensor<4x8xf32>, tensor<8x4xf32>
  %p99071 = pp.param "p99071" {init = #pp.init<normal, 0.0, 0.1>} : tensor<4x4xf32>
  %m79467 = pp.reduce sum %p99071 [1] {keep_dims} : tensor<4x4xf32>
  %r79467 = pp.div %p99071, %m79467 : tensor<4x4xf32>, tensor<4x1xf32>
  %r99071 = pp.matmul %p, %r79467 : tensor<4x4xf32>, tensor<4x4xf32>
  %r47861 = pp.detach %r99071 : tensor<4x4xf32>
  %loss = pp.mse %r47861, %r47861 : tensor<4x4xf32>, tensor<4x4xf32>
  return %loss : tensor<f32>
}
