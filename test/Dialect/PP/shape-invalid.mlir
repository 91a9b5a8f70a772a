// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @reshape_size(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.reshape' op reshapes 'tensor<4x8xf32>' of 32 elements to 'tensor<5x8xf32>' of 40}}
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<5x8xf32>
  return
}

// -----

func.func @reshape_type(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.reshape' op element types of 'tensor<4x8xf32>' and 'tensor<32xf64>' differ; pp.cast changes them}}
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<32xf64>
  return
}

// -----

func.func @transpose_twice(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.transpose' op permutation array<i64: 1, 1> does not name each dimension of 'tensor<4x8xf32>' once}}
  %0 = pp.transpose %x [1, 1] : tensor<4x8xf32>
  return
}

// -----

func.func @transpose_too_many(%x: tensor<4x8xf32>) {
  // expected-error @below {{permutation array<i64: 0, 1, 2> does not name each dimension}}
  %0 = pp.transpose %x [0, 1, 2] : tensor<4x8xf32>
  return
}

// -----

func.func @slice_outside(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.slice' op dimension 1: 3 elements from 6 on are not within 0 to 8}}
  %0 = pp.slice %x [0, 6] : tensor<4x8xf32> to tensor<4x3xf32>
  return
}

// -----

func.func @slice_negative(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.slice' op dimension 0: 4 elements from -1 on are not within 0 to 4}}
  %0 = pp.slice %x [-1, 0] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @pad_rank(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.pad' op needs operand, result and offsets of the same number of dimensions, got 'tensor<4x8xf32>', 'tensor<4x9xf32>' and 1 offsets}}
  %0 = pp.pad %x [0] : tensor<4x8xf32> to tensor<4x9xf32>
  return
}

// -----

func.func @pad_outside(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.pad' op dimension 1: 8 elements from 2 on are not within 0 to 9}}
  %0 = pp.pad %x [0, 2] : tensor<4x8xf32> to tensor<4x9xf32>
  return
}

// -----

func.func @concat_without_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.concat' op requires attribute 'dim'}}
  %0 = pp.concat %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @concat_too_large(%x: tensor<9223372036854775807xf32>) {
  // expected-error @below {{'pp.concat' op is too large along dimension 0}}
  %0 = pp.concat %x, %x {dim = 0 : i64} : tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>
  return
}

// -----

func.func @concat_of_nothing() {
  // expected-error @below {{'pp.concat' op needs at least one operand}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "pp.concat"() {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.concat' op dim -1 is not a dimension of 'tensor<4x8xf32>'}}
  %0 = pp.concat %x, %x {dim = -1 : i64} : tensor<4x8xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @concat_sizes(%x: tensor<4x8xf32>, %y: tensor<5x8xf32>) {
  // expected-error @below {{'pp.concat' op operands of 'tensor<4x8xf32>' and 'tensor<5x8xf32>' differ in more than dimension 1}}
  %0 = pp.concat %x, %y {dim = 1 : i64} : tensor<4x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{'pp.concat' op operands of 'tensor<4xf32>' and 'tensor<4xf64>' differ in their element types; pp.cast one}}
  %0 = pp.concat %x, %y {dim = 0 : i64} : tensor<4xf32>, tensor<4xf64>
  return
}

// -----

func.func @broadcast_dims(%x: tensor<8xf32>) {
  // expected-error @below {{'pp.broadcast' op has 2 dims for the 1 dimensions of 'tensor<8xf32>'}}
  %0 = pp.broadcast %x [0, 1] : tensor<8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.broadcast' op dims array<i64: 1, 0> are not increasing dimensions of 'tensor<8x4xf32>'}}
  %0 = pp.broadcast %x [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  return
}

// -----

func.func @broadcast_sizes(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.broadcast' op dimension 0 of size 4 can't become dimension 1 of size 8}}
  %0 = pp.broadcast %x [1] : tensor<4xf32> to tensor<4x8xf32>
  return
}
