// RUN: ppopt opt %s --pp-resize-batch=batch=4 --split-input-file --verify-diagnostics

// A batch of another size may be mixed, but its rows must come from the inputs, and each op must have a shape for it.

func.func @regroups(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.reshape' op can't be split over the batch: it mixes rows of the batch, which are dimension 0 of operand 0; leave --batch out and change the model's shapes}}
  %0 = pp.reshape %x : tensor<8x3xf32> to tensor<6x4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<6x4xf32>
  return %1 : tensor<f32>
}

// -----

// Rows may be the minor part of a dimension.
func.func @minor_rows(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0] : tensor<8x3xf32>
  %1 = pp.reshape %0 : tensor<3x8xf32> to tensor<24xf32>
  %2 = pp.reduce sum %1 [0] : tensor<24xf32>
  return %2 : tensor<f32>
}

// -----

func.func @pairs(%x: tensor<8x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0] : tensor<8x8xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: the batch lies along different dimensions of its operands; leave --batch out and change the model's shapes}}
  %1 = pp.mul %x, %0 : tensor<8x8xf32>, tensor<8x8xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<8x8xf32>
  return %2 : tensor<f32>
}

// -----

func.func @parameter(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @+1 {{it is made here}}
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: operand 1 has a dimension of the batch's size that does not come from the model's inputs; leave --batch out and change the model's shapes}}
  %0 = pp.mul %x, %w : tensor<8xf32>, tensor<8xf32>
  %1 = pp.reduce sum %0 [0] : tensor<8xf32>
  return %1 : tensor<f32>
}

// -----

func.func @table(%x: tensor<3xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @+1 {{it is made here}}
  %0 = pp.constant dense<[0., 1., 2.]> : tensor<3xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: operand 1 is a constant with elements of its own for each row of the batch; make it an input of the model (pp.input), or compute it (pp.iota); leave --batch out and change the model's shapes}}
  %1 = pp.mul %x, %0 : tensor<3xf32>, tensor<3xf32>
  %2 = pp.reduce sum %1 [0] : tensor<3xf32>
  return %2 : tensor<f32>
}

// -----

func.func private @callee()
func.func @main(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'func.call' op can't be split over the batch: it does not say over which loops it runs; leave --batch out and change the model's shapes}}
  func.call @callee() : () -> ()
  %0 = pp.reduce sum %x [0] : tensor<8xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{the model has no input with a first dimension, so there is no batch to split}}
func.func @main(%x: tensor<f32> {pp.input = "x"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

// Rows may mix, and sums over them are complete.

func.func @mixes(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce max %x [0] : tensor<8x2xf32>
  %1 = pp.reduce sum %x [0] : tensor<8x2xf32>
  %2 = pp.exp %1 : tensor<2xf32>
  %3 = pp.mul %0, %2 : tensor<2xf32>, tensor<2xf32>
  %4 = pp.reduce sum %3 [0] : tensor<2xf32>
  return %4 : tensor<f32>
}

// -----

// Rows of the first batch of two are passed over, whatever their number is; those that are counted are not there.

func.func @moves(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.concat %x, %x {dim = 0 : i64} : tensor<8x2xf32>, tensor<8x2xf32>
  %1 = pp.slice %0 [8, 0] : tensor<16x2xf32> to tensor<8x2xf32>
  %2 = pp.pad %1 [8, 0] : tensor<8x2xf32> to tensor<16x2xf32>
  // expected-error @+1 {{'pp.slice' op counts rows of the batch; leave --batch out and change the model's shapes}}
  %3 = pp.slice %2 [3, 0] : tensor<16x2xf32> to tensor<5x2xf32>
  %4 = pp.reduce sum %3 [0, 1] : tensor<5x2xf32>
  return %4 : tensor<f32>
}
