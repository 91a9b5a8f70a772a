// --precision bf16 --mesh pp=2 --schedule zb-v --microbatches 3

func.func @mlp(%x: tensor<6x3xf32> {pp.input = "x"},
    %y: tensor<6x2xf32> {pp.input = "y"}) -> tensor<f32> {
  %w0 = pp.param "layers.0.weight" {init = #pp.init<normal, 0.0, 0.5773502691896258>} : tensor<3x5xf32>
  %b0 = pp.param "layers.0.bias" {init = #pp.init<zeros>, no_decay} : tensor<5xf32>
  %m0 = pp.matmul %x, %w0 : tensor<6x3xf32>, tensor<3x5xf32>
  %a0 = pp.add %m0, %b0 : tensor<6x5xf32>, tensor<5xf32>
  %h0 = pp.gelu %a0 {tanh} : tensor<6x5xf32>
  %w1 = pp.param "layers.1.weight" {init = #pp.init<normal, 0.0, 0.4472135954999579>} : tensor<5x2xf32>
  %b1 = pp.param "layers.1.bias" {init = #pp.init<zeros>, no_decay} : tensor<2xf32>
  %m1 = pp.matmul %h0, %w1 : tensor<6x5xf32>, tensor<5x2xf32>
  %a1 = pp.add %m1, %b1 : tensor<6x2xf32>, tensor<2xf32>
  %loss = pp.mse %a1, %y : tensor<6x2xf32>, tensor<6x2xf32>
  return %loss : tensor<f32>
}
