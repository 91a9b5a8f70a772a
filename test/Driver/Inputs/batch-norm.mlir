func.func @model(%x: tensor<8x4xf32> {pp.input = "x"}, %y: tensor<8x4xf32> {pp.input = "y"}) -> tensor<f32> {
  %scale = pp.param "norm.weight" {init = #pp.init<ones>} : tensor<4xf32>
  %bias = pp.param "norm.bias" {init = #pp.init<zeros>} : tensor<4xf32>
  %mean = pp.param "norm.running_mean" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %var = pp.param "norm.running_var" {init = #pp.init<ones>, state} : tensor<4xf32>
  %n = pp.batch_norm %x, %scale, %bias, %mean, %var : tensor<8x4xf32>, tensor<4xf32>
  %loss = pp.mse %n, %y : tensor<8x4xf32>, tensor<8x4xf32>
  return %loss : tensor<f32>
}
