// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan=microbatches=2 --pp-lower-microbatches --split-input-file --verify-diagnostics

func.func @two_dimensions(%a: tensor<8x4xf32> {pp.input = "a"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<8x8xf32> {
    // expected-error @below {{what a pp.per_microbatch yields has rows of the batch in dimensions 0 and 1: no rows of one microbatch are a part of it}}
    %1 = pp.matmul %a, %a {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32>
    pp.yield %1 : tensor<8x8xf32>
  }
  %2 = pp.reduce sum %0 [0, 1] : tensor<8x8xf32>
  return %2 : tensor<f32>
}

// -----

func.func @not_outermost(%a: tensor<8x4xf32> {pp.input = "a"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<32xf32> {
    %1 = pp.transpose %a [1, 0] : tensor<8x4xf32>
    // expected-error @below {{what a pp.per_microbatch yields has the rows of the batch in dimension 0, and not outermost there; transpose it}}
    %2 = pp.reshape %1 : tensor<4x8xf32> to tensor<32xf32>
    pp.yield %2 : tensor<32xf32>
  }
  %3 = pp.reduce sum %0 [0] : tensor<32xf32>
  return %3 : tensor<f32>
}

// -----

func.func @whole_number(%a: tensor<8xi64> {pp.input = "a"}, %x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<i64> {
    // expected-error @below {{what a pp.per_microbatch yields has no rows of the batch, and is no float whose mean over microbatches could be taken}}
    %1 = pp.reduce sum %a [0] : tensor<8xi64>
    pp.yield %1 : tensor<i64>
  }
  %2 = pp.reduce sum %x [0, 1] : tensor<8x4xf32>
  return %2 : tensor<f32>
}

// -----

func.func @draws(%a: tensor<8x4xf32> {pp.input = "a"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<8x4xf32> {
    // expected-error @below {{'pp.dropout' op in a pp.per_microbatch draws random numbers, which are numbered by the rows of the batch; move it out of the region, or compile with --microbatches 1}}
    %1 = pp.dropout %a {p = 0.5 : f64} : tensor<8x4xf32>
    pp.yield %1 : tensor<8x4xf32>
  }
  %2 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
  return %2 : tensor<f32>
}

// -----

func.func @some_rows(%a: tensor<8x4xf32> {pp.input = "a"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<f32> {
    // expected-error @below {{'pp.slice' op in a pp.per_microbatch takes the rows of a batch apart; move it out of the region, or compile with --microbatches 1}}
    %1 = pp.slice %a [0, 0] : tensor<8x4xf32> to tensor<2x4xf32>
    %2 = pp.reduce sum %1 [0, 1] : tensor<2x4xf32>
    pp.yield %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @table(%a: tensor<4x2xf32> {pp.input = "a"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<f32> {
    // expected-error @below {{is a constant with elements of its own for each row of the batch; make it an input of the model (pp.input), or compute it (pp.iota)}}
    %1 = pp.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
    %2 = pp.mul %a, %1 : tensor<4x2xf32>, tensor<4x1xf32>
    %3 = pp.reduce sum %2 [0, 1] : tensor<4x2xf32>
    pp.yield %3 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// A part of the columns is one of each row, and rows that are joined to others are joined in each microbatch; which of them are taken is counted.
func.func @counted(%a: tensor<8x4xf32> {pp.input = "a"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<f32> {
    %1 = pp.slice %a [0, 2] : tensor<8x4xf32> to tensor<8x2xf32>
    %2 = pp.concat %1, %1 {dim = 0 : i64} : tensor<8x2xf32>, tensor<8x2xf32>
    // expected-error @below {{'pp.slice' op in a pp.per_microbatch counts rows; move it out of the region, or compile with --microbatches 1}}
    %3 = pp.slice %2 [8, 0] : tensor<16x2xf32> to tensor<8x2xf32>
    %4 = pp.reduce sum %3 [0, 1] : tensor<8x2xf32>
    pp.yield %4 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @one_value(%x: tensor<2x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<ones>} : tensor<4xf32>
  %m = pp.param "m" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %v = pp.param "v" {init = #pp.init<ones>, state} : tensor<4xf32>
  // expected-error @below {{'pp.batch_norm' op has one value of each channel in a microbatch, and no variance; give it more rows: a larger batch, or fewer microbatches}}
  %0 = pp.batch_norm %x, %s, %s, %m, %v : tensor<2x4xf32>, tensor<4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<2x4xf32>
  return %1 : tensor<f32>
}
