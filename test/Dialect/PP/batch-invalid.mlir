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

// -----

func.func @no_dimension(%x: tensor<8x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{dim is 2, and 'tensor<8x4xf32>' has dimensions 0 to 1}}
  %0 = pp.batch_norm %x, %s, %s, %s, %s {dim = 2 : i64} : tensor<8x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @vectors(%x: tensor<8x4xf32>, %s: tensor<8xf32>) {
  // expected-error @below {{scale, bias, mean and variance are 'tensor<8xf32>', not vectors of the 4 elements in dimension 1 of 'tensor<8x4xf32>'}}
  %0 = pp.batch_norm %x, %s, %s, %s, %s : tensor<8x4xf32>, tensor<8xf32>
  return
}

// -----

func.func @momentum(%x: tensor<8x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{momentum is 1.5}}
  %0 = pp.batch_norm %x, %s, %s, %s, %s {momentum = 1.5 : f64} : tensor<8x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @one_value(%x: tensor<1x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{'pp.batch_norm' op has one value of each channel in a microbatch, and no variance; give it more rows: a larger batch, or fewer microbatches}}
  %0 = pp.batch_norm %x, %s, %s, %s, %s : tensor<1x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @no_variance(%x: tensor<8x4xf32>, %v: tensor<4xf32>) {
  // expected-error @below {{is of 'tensor<4xf32>', which is no variance of 'tensor<8x4xf32>' with its dimensions kept}}
  %0 = pp.unbiased_variance %v, %x : tensor<4xf32>, tensor<8x4xf32>
  return
}
