// --mesh pp=3 --batch 26 --tied owner
func.func @m(%x: tensor<4x8xf32> {pp.input = "x"}, %y: tensor<4x2147483647xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.1>} : tensor<8x2147483647xf32>
  %p69850 = pp.param "p69850" {init = #pp.init<ones>, no_decay} : tensor<2147483647xf32>
  %u69850 = pp.param "u69850" {init = #pp.init<zeros>, frozen} : tensor<2147483647xf32>
  %m45386 = pp.reduce mean %p69850 [0] {keep_dims} : tensor<2147483647xf32>
  %r95470 = pp.sqrt %p69850 : tensor<2147483647xf32>
  %r51958 = pp.normalize %r95470 {center, eps = 1.0e-5 : f64} : tensor<2147483647xf32>
  %r45386 = pp.mul %r51958, %m45386 : tensor<2147483647xf32>, tensor<1xf32>
  %r69850 = pp.layer_norm %w, %r45386, %u69850 : tensor<8x2147483647xf32>, tensor<2147483647xf32>, tensor<2147483647xf32>
  %r86221 = pp.sigmoid %x {keep_dims} : tensor<4x8xf32>
  %p = pp.matmul %x, %r69850 : tensor<4x8xf32>, tensor<8x2147483647xf32>
  %r54181 = pp.gelu %y {tanh} : tensor<4x2147483647xf32>
  %r60833 = pp.gelu %p : tensor<4x2147483647xf32>
  %loss = pp.mse %r60833, %r54181 : tensor<4x2147483647xf32>, tensor<4x2147483647xf32>
  return %loss : tensor<f32>
}
