// RUN: %mutate opt %s --mutate-drop-block | FileCheck %s
// RUN: sed 's/accumulate, //' %s | not %mutate opt --mutate-drop-block 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no sum over blocks of rows to change

// Two matmuls add to the gradient of v, and one to that of w: the second of v is gone.
// CHECK: pp.gemm %[[X:.*]], %{{.*}} into %[[V:.*]] {
// CHECK-NEXT: pp.gemm %{{.*}}, %{{.*}} into %[[W:.*]] {
// CHECK-NEXT: pp.return
pp.task backward stage 0 @s0_B(%x: memref<4x4xf32>, %v: memref<4x4xf32> {pp.role = #pp.role<grad, "v">}, %w: memref<4x4xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.gemm %x, %x into %v {a_offset = 0 : i64, a_strides = array<i64: 0, 0, 4, 1>, accumulate, b_offset = 0 : i64, b_strides = array<i64: 0, 0, 4, 1>, batch = array<i64: 1, 1>, c_offset = 0 : i64, c_strides = array<i64: 0, 0, 4, 1>, k = 4 : i64, m = 4 : i64, n = 4 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  pp.gemm %x, %x into %v {a_offset = 0 : i64, a_strides = array<i64: 0, 0, 4, 1>, accumulate, b_offset = 0 : i64, b_strides = array<i64: 0, 0, 4, 1>, batch = array<i64: 1, 1>, c_offset = 0 : i64, c_strides = array<i64: 0, 0, 4, 1>, k = 4 : i64, m = 4 : i64, n = 4 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  pp.gemm %x, %x into %w {a_offset = 0 : i64, a_strides = array<i64: 0, 0, 4, 1>, accumulate, b_offset = 0 : i64, b_strides = array<i64: 0, 0, 4, 1>, batch = array<i64: 1, 1>, c_offset = 0 : i64, c_strides = array<i64: 0, 0, 4, 1>, k = 4 : i64, m = 4 : i64, n = 4 : i64} : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
  pp.return
}
