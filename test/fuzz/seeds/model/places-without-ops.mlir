// --precision bf16 --mesh pp=65536 --schedule zb-v --microbatches 128 --device-memory 1MiB

func.func @mlp(%x: tensor<128x128xf32> {pp.input = "x"},
    %y: tensor<128x2xf32> {pp.input = "y"}) -> tensor<f32> {
  %w0 = pp.param "layers.0.weight" {init = #pp.init<normal, 0.0, 0.5773502691896258>} : tensor<128x128xf32>
  %b0 = pp.param "layers.0.bias" {init = #pp.init<zeros>, no_decay} : tensor<128xf32>
  %r88787 = pp.sigmoid %x : tensor<128x128xf32>
  %r70731 = pp.gelu %r88787 {tanh} : tensor<128x128xf32>
  %p16091 = pp.param "p16091" {init = #pp.init<ones>, no_decay} : tensor<128xf32>
  %u16091 = pp.param "u16091" {init = #pp.init<zeros>, frozen} : tensor<128xf32>
  %r80333 = pp.exp %u16091 : tensor<128xf32>
  %r16091 = pp.layer_norm %w0, %p16091, %r80333 : tensor<128x128xf32>, tensor<128xf32>, tensor<128xf32>
  %m52727 = pp.reshape %r16091 : tensor<128x128xf32> to tensor<1x128x128xf32>
  %u52727 = pp.tanh %m52727 : tensor<1x128x128xf32>
  %r52727 = pp.reshape %u52727 : tensor<1x128x128xf32> to tensor<128x128xf32>
  %m0 = pp.matmul %r70731, %r52727 : tensor<128x128xf32>, tensor<128x128xf32>
  %a0 = pp.add %m0, %b0 : tensor<128x128xf32>, tensor<128xf32>
  %h0 = pp.gelu %a0 {tanh} : tensor<128x128xf32>
  %w1 = pp.param "layers.1.weight" {init = #pp.init<normal, 0.0, 0.4472135954999579>} : tensor<128x2xf32>
  %b1 = pp.param "layers.1.bias" {init = #pp.init<zeros>, no_decay} : tensor<2xf32>
  %r58675 = pp.softmax %a0 : tensor<128x128xf32>
  %r5929 = pp.constant dense<0.5> : tensor<128x2xf32>
  %m1 = pp.matmul %r58675, %r5929 : tensor<128x128xf32>, tensor<128x2xf32>
  %a1 = pp.sub %m1, %b1 : tensor<128x2xf32>, tensor<2xf32>
  %loss = pp.mse %a1, %y : tensor<128x2xf32>, tensor<128x2xf32>
  return %loss : tensor<f32>
}
