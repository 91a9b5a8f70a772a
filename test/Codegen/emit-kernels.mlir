// RUN: ppopt opt %s --pp-plan-kernels --pp-emit-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Reads at the same index only: one flat range, in tiles of 4096 elements. A part of an input may begin anywhere.
// CHECK-LABEL: pp.task forward stage 0 @launches
pp.task forward stage 0 @launches(%x: memref<4x4096xf32> {pp.role = #pp.role<input, "x">}, %y: memref<7x33xbf16> {pp.role = #pp.role<input, "y">},
    %dy: memref<2x8x96xf32>, %g: memref<96xf32> {pp.role = #pp.role<grad, "g">},
    %a: memref<4x4096xf32>, %b: memref<7x33xbf16>) {
  pp.launch @flat ins(%x : memref<4x4096xf32>) outs(%a : memref<4x4096xf32>) {inplace = array<i64: -1>}
  pp.launch @softmax ins(%y : memref<7x33xbf16>) outs(%b : memref<7x33xbf16>) {inplace = array<i64: -1>}
  pp.launch @bias ins(%dy, %g : memref<2x8x96xf32>, memref<96xf32>) outs(%g : memref<96xf32>) {inplace = array<i64: 1>}
  pp.return
}

// CHECK-LABEL: llvm.func internal @flat_loops(%arg0: !llvm.ptr {llvm.align = 4 : i64, llvm.noalias}, %arg1: !llvm.ptr {llvm.align = 64 : i64, llvm.noalias}, %arg2: i64, %arg3: i64)
// CHECK-COUNT-1: scf.for
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK-NOT: scf.for
// CHECK: llvm.func @flat_tiles(%arg0: !llvm.ptr, %arg1: i64, %arg2: i64)
// CHECK: llvm.call @flat_loops(
pp.kernel @flat(%x: tensor<4x4096xf32>) -> (tensor<4x4096xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x4096>} {
  %0 = pp.relu %x : tensor<4x4096xf32>
  pp.return %0 : tensor<4x4096xf32>
}

// Three sweeps a row, accumulators in f32, one store at the end. A sum of 33 columns has 32 lanes, which are added by halves, and a rest
// of one column; the order is in the IR, and nothing is left for LLVM to choose.
// CHECK-LABEL: llvm.func internal @softmax_loops
// CHECK: scf.for
// CHECK: scf.for {{.*}} step %c32{{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<32xf32>)
// CHECK: scf.for
// CHECK: arith.extf
// CHECK: llvm.store
// CHECK: arith.maximumf {{.*}} : vector<32xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (vector<32xf32>)
// CHECK: scf.for
// CHECK: math.exp
// CHECK: arith.addf {{.*}} : vector<32xf32>
// CHECK: scf.for
// CHECK: math.exp
// CHECK: arith.addf {{.*}} : vector<32xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK-NOT: fastmath
// CHECK: scf.for
// CHECK: arith.truncf
// CHECK: llvm.store
pp.kernel @softmax(%x: tensor<7x33xbf16>) -> (tensor<7x33xbf16> {pp.sweep = 2 : i64}) attributes {form = #pp.form<rows 7x33>} {
  %0 = pp.cast %x : tensor<7x33xbf16> to tensor<7x33xf32>
  %1 = pp.reduce max %0 [1] {keep_dims, pp.sweep = 0 : i64} : tensor<7x33xf32>
  %2 = pp.sub %0, %1 : tensor<7x33xf32>, tensor<7x1xf32>
  %3 = pp.exp %2 : tensor<7x33xf32>
  %4 = pp.reduce sum %3 [1] {pp.sweep = 1 : i64} : tensor<7x33xf32>
  %5 = pp.reshape %4 : tensor<7xf32> to tensor<7x1xf32>
  %6 = pp.div %3, %5 : tensor<7x33xf32>, tensor<7x1xf32>
  %7 = pp.cast %6 : tensor<7x33xf32> to tensor<7x33xbf16>
  pp.return %7 : tensor<7x33xbf16>
}

// Columns in tiles of 48, rows in order; a result in place is one buffer.
// CHECK-LABEL: llvm.func internal @bias_loops(%arg0: !llvm.ptr {{{.*}}}, %arg1: !llvm.ptr {{{.*}}}, %arg2: i64, %arg3: i64)
// CHECK: llvm.alloca
pp.kernel @bias(%dy: tensor<2x8x96xf32>, %g: tensor<96xf32>) -> tensor<96xf32> attributes {form = #pp.form<columns 2x8x96>} {
  %0 = pp.reduce sum %dy [0, 1] : tensor<2x8x96xf32>
  %1 = pp.accumulate %g, %0 : tensor<96xf32>
  pp.return %1 : tensor<96xf32>
}

// -----

pp.task forward stage 0 @twice(%x: memref<4xf32> {pp.role = #pp.role<input, "x">}, %y: memref<4xf32>) {
  pp.launch @k ins(%x : memref<4xf32>) outs(%y : memref<4xf32>) {inplace = array<i64: -1>}
  // expected-error @below {{writes other arguments of @k in place than an earlier launch}}
  pp.launch @k ins(%y : memref<4xf32>) outs(%y : memref<4xf32>) {inplace = array<i64: 0>}
  pp.return
}
pp.kernel @k(%x: tensor<4xf32>) -> (tensor<4xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4>} {
  %0 = pp.relu %x : tensor<4xf32>
  pp.return %0 : tensor<4xf32>
}

// -----

// An element that is read before the sweep, of a tensor that has by chance as many elements as the row: its place does not depend on the column.

// CHECK-LABEL: llvm.func internal @chance_loops
// CHECK: %[[T:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i32
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.cmpi eq, %{{.*}}, %[[T]] : i32
pp.kernel @chance(%x: tensor<1x16xf32>, %t: tensor<2x8xi32>) -> tensor<1x1xf32> attributes {form = #pp.form<rows 16>} {
  %0 = pp.iota {dim = 0 : i64} -> tensor<16xi32>
  %1 = pp.slice %t [1, 3] : tensor<2x8xi32> to tensor<1x1xi32>
  %2 = pp.compare eq %0, %1 : tensor<16xi32>, tensor<1x1xi32>
  %3 = pp.constant dense<0.0> : tensor<f32>
  %4 = pp.select %2, %x, %3 : tensor<1x16xi1>, tensor<1x16xf32>, tensor<f32>
  %5 = pp.reduce sum %4 [1] {keep_dims, pp.sweep = 0 : i64} : tensor<1x16xf32>
  pp.return %5 : tensor<1x1xf32>
}

// -----

// Rows 16 c to 16 c + 15 of a table: what others have is 0, and nothing is added to it.

// CHECK-LABEL: llvm.func internal @lookup_loops
// CHECK: %[[ID:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: %[[IN_TABLE:.*]] = arith.cmpi ult, %[[ID]], %{{.*}} : index
// CHECK: %[[ROW:.*]] = arith.subi %[[ID]], %{{.*}} : index
// CHECK: %[[IN_PART:.*]] = arith.cmpi ult, %[[ROW]], %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.andi %[[IN_TABLE]], %[[IN_PART]] : i1
// CHECK: arith.select %[[INSIDE]], %[[ROW]], %{{.*}} : index
// CHECK: arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : f32
pp.kernel @lookup(%table: tensor<16x8xf32>, %ids: tensor<4xi32>, %key: tensor<15xi64>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<4xi32>
  pp.return %0 : tensor<4x8xf32>
}
// Each third of 48 rows is cut: a row keeps its third.
// CHECK-LABEL: llvm.func internal @scatter_loops
// CHECK: arith.divui
// CHECK: %[[INDEX:.*]] = arith.remui
// CHECK: %[[ROW:.*]] = arith.subi %[[INDEX]], %{{.*}} : index
// CHECK: arith.cmpi ult, %[[ROW]], %{{.*}} : index
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: scf.if %[[INSIDE]] {
// CHECK: arith.addf
pp.kernel @scatter(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>, %key: tensor<15xi64>) -> tensor<24x8xf32> attributes {form = #pp.form<scatter 4x8>, tiles = #pp.tiles<1 of 8 columns>} {
  %0 = pp.embedding_grad %ids, %dy key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 16}], [48, 8]>} : tensor<4xi32>, tensor<4x8xf32> to tensor<24x8xf32>
  pp.return %0 : tensor<24x8xf32>
}
