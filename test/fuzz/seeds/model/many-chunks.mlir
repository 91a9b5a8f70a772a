// --mesh dp=24,pp=3 --schedule interleaved --chunks 2147483647 --launch ranks --device-memory 4097 --cpu x86-64 --tied owner
func.func @m(%x: tensor<24x8xf32> {pp.input = "x"}, %y: tensor<24x2147483647xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 4611686018427387904, 0.1>} : tensor<8x2147483647xf32>
  %r80882 = pp.relu %w {causal} : tensor<8x2147483647xf32>
  %r4963 = pp.on 2147483647 -> tensor<8x2147483647xf32> {
  %o4963 = pp.tanh %w : tensor<8x2147483647xf32>
  pp.yield %o4963 : tensor<8x2147483647xf32>
  }
  %r57772 = pp.maximum %r80882, %r4963 : tensor<8x2147483647xf32>, tensor<8x2147483647xf32>
  %m59881 = pp.reshape %w : tensor<8x2147483647xf32> to tensor<1x8x2147483647xf32>
  %u59881 = pp.softplus %u59881 : tensor<1x8x2147483647xf32>
  %r59881 = pp.reshape %u59881 : tensor<1x8x2147483647xf32> to tensor<8x2147483647xf32>
  %r41091 = pp.softplus %r59881 : tensor<8x2147483647xf32>
  %p = pp.matmul %x, %r80882 {eps = 0.0 : f64} : tensor<24x8xf32>, tensor<8x2147483647xf32>
  %r29166 = pp.mul %y, %y : tensor<24x2147483647xf32>, tensor<24x2147483647xf32>
  %loss = pp.mse %p, %r29166 : tensor<24x2147483647xf32>, tensor<24x2147483647xf32>
  return %loss : tensor<f32>
}
