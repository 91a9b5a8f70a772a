// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-shard --split-input-file --verify-diagnostics

// Ops that mix rows of the batch. Each error names the plan that accepts the op.

func.func @regroups(%x: tensor<8x2x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0, 2] : tensor<8x2x3xf32>
  // expected-error @+1 {{'pp.reshape' op can't be split over the batch: it mixes rows of the batch (each result needs all of them); it compiles with --microbatches 1: an op that mixes rows has no equal step over microbatches; for what is to be of the rows of one microbatch, write pp.per_microbatch { ... } around it}}
  %1 = pp.reshape %0 : tensor<2x8x3xf32> to tensor<2x6x4xf32>
  %2 = pp.reduce sum %1 [0, 1, 2] : tensor<2x6x4xf32>
  return %2 : tensor<f32>
}

// -----

func.func @regroups_minor(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0] : tensor<8x3xf32>
  // expected-error @+1 {{'pp.reshape' op can't be split over the batch: it mixes rows of the batch (each result needs all of them); it compiles with}}
  %1 = pp.reshape %0 : tensor<3x8xf32> to tensor<4x6xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<4x6xf32>
  return %2 : tensor<f32>
}

// -----

func.func @some_rows(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.slice' op can't be split over the batch: it mixes rows of the batch (each result needs all of them); it compiles with}}
  %0 = pp.slice %x [4, 0] : tensor<8x3xf32> to tensor<4x3xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<4x3xf32>
  return %1 : tensor<f32>
}

// -----

func.func @looked_up_rows(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %ids = pp.constant dense<[0, 1]> : tensor<2xi32>
  // expected-error @+1 {{'pp.embedding' op can't be split over the batch: it mixes rows of the batch (each result needs all of them); it compiles with}}
  %0 = pp.embedding %x, %ids : tensor<8x3xf32>, tensor<2xi32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<2x3xf32>
  return %1 : tensor<f32>
}

// -----

func.func @largest(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<2xf32> {
  // expected-error @+1 {{'pp.reduce' op can't be split over the batch: it mixes rows of the batch (a maximum over them); it compiles with}}
  %0 = pp.reduce max %x [0] : tensor<8x2xf32>
  return %0 : tensor<2xf32>
}

// -----

func.func @pairs(%x: tensor<8x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0] : tensor<8x8xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: the batch lies along different dimensions of its operands; it compiles with}}
  %1 = pp.mul %x, %0 : tensor<8x8xf32>, tensor<8x8xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<8x8xf32>
  return %2 : tensor<f32>
}

// -----

// Rows that do not come from the inputs.

func.func @table(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @+1 {{it is made here}}
  %0 = pp.constant dense<[0., 1., 2., 3., 4., 5., 6., 7.]> : tensor<8xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: operand 1 is a constant with elements of its own for each row of the batch; make it an input of the model (pp.input), or compute it (pp.iota); it compiles with}}
  %1 = pp.mul %x, %0 : tensor<8xf32>, tensor<8xf32>
  %2 = pp.reduce sum %1 [0] : tensor<8xf32>
  return %2 : tensor<f32>
}

// -----

// A constant whose elements are equal has rows of any number.

func.func @splat(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.constant dense<2.> : tensor<8xf32>
  %1 = pp.mul %x, %0 : tensor<8xf32>, tensor<8xf32>
  %2 = pp.reduce sum %1 [0] : tensor<8xf32>
  return %2 : tensor<f32>
}

// -----

func.func @parameter(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @+1 {{it is made here}}
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x2xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: operand 0 has a dimension of the batch's size that does not come from the model's inputs; it compiles with}}
  %0 = pp.mul %w, %x : tensor<8x2xf32>, tensor<8x2xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x2xf32>
  return %1 : tensor<f32>
}

// -----

// Sums over the batch that depend on activations: no microbatch knows them.

func.func @centered(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<f32>
  %0 = pp.mul %x, %w : tensor<8xf32>, tensor<f32>
  %1 = pp.reduce sum %0 [0] : tensor<8xf32>
  // expected-note @+1 {{it is made here}}
  %2 = pp.broadcast %1 [] : tensor<f32> to tensor<8xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: operand 1 has rows of the batch's size that are made of a sum over the batch that depends on activations; it compiles with}}
  %3 = pp.mul %0, %2 : tensor<8xf32>, tensor<8xf32>
  %4 = pp.reduce sum %3 [0] : tensor<8xf32>
  return %4 : tensor<f32>
}

// -----

func.func @scaled(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<f32>
  %0 = pp.mul %x, %w : tensor<8xf32>, tensor<f32>
  // expected-note @+1 {{operand 1 is such a sum}}
  %1 = pp.reduce sum %0 [0] : tensor<8xf32>
  // expected-error @+1 {{'pp.mul' op can't be split over the batch: it is not linear in a sum over the batch that depends on activations, so that no microbatch could compute its part; move it before the sum, or compute it from inputs alone; it compiles with}}
  %2 = pp.mul %0, %1 : tensor<8xf32>, tensor<f32>
  %3 = pp.reduce sum %2 [0] : tensor<8xf32>
  return %3 : tensor<f32>
}

// -----

// Rows where a sum over them is needed.

func.func @returns_rows(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<8xf32> {
  %0 = pp.exp %x : tensor<8xf32>
  // expected-error @+1 {{'func.return' op can't be split over the batch: its operand has one value for each row of the batch, where a sum over the batch is needed; it compiles with}}
  return %0 : tensor<8xf32>
}

// -----

func.func @gradient_of_rows(%x: tensor<8xf32> {pp.input = "x"}) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8xf32>
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{'pp.add_grad' op can't be split over the batch: its operand has one value for each row of the batch, where a sum over the batch is needed; it compiles with}}
    pp.add_grad %w, %x : tensor<8xf32>
    pp.yield
  }
  return
}

// -----

// Ops in regions are checked as well.

func.func @in_region(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    // expected-error @+1 {{'pp.reshape' op can't be split over the batch: it mixes rows of the batch (each result needs all of them); it compiles with}}
    %1 = pp.reshape %x : tensor<8x3xf32> to tensor<6x4xf32>
    %2 = pp.reduce sum %1 [0, 1] : tensor<6x4xf32>
    pp.yield %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func private @callee()
func.func @main(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'func.call' op can't be split over the batch: it does not say over which loops it runs; it compiles with}}
  func.call @callee() : () -> ()
  %0 = pp.reduce sum %x [0] : tensor<8xf32>
  return %0 : tensor<f32>
}
