// RUN: ppopt opt %s --pp-resize-batch=batch=1099511627776 --verify-diagnostics

// expected-error @below {{with a batch of 1099511627776 rows this has more than 1099511627776 elements}}
func.func @main(%x: tensor<16x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0, 1] : tensor<16x2xf32>
  return %0 : tensor<f32>
}
