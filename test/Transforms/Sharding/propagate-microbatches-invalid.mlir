// RUN: ppopt opt %s --split-input-file --verify-diagnostics --pp-inline-calls --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-lower-microbatches --pp-place-ops --pp-autodiff --pp-propagate-shardings

// Outside of a region nothing changes.
func.func @outside(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4xf32>
  %a = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  %b = pp.per_microbatch -> tensor<8x4xf32> {
    %m = pp.reduce mean %a [0] : tensor<8x4xf32>
    %c = pp.sub %a, %m : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %c : tensor<8x4xf32>
  }
  // expected-note @below {{operand 0 is such a sum}}
  %d = pp.reduce sum %b [0] : tensor<8x4xf32>
  // expected-error @below {{'pp.tanh' op can't be split over the batch: it is not linear in a sum over the batch that depends on activations, so that no microbatch could compute its part; move it before the sum, or compute it from inputs alone; it compiles with --microbatches 1: an op that mixes rows has no equal step over microbatches; for what is to be of the rows of one microbatch, write pp.per_microbatch { ... } around it}}
  %e = pp.tanh %d : tensor<4xf32>
  %loss = pp.reduce sum %e [0] : tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

// A sum of activations over all microbatches does not enter; see split-batch-sums.mlir of sums of inputs.
func.func @sum_enters(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4xf32>
  %a = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  // expected-note @below {{this is the sum; compute it in the region too}}
  %s = pp.reduce sum %a [0] : tensor<8x4xf32>
  %loss = pp.per_microbatch -> tensor<f32> {
    // expected-error @below {{'pp.sub' op can't be split over the batch: in a pp.per_microbatch it reads a sum over all microbatches, which is not complete before the last one}}
    %b = pp.sub %a, %s : tensor<8x4xf32>, tensor<4xf32>
    %c = pp.mul %b, %b : tensor<8x4xf32>, tensor<8x4xf32>
    %l = pp.reduce mean %c [0, 1] : tensor<8x4xf32>
    pp.yield %l : tensor<f32>
  }
  return %loss : tensor<f32>
}
