// RUN: ppopt opt %s --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: pp.kernel @rows(%arg0: tensor<7x33xf32>) -> (tensor<7x33xf32> {pp.sweep = 1 : i64}, tensor<7xf32>)
// CHECK-SAME: attributes {form = #pp.form<rows 7x33>, tiles = #pp.tiles<7 of 1 rows>}
// CHECK: pp.reduce sum %arg0 [1] {keep_dims, pp.lanes = 32 : i64, pp.sweep = 0 : i64}
pp.kernel @rows(%x: tensor<7x33xf32>) -> (tensor<7x33xf32> {pp.sweep = 1 : i64}, tensor<7xf32>) attributes {form = #pp.form<rows 7x33>, tiles = #pp.tiles<7 of 1 rows>} {
  %0 = pp.reduce sum %x [1] {keep_dims, pp.sweep = 0 : i64, pp.lanes = 32 : i64} : tensor<7x33xf32>
  %1 = pp.div %x, %0 : tensor<7x33xf32>, tensor<7x1xf32>
  %2 = pp.reshape %0 : tensor<7x1xf32> to tensor<7xf32>
  pp.return %1, %2 : tensor<7x33xf32>, tensor<7xf32>
}
// CHECK: pp.kernel @attention{{.*}}form = #pp.form<attention 1x2x80x4>, tiles = #pp.tiles<10 of 16 queries, blocks of 8>
pp.kernel @attention(%x: tensor<1x2x80x4xf32>) -> tensor<1x2x80x4xf32> attributes {form = #pp.form<attention 1x2x80x4>, tiles = #pp.tiles<10 of 16 queries, blocks of 8>} {
  %o, %lse = pp.attention %x, %x, %x : tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>
  pp.return %o : tensor<1x2x80x4xf32>
}

// -----

// expected-error @below {{a space has one size or more, each of at least 1}}
pp.kernel @empty(%x: tensor<4xf32>) -> tensor<4xf32> attributes {form = #pp.form<rows 4x0>} {
  pp.return %x : tensor<4xf32>
}

// -----

// expected-error @below {{there is at least one tile, of at least one of its unit}}
pp.kernel @empty(%x: tensor<4xf32>) -> tensor<4xf32> attributes {form = #pp.form<rows 4>, tiles = #pp.tiles<0 of 1 rows>} {
  pp.return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has tiles, but no form}}
pp.kernel @formless(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tiles = #pp.tiles<4 of 1 rows>} {
  pp.return %x : tensor<4xf32>
}

// -----

pp.kernel @bias(%x: tensor<8x4xf32>) -> tensor<4xf32> attributes {form = #pp.form<rows 8x4>} {
  // expected-error @below {{'pp.reduce' op is of kernels of form columns, but @bias is of form rows}}
  %0 = pp.reduce sum %x [0] : tensor<8x4xf32>
  pp.return %0 : tensor<4xf32>
}

// -----

pp.kernel @scatter(%ids: tensor<4xi32>, %dy: tensor<4x96xf32>) -> tensor<16x96xf32> attributes {form = #pp.form<columns 4x96>} {
  // expected-error @below {{'pp.embedding_grad' op is of kernels of form scatter, but @scatter is of form columns}}
  %0 = pp.embedding_grad %ids, %dy : tensor<4xi32>, tensor<4x96xf32> to tensor<16x96xf32>
  pp.return %0 : tensor<16x96xf32>
}

// -----

pp.kernel @variance(%x: tensor<8x4xf32>) -> tensor<4xf32> attributes {form = #pp.form<columns 8x4>} {
  %0 = pp.reduce sum %x [0] : tensor<8x4xf32>
  %1 = pp.sub %x, %0 : tensor<8x4xf32>, tensor<4xf32>
  // expected-error @below {{'pp.reduce' op reads another reduction of @variance, of form columns}}
  %2 = pp.reduce sum %1 [0] : tensor<8x4xf32>
  pp.return %2 : tensor<4xf32>
}

// -----

pp.kernel @others(%x: tensor<8x2x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) attributes {form = #pp.form<columns 8x2x4>} {
  %0 = pp.reduce sum %x [0] : tensor<8x2x4xf32>
  // expected-error @below {{'pp.reduce' op reduces other rows than the first reduction of @others, of form columns}}
  %1 = pp.reduce sum %x [0, 1] : tensor<8x2x4xf32>
  pp.return %0, %1 : tensor<2x4xf32>, tensor<4xf32>
}

// -----

