// Two parameters of one name, by chance.
func.func @twice(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %first = pp.param "w.1.10" {init = #pp.init<ones>} : tensor<8xf32>
  pp.repeat 2 {
    pp.repeat 2 index "j" {
      %w = pp.param "w.{i}.1{j}" {init = #pp.init<ones>} : tensor<8xf32>
      pp.yield
    }
    pp.yield
  }
  %y = pp.mul %x, %first : tensor<4x8xf32>, tensor<8xf32>
  %loss = pp.reduce mean %y [0, 1] : tensor<4x8xf32>
  return %loss : tensor<f32>
}
