// RUN: ppopt opt %s --pp-emit-kernels | FileCheck %s

// Emitters decide nothing: each kernel has another form, sweep, lanes or tiles than --pp-plan-kernels would set.

// Sums that one sweep could compute, in two.
// CHECK-LABEL: llvm.func internal @sweeps_loops
// CHECK: scf.for {{.*}} -> (vector<8xf32>) {
// CHECK: scf.for {{.*}} -> (vector<8xf32>) {
pp.kernel @sweeps(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64, pp.lanes = 8 : i64} : tensor<4x8xf32>
  %1 = pp.reduce sum %y [1] {pp.sweep = 1 : i64, pp.lanes = 8 : i64} : tensor<4x8xf32>
  pp.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A result that the first sweep could write, in the second.
// CHECK-LABEL: llvm.func internal @later_loops
// CHECK: scf.for {{.*}} -> (vector<8xf32>) {
// CHECK: scf.yield %{{.*}} : vector<8xf32>
// CHECK: vector.extract
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK: llvm.store
pp.kernel @later(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4x8xf32> {pp.sweep = 1 : i64}) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64, pp.lanes = 8 : i64} : tensor<4x8xf32>
  %1 = pp.mul %x, %x : tensor<4x8xf32>, tensor<4x8xf32>
  pp.return %0, %1 : tensor<4xf32>, tensor<4x8xf32>
}

// Fewer lanes.
// CHECK-LABEL: llvm.func internal @lanes_loops
// CHECK: scf.for {{.*}} -> (vector<2xf32>) {
pp.kernel @lanes(%x: tensor<4x8xf32>) -> tensor<4xf32> attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64, pp.lanes = 2 : i64} : tensor<4x8xf32>
  pp.return %0 : tensor<4xf32>
}

// Rows, though all is read at the same index; flat tiles of another size; parts of short rows; another space.
// CHECK-LABEL: llvm.func internal @rows_loops
// CHECK: scf.for
// CHECK: scf.for {{.*}} to %c8{{(_[0-9]+)?}} step
pp.kernel @rows(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
// CHECK-LABEL: llvm.func internal @flat_loops
// CHECK: arith.constant 20 : index
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
pp.kernel @flat(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<2 of 20 elements>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
// CHECK-LABEL: llvm.func internal @parts_loops
// CHECK: arith.constant 2 : index
// CHECK: arith.divui
// CHECK: scf.for
pp.kernel @parts(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<8 of 5 columns>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
// CHECK-LABEL: llvm.func internal @space_loops
// CHECK: scf.for
// CHECK: scf.for {{.*}} to %c32{{(_[0-9]+)?}} step
pp.kernel @space(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 32>, tiles = #pp.tiles<1 of 1 rows>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}

// Columns in runs of 32, not 48.
// CHECK-LABEL: llvm.func internal @columns_loops
// CHECK: llvm.mlir.constant(32 : i64)
// CHECK: llvm.alloca
pp.kernel @columns(%x: tensor<8x96xf32>) -> tensor<96xf32> attributes {form = #pp.form<columns 8x96>, tiles = #pp.tiles<3 of 32 columns>} {
  %0 = pp.reduce sum %x [0] : tensor<8x96xf32>
  pp.return %0 : tensor<96xf32>
}
// CHECK-LABEL: llvm.func internal @scatter_loops
// CHECK: arith.constant 32 : index
pp.kernel @scatter(%ids: tensor<4xi32>, %dy: tensor<4x96xf32>) -> tensor<16x96xf32> attributes {form = #pp.form<scatter 4x96>, tiles = #pp.tiles<3 of 32 columns>} {
  %0 = pp.embedding_grad %ids, %dy : tensor<4xi32>, tensor<4x96xf32> to tensor<16x96xf32>
  pp.return %0 : tensor<16x96xf32>
}

// 32 queries, not 256, and 8 keys, not 64: scratch memory of rows of 64 elements.
// CHECK-LABEL: llvm.func internal @attention_loops
// CHECK-DAG: llvm.mlir.constant(2048 : i64)
// CHECK-DAG: llvm.mlir.constant(512 : i64)
pp.kernel @attention(%x: tensor<2x3x300x64xf32>) -> tensor<2x3x300x64xf32> attributes {form = #pp.form<attention 2x3x300x64>, tiles = #pp.tiles<60 of 32 queries, blocks of 8>} {
  %o, %lse = pp.attention %x, %x, %x : tensor<2x3x300x64xf32>, tensor<2x3x300x64xf32>, tensor<2x3x300x64xf32>
  pp.return %o : tensor<2x3x300x64xf32>
}

// Columns of a convolution, fewer in a tile.
// CHECK-LABEL: llvm.func internal @convolution_loops
// CHECK: llvm.alloca %{{.*}} x f32
pp.kernel @convolution(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32> attributes {form = #pp.form<conv 2x1x4x6>, tiles = #pp.tiles<24 of 2 columns>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}
