// RUN: ppopt opt %s --pp-resize-batch=batch=1099511627776 --split-input-file --verify-diagnostics

// expected-error @below {{with a batch of 1099511627776 rows this has more than 2199023255552 elements}}
func.func @main(%x: tensor<16x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0, 1] : tensor<16x3xf32>
  return %0 : tensor<f32>
}

// -----

// The input has as many elements as there may be.

func.func @main(%x: tensor<16x2xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{with a batch of 1099511627776 rows this has more than 2199023255552 elements}}
  %0 = pp.broadcast %x [0, 1] : tensor<16x2xf32> to tensor<16x2x2xf32>
  %1 = pp.reduce sum %0 [0, 1, 2] : tensor<16x2x2xf32>
  return %1 : tensor<f32>
}
