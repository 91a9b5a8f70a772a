func.func @m(%x: tensor<2x2xf64> {pp.input = "x"}) -> (tensor<f64>, tensor<f64> {pp.metric = "m"}) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2xf64>
  %l = pp.on 0 -> tensor<2xf64> {
    %1 = pp.mul %w, %w : tensor<2xf64>, tensor<2xf64>
    pp.yield %1 : tensor<2xf64>
  }
  %loss = pp.on 0 -> tensor<f64> {
    %1 = pp.reduce mean %l [0] : tensor<2xf64>
    pp.yield %1 : tensor<f64>
  }
  %s = pp.on 1 -> tensor<2xf64> {
    %1 = pp.reduce sum %x [0] : tensor<2x2xf64>
    pp.yield %1 : tensor<2xf64>
  }
  %m = pp.on 1 -> tensor<f64> {
    %1 = pp.reduce mean %s [0] : tensor<2xf64>
    pp.yield %1 : tensor<f64>
  }
  return %loss, %m : tensor<f64>, tensor<f64>
}
