// --mesh dp=2 --microbatches 4 --optimizer adam
func.func @losses(%x: tensor<48x6xf64> {pp.input = "x"}, %y: tensor<48x3xf64> {pp.input = "y"},
                  %first: tensor<48x2xi32> {pp.input = "first"}, %second: tensor<48xi32> {pp.input = "second"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.4>} : tensor<6x8xf64>
  %b = pp.param "b" {init = #pp.init<zeros>, no_decay} : tensor<8xf64>
  %u = pp.param "u" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x10xf64>
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x3xf64>
  %m17615 = pp.slice %w [0, 0] : tensor<6x8xf64> to tensor<6x1xf64>
  %r17615 = pp.broadcast %m17615 [0, 1] : tensor<6x1xf64> to tensor<6x8xf64>
  %p = pp.matmul %x, %r17615 : tensor<48x6xf64>, tensor<6x8xf64>
  %pb = pp.add %p, %b : tensor<48x8xf64>, tensor<8xf64>
  %h = pp.gelu %pb {tanh} : tensor<48x8xf64>
  %o = pp.matmul %h, %u : tensor<48x8xf64>, tensor<8x10xf64>
  %r = pp.reshape %o : tensor<48x10xf64> to tensor<48x2x5xf64>
  %l1 = pp.cross_entropy %r, %first {ignore_index = -1 : i64} : tensor<48x2x5xf64>, tensor<48x2xi32>
  %m = pp.reduce max %r [1] : tensor<48x2x5xf64>
  %l2 = pp.cross_entropy %m, %second {ignore_index = 2 : i64} : tensor<48x5xf64>, tensor<48xi32>
  %s = pp.matmul %h, %v : tensor<48x8xf64>, tensor<8x3xf64>
  %l3 = pp.mse %s, %y : tensor<48x3xf64>, tensor<48x3xf64>
  %half = pp.constant dense<0.5> : tensor<f64>
  %l3h = pp.mul %half, %l3 : tensor<f64>, tensor<f64>
  %r20685 = pp.gelu %w : tensor<6x8xf64>
  %ww = pp.mul %r20685, %r20685 : tensor<6x8xf64>, tensor<6x8xf64>
  %sw = pp.reduce sum %w [0, 1] : tensor<6x8xf64>
  %c = pp.constant dense<0.05> : tensor<f64>
  %penalty = pp.mul %sw, %c : tensor<f64>, tensor<f64>
  %a1 = pp.add %l1, %l2 : tensor<f64>, tensor<f64>
  %a2 = pp.add %a1, %l3h : tensor<f64>, tensor<f64>
  %loss = pp.add %half, %penalty : tensor<f64>, tensor<f64>
  return %loss : tensor<f64>
}
