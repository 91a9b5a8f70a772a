// RUN: ppopt opt %s --pp-plan-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: ppopt opt %s --pp-plan-kernels=vector-bytes=64 --split-input-file | FileCheck %s --check-prefixes=CHECK,WIDE

// Reads at the same index only: one flat range.
// CHECK: pp.kernel @flat{{.*}}tiles = #pp.tiles<4 of 4096 elements>
pp.kernel @flat(%x: tensor<4x4096xf32>, %s: tensor<f32>) -> (tensor<4x4096xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x4096>} {
  %0 = pp.mul %x, %s : tensor<4x4096xf32>, tensor<f32>
  pp.return %0 : tensor<4x4096xf32>
}

// Long rows that read a row's value: parts of rows.
// CHECK: pp.kernel @parts{{.*}}tiles = #pp.tiles<6 of 4096 columns>
pp.kernel @parts(%x: tensor<2x9000xf32>, %s: tensor<2x1xf32>) -> (tensor<2x9000xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 2x9000>} {
  %0 = pp.mul %x, %s : tensor<2x9000xf32>, tensor<2x1xf32>
  pp.return %0 : tensor<2x9000xf32>
}

// Sums of 33 columns have 32 lanes in any type; in f64 they have 32 of 128 columns too, in f32 64.
// CHECK: pp.kernel @rows{{.*}}tiles = #pp.tiles<7 of 1 rows>
// CHECK: pp.reduce sum %{{.*}} [1] {pp.lanes = 32 : i64, pp.sweep = 0 : i64} : tensor<7x33xf32>
pp.kernel @rows(%x: tensor<7x33xf32>) -> tensor<7xf32> attributes {form = #pp.form<rows 7x33>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<7x33xf32>
  pp.return %0 : tensor<7xf32>
}
// CHECK: pp.kernel @types
// CHECK: pp.lanes = 64 : i64
// CHECK: pp.lanes = 32 : i64
pp.kernel @types(%x: tensor<7x128xf32>, %y: tensor<7x128xf64>) -> (tensor<7xf32>, tensor<7xf64>) attributes {form = #pp.form<rows 7x128>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<7x128xf32>
  %1 = pp.reduce sum %y [1] {pp.sweep = 0 : i64} : tensor<7x128xf64>
  pp.return %0, %1 : tensor<7xf32>, tensor<7xf64>
}

// Columns in runs that divide them, for each row of what is left.
// CHECK: pp.kernel @columns{{.*}}tiles = #pp.tiles<4 of 48 columns>
pp.kernel @columns(%x: tensor<2x8x96xf32>) -> tensor<2x96xf32> attributes {form = #pp.form<columns 2x8x96>} {
  %0 = pp.reduce sum %x [1] : tensor<2x8x96xf32>
  pp.return %0 : tensor<2x96xf32>
}
// CHECK: pp.kernel @scatter{{.*}}tiles = #pp.tiles<2 of 48 columns>
pp.kernel @scatter(%ids: tensor<4xi32>, %dy: tensor<4x96xf32>) -> tensor<16x96xf32> attributes {form = #pp.form<scatter 4x96>} {
  %0 = pp.embedding_grad %ids, %dy : tensor<4xi32>, tensor<4x96xf32> to tensor<16x96xf32>
  pp.return %0 : tensor<16x96xf32>
}

// Two runs of queries per head; few keys are a block of whole vectors.
// CHECK: pp.kernel @attention(
// NARROW-SAME: tiles = #pp.tiles<12 of 256 queries, blocks of 20>
// WIDE-SAME: tiles = #pp.tiles<12 of 256 queries, blocks of 32>
pp.kernel @attention(%q: tensor<2x3x300x64xf32>, %k: tensor<2x3x20x64xf32>) -> tensor<2x3x300x64xf32> attributes {form = #pp.form<attention 2x3x300x64>} {
  %o, %lse = pp.attention %q, %k, %k : tensor<2x3x300x64xf32>, tensor<2x3x20x64xf32>, tensor<2x3x20x64xf32>
  pp.return %o : tensor<2x3x300x64xf32>
}
// CHECK: pp.kernel @grad{{.*}}tiles = #pp.tiles<6 of 1 heads, blocks of 32>
pp.kernel @grad(%q: tensor<2x3x300x64xf64>, %lse: tensor<2x3x300x2xf64>) -> tensor<2x3x300x64xf64> attributes {form = #pp.form<attention_grad 2x3x300x64>} {
  %dq, %dk, %dv = pp.attention_grad %q, %q, %q, %q, %lse, %q : tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x2xf64>
  pp.return %dq : tensor<2x3x300x64xf64>
}
// CHECK: pp.kernel @step{{.*}}tiles = #pp.tiles<3 of 1 heads, blocks of 4096>
pp.kernel @step(%q: tensor<1x3x1x20xf32>, %k: tensor<1x3x9000x20xf32>, %v: tensor<1x3x9000x20xf32>, %at: tensor<1xi64>) -> (tensor<1x3x1x20xf32>, tensor<1x3x9000x20xf32>, tensor<1x3x9000x20xf32>)
    attributes {form = #pp.form<attention_step 1x3x1x20>} {
  %o, %ka, %va = pp.attention_step %q, %q, %q cache %k, %v at %at {scale = 0.5 : f64} : tensor<1x3x1x20xf32>, tensor<1x3x1x20xf32>, tensor<1x3x1x20xf32>, tensor<1x3x9000x20xf32>, tensor<1x3x9000x20xf32>, tensor<1xi64>
  pp.return %o, %ka, %va : tensor<1x3x1x20xf32>, tensor<1x3x9000x20xf32>, tensor<1x3x9000x20xf32>
}

// -----

// Thresholds decide too.
// CHECK: pp.kernel @small{{.*}}tiles = #pp.tiles<7 of 5 elements>
module attributes {pp.thresholds = {"flat-tile" = 5 : i64}} {
  pp.kernel @small(%x: tensor<33xf32>) -> (tensor<33xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 33>} {
    %0 = pp.relu %x : tensor<33xf32>
    pp.return %0 : tensor<33xf32>
  }
}

// -----

// Tiles of a convolution are columns of its result.
// CHECK: pp.kernel @convolution{{.*}}tiles = #pp.tiles<16 of 64 columns>
pp.kernel @convolution(%x: tensor<2x1x3x101xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x100xf32> attributes {form = #pp.form<conv 2x1x4x100>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x101xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x100xf32>
  pp.return %0 : tensor<2x1x4x100xf32>
}