pp.kernel @space(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 4x4>} {
  // expected-error @below {{'pp.reduce' op takes 'tensor<8x4xf32>', but the space of @space has 16 elements}}
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

pp.kernel @long(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 4x8>} {
  // expected-error @below {{'pp.reduce' op reduces 4 elements, but the rows of @long have 8}}
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

pp.kernel @queries(%x: tensor<1x2x80x4xf32>) -> tensor<1x2x80x4xf32> attributes {form = #pp.form<attention 2x1x80x4>} {
  // expected-error @below {{'pp.attention' op has a space of [1, 2, 80, 4], but that of @queries is [2, 1, 80, 4]}}
  %o, %lse = pp.attention %x, %x, %x : tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>
  pp.return %o : tensor<1x2x80x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op is of form scatter, but has 0 ops of that form}}
pp.kernel @none(%x: tensor<4xf32>) -> tensor<4xf32> attributes {form = #pp.form<scatter 4>} {
  pp.return %x : tensor<4xf32>
}

// -----

pp.kernel @sweepless(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 8x4>} {
  // expected-error @below {{'pp.reduce' op has no sweep}}
  %0 = pp.reduce sum %x [1] : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

pp.kernel @lanes(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 8x4>} {
  // expected-error @below {{'pp.reduce' op has 3 lanes, which is not a power of two}}
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64, pp.lanes = 3 : i64} : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

pp.kernel @softmax(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 8x4>} {
  %0 = pp.reduce max %x [1] {keep_dims, pp.sweep = 1 : i64} : tensor<8x4xf32>
  %1 = pp.sub %x, %0 : tensor<8x4xf32>, tensor<8x1xf32>
  // expected-error @below {{'pp.reduce' op is of sweep 1, but reads a reduction of sweep 1}}
  %2 = pp.reduce sum %1 [1] {pp.sweep = 1 : i64} : tensor<8x4xf32>
  pp.return %2 : tensor<8xf32>
}

// -----

// expected-error @below {{'pp.kernel' op result 0 is of sweep 0, but reads a reduction of sweep 0}}
pp.kernel @early(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 8x4>} {
  %0 = pp.reduce max %x [1] {keep_dims, pp.sweep = 0 : i64} : tensor<8x4xf32>
  %1 = pp.sub %x, %0 : tensor<8x4xf32>, tensor<8x1xf32>
  pp.return %1 : tensor<8x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op result 0 has no sweep}}
pp.kernel @never(%x: tensor<8x4xf32>) -> tensor<8x4xf32> attributes {form = #pp.form<rows 8x4>} {
  pp.return %x : tensor<8x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op result 0 has a sweep, but not an element for each of the space}}
pp.kernel @of_row(%x: tensor<8x4xf32>) -> (tensor<8xf32> {pp.sweep = 1 : i64}) attributes {form = #pp.form<rows 8x4>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{'pp.kernel' op can't be computed in tiles of elements}}
pp.kernel @flat(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 8x4>, tiles = #pp.tiles<8 of 4 elements>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has 7 tiles, but 8 of 1 rows cover its space}}
pp.kernel @few(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {form = #pp.form<rows 8x4>, tiles = #pp.tiles<7 of 1 rows>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<8x4xf32>
  pp.return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has 1 tiles, but 2 of 3 columns cover its space}}
pp.kernel @columns(%x: tensor<8x4xf32>) -> tensor<4xf32> attributes {form = #pp.form<columns 8x4>, tiles = #pp.tiles<1 of 3 columns>} {
  %0 = pp.reduce sum %x [0] : tensor<8x4xf32>
  pp.return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has 8 tiles, but 10 of 16 queries cover its space}}
pp.kernel @attention(%x: tensor<1x2x80x4xf32>) -> tensor<1x2x80x4xf32> attributes {form = #pp.form<attention 1x2x80x4>, tiles = #pp.tiles<8 of 16 queries, blocks of 8>} {
  %o, %lse = pp.attention %x, %x, %x : tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>, tensor<1x2x80x4xf32>
  pp.return %o : tensor<1x2x80x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has 6 tiles, but 8 of 3 columns cover its space}}
pp.kernel @scatter(%ids: tensor<5xi32>, %dy: tensor<5x4xf32>) -> tensor<16x4xf32> attributes {form = #pp.form<scatter 5x4>, tiles = #pp.tiles<6 of 3 columns, blocks of 4>} {
  %0 = pp.embedding_grad %ids, %dy : tensor<5xi32>, tensor<5x4xf32> to tensor<16x4xf32>
  pp.return %0 : tensor<16x4xf32>
}

// -----

pp.kernel @table(%ids: tensor<5xi32>, %dy: tensor<5x4xf32>) -> tensor<16x4xf32> attributes {form = #pp.form<scatter 16x4>} {
  // expected-error @below {{'pp.embedding_grad' op has a space of [5, 4], but that of @table is [16, 4]}}
  %0 = pp.embedding_grad %ids, %dy : tensor<5xi32>, tensor<5x4xf32> to tensor<16x4xf32>
  pp.return %0 : tensor<16x4xf32>
}

// -----

// Tiles of 5 blocks of keys and of 4 blocks of queries, for each of two heads.
// expected-error @below {{'pp.kernel' op has 10 tiles, but 18 of 16 queries cover its space}}
pp.kernel @gradient(%q: tensor<1x2x64x4xf32>, %k: tensor<1x2x40x4xf32>, %lse: tensor<1x2x64x2xf32>) -> tensor<1x2x64x4xf32> attributes {form = #pp.form<attention_grad 1x2x64x4>, tiles = #pp.tiles<10 of 16 queries, blocks of 8>} {
  %dq, %dk, %dv = pp.attention_grad %q, %k, %k, %q, %lse, %q : tensor<1x2x64x4xf32>, tensor<1x2x40x4xf32>, tensor<1x2x40x4xf32>, tensor<1x2x64x4xf32>, tensor<1x2x64x2xf32>
  pp.return %dq : tensor<1x2x64x4xf32>
}

// -----

// expected-error @below {{'pp.kernel' op can't be computed in tiles of queries}}
pp.kernel @step(%x: tensor<1x3x1x8xf32>, %keys: tensor<1x3x16x8xf32>, %at: tensor<1xi64>) -> tensor<1x3x1x8xf32> attributes {form = #pp.form<attention_step 1x3x1x8>, tiles = #pp.tiles<3 of 1 queries, blocks of 8>} {
  %out, %k, %v = pp.attention_step %x, %x, %x cache %keys, %keys at %at {scale = 0.35 : f64} : tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x1x8xf32>, tensor<1x3x16x8xf32>, tensor<1x3x16x8xf32>, tensor<1xi64>
  pp.return %out : tensor<1x3x1x8xf32>
}
