// RUN: ppopt opt %s --pp-emit-kernels --split-input-file --verify-diagnostics

pp.kernel @lookup(%table: tensor<16x8xf32>, %ids: tensor<4xi32>, %key: tensor<15xi64>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64})
    attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  // expected-error @below {{'pp.embedding' op looks up rows of a table that axes of the mesh cut: cut rows of a table are not compiled yet; leave the rows whole}}
  %0 = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<4xi32>
  pp.return %0 : tensor<4x8xf32>
}

// -----

pp.kernel @scatter(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>, %key: tensor<15xi64>) -> tensor<16x8xf32>
    attributes {form = #pp.form<scatter 4x8>, tiles = #pp.tiles<1 of 8 columns>} {
  // expected-error @below {{'pp.embedding_grad' op looks up rows of a table that axes of the mesh cut: cut rows of a table are not compiled yet; leave the rows whole}}
  %0 = pp.embedding_grad %ids, %dy key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<4xi32>, tensor<4x8xf32> to tensor<16x8xf32>
  pp.return %0 : tensor<16x8xf32>
}

// -----

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
