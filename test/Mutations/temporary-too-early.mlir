// RUN: %mutate opt %s --mutate-temporary-too-early | FileCheck %s
// RUN: sed 's/%x: memref<4x4xf32>/& {pp.role = #pp.role<param, "x">}/; s/pp.gemm %a/pp.gemm %x/' %s | not %mutate opt --mutate-temporary-too-early 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no matmul that makes a temporary to change

// RUN: sed 's/pp.gemm %a/pp.gemm %x/' %s | %mutate opt --mutate-temporary-too-early | FileCheck %s --check-prefix=SAVED

// The memory of the temporary that it reads, or of a value that the task takes.
// CHECK: %[[A:.*]] = pp.temp 64 : memref<4x4xf32>
// CHECK: %[[B:.*]] = pp.temp 64 : memref<4x4xf32>
// CHECK: pp.gemm %[[A]], %{{.*}} into %[[B]]

// SAVED: @s0_B(%[[X:[^:]*]]:
// SAVED: pp.gemm
// SAVED: %[[A:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [4, 4], strides: [4, 1]
// SAVED: pp.gemm %[[X]], %[[X]] into %[[A]]
pp.task backward stage 0 @s0_B(%x: memref<4x4xf32>, %w: memref<4x4xf32> {pp.role = #pp.role<param, "w">}) attributes {temp_bytes = 192 : i64} {
  %a = pp.temp 64 : memref<4x4xf32>
  pp.gemm %w, %w into %a {a_offset = 0 : i64, a_strides = array<i64: 0, 0, 4, 1>, b_offset = 0 : i64, b_strides = array<i64: 0, 0, 4, 1>, batch = array<i64: 1, 1>, c_offset = 0 : i64, c_strides = array<i64: 0, 0, 4, 1>, k = 4 : i64, m = 4 : i64, n = 4 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  %b = pp.temp 128 : memref<4x4xf32>
  pp.gemm %a, %x into %b {a_offset = 0 : i64, a_strides = array<i64: 0, 0, 4, 1>, b_offset = 0 : i64, b_strides = array<i64: 0, 0, 4, 1>, batch = array<i64: 1, 1>, c_offset = 0 : i64, c_strides = array<i64: 0, 0, 4, 1>, k = 4 : i64, m = 4 : i64, n = 4 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  pp.return
}
