// RUN: ppopt opt %s --pp-emit-kernels --split-input-file --verify-diagnostics

// expected-error @below {{'pp.kernel' op has no tiles; run --pp-plan-kernels first}}
pp.kernel @no_tiles(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x8>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has a reduction without lanes; run --pp-plan-kernels first}}
pp.kernel @no_lanes(%x: tensor<4x8xf32>) -> tensor<4xf32> attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<4x8xf32>
  pp.return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has tiles of 2 rows; on a CPU they are of one}}
pp.kernel @two_rows(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<2 of 2 rows>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has tiles of 40 queries, not a multiple of 16}}
pp.kernel @queries(%x: tensor<1x2x80x4xf32>) -> tensor<1x2x80x4xf32> attributes {form = #pp.form<attention 1x2x80x4>, tiles = #pp.tiles<4 of 40 queries, blocks of 64>} {
  %o, %lse = pp.attention %x, %x, %x : tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>
  pp.return %o : tensor<1x2x80x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has blocks of 10 keys, not a multiple of the 4 elements of a vector; plan and emit kernels with the same vector-bytes}}
pp.kernel @keys(%x: tensor<1x2x80x4xf32>) -> tensor<1x2x80x4xf32> attributes {form = #pp.form<attention 1x2x80x4>, tiles = #pp.tiles<10 of 16 queries, blocks of 10>} {
  %o, %lse = pp.attention %x, %x, %x : tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>
  pp.return %o : tensor<1x2x80x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has no tiles of columns; run --pp-plan-kernels first}}
pp.kernel @convolution(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32> attributes {form = #pp.form<conv 2x1x4x6>, tiles = #pp.tiles<6 of 8 elements>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}
