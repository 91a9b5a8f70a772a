// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @reduce_order(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.reduce' op dims array<i64: 1, 0> are not increasing dimensions of 'tensor<4x8xf32>'}}
  %0 = pp.reduce sum %x [1, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @reduce_range(%x: tensor<4x8xf32>) {
  // expected-error @below {{dims array<i64: 2> are not increasing dimensions of 'tensor<4x8xf32>'}}
  %0 = pp.reduce sum %x [2] : tensor<4x8xf32>
  return
}

// -----

func.func @mean_of_integers(%x: tensor<4x8xi32>) {
  // expected-error @below {{'pp.reduce' op means are of floats; pp.cast the operand of 'tensor<4x8xi32>'}}
  %0 = pp.reduce mean %x [1] : tensor<4x8xi32>
  return
}

// -----

func.func @matmul_rank(%x: tensor<8xf32>, %w: tensor<8x5xf32>) {
  // expected-error @below {{'pp.matmul' op operands of 'tensor<8xf32>' and 'tensor<8x5xf32>' need two dimensions each}}
  %0 = pp.matmul %x, %w : tensor<8xf32>, tensor<8x5xf32>
  return
}

// -----

func.func @matmul_sum(%x: tensor<4x8xf32>, %w: tensor<5x8xf32>) {
  // expected-error @below {{'pp.matmul' op sums over dimensions of size 8 in 'tensor<4x8xf32>' and 5 in 'tensor<5x8xf32>'}}
  %0 = pp.matmul %x, %w : tensor<4x8xf32>, tensor<5x8xf32>
  return
}

// -----

func.func @matmul_types(%x: tensor<4x8xf32>, %w: tensor<8x5xf64>) {
  // expected-error @below {{'pp.matmul' op operands of 'tensor<4x8xf32>' and 'tensor<8x5xf64>' differ in their element types; pp.cast one}}
  %0 = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x5xf64>
  return
}

// -----

func.func @matmul_batch(%x: tensor<2x4x8xf32>, %w: tensor<3x8x5xf32>) {
  // expected-error @below {{'pp.matmul' op batch dimensions of 'tensor<2x4x8xf32>' and 'tensor<3x8x5xf32>' differ; pp.broadcast the smaller}}
  %0 = pp.matmul %x, %w : tensor<2x4x8xf32>, tensor<3x8x5xf32>
  return
}

// -----

func.func @matmul_transposed_batch(%x: tensor<2x8x4xf32>, %w: tensor<8x5xf32>) {
  // expected-error @below {{batch dimensions of 'tensor<2x8x4xf32>' and 'tensor<8x5xf32>' differ; a transposed lhs has those of rhs}}
  %0 = pp.matmul %x, %w {transpose_lhs} : tensor<2x8x4xf32>, tensor<8x5xf32>
  return
}

// -----

func.func @matmul_many_batches(%x: tensor<2x3x7x4x8xf32>, %w: tensor<2x3x7x8x5xf32>) {
  // expected-error @below {{'pp.matmul' op has more than two batch dimensions in 'tensor<2x3x7x4x8xf32>' and 'tensor<2x3x7x8x5xf32>'; pp.reshape them}}
  %0 = pp.matmul %x, %w : tensor<2x3x7x4x8xf32>, tensor<2x3x7x8x5xf32>
  return
}

// -----

func.func @argmax_dim(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.argmax' op dim 2 is no dimension of 'tensor<4x8xf32>'}}
  %0 = pp.argmax %x {dim = 2 : i64} : tensor<4x8xf32>
  return
}
