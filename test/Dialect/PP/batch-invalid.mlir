// RUN: ppopt opt %s --split-input-file --verify-diagnostics

func.func @shape(%x: tensor<8x4xf32>) {
  // expected-error @below {{is between 'tensor<3x4xf32>' and 'tensor<8x4xf32>', which are not the rows of one of 2 microbatches and of all}}
  %0 = pp.enter_microbatch %x {dim = 0 : i64, microbatches = 2 : i64} : tensor<8x4xf32> to tensor<3x4xf32>
  return
}

// -----

func.func @dimension(%x: tensor<4x4xf32>) {
  // expected-error @below {{has no dimension 2}}
  %0 = pp.leave_microbatch %x {dim = 2 : i64, microbatches = 2 : i64} : tensor<4x4xf32> to tensor<8x4xf32>
  return
}

// -----

func.func @none(%x: tensor<4x4xf32>) {
  // expected-error @below {{has no microbatches}}
  %0 = pp.leave_microbatch %x {microbatches = 0 : i64} : tensor<4x4xf32> to tensor<4x4xf32>
  return
}
