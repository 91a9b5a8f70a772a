// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @reduce
func.func @reduce(%x: tensor<4x8x2xf32>) -> (tensor<8xf32>, tensor<4x1x2xf32>, tensor<f32>) {
  // CHECK: pp.reduce sum %{{.*}} [0, 2] : tensor<4x8x2xf32>
  %0 = pp.reduce sum %x [0, 2] : tensor<4x8x2xf32>
  // CHECK: pp.reduce mean %{{.*}} [1] {keep_dims} : tensor<4x8x2xf32>
  %1 = pp.reduce mean %x [1] {keep_dims} : tensor<4x8x2xf32>
  // CHECK: pp.reduce max %{{.*}} [0, 1, 2] : tensor<4x8x2xf32>
  %2 = pp.reduce max %x [0, 1, 2] : tensor<4x8x2xf32>
  return %0, %1, %2 : tensor<8xf32>, tensor<4x1x2xf32>, tensor<f32>
}

// CHECK-LABEL: @index_of
func.func @index_of(%x: tensor<4x8xf32>, %i: tensor<4xi32>) -> (tensor<4xi64>, tensor<i64>) {
  // CHECK: pp.argmax %{{.*}} {dim = 1 : i64} : tensor<4x8xf32>
  %0 = pp.argmax %x {dim = 1 : i64} : tensor<4x8xf32>
  // CHECK: pp.argmin %{{.*}} {dim = 0 : i64} : tensor<4xi32>
  %1 = pp.argmin %i {dim = 0 : i64} : tensor<4xi32>
  return %0, %1 : tensor<4xi64>, tensor<i64>
}

// CHECK-LABEL: @matmul
func.func @matmul(%x: tensor<2x3x4x8xf32>, %y: tensor<2x3x5x8xf32>, %w: tensor<8x5xbf16>, %z: tensor<8x4xbf16>)
    -> (tensor<2x3x4x5xf32>, tensor<4x5xbf16>) {
  // CHECK: pp.matmul %{{.*}}, %{{.*}} {transpose_rhs} : tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>
  %0 = pp.matmul %x, %y {transpose_rhs} : tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>
  // CHECK: pp.matmul %{{.*}}, %{{.*}} {transpose_lhs} : tensor<8x4xbf16>, tensor<8x5xbf16>
  %1 = pp.matmul %z, %w {transpose_lhs} : tensor<8x4xbf16>, tensor<8x5xbf16>
  // CHECK: pp.matmul %{{.*}}, %{{.*}} {transpose_lhs, transpose_rhs} : tensor<8x4xbf16>, tensor<4x8xbf16>
  %2 = pp.transpose %z [1, 0] : tensor<8x4xbf16>
  %3 = pp.matmul %z, %2 {transpose_lhs, transpose_rhs} : tensor<8x4xbf16>, tensor<4x8xbf16>
  return %0, %1 : tensor<2x3x4x5xf32>, tensor<4x5xbf16>
}

// A matrix on the right serves any number of batch dimensions.
// CHECK-LABEL: @layer
func.func @layer(%x: tensor<2x3x7x4x8xf32>, %w: tensor<8x5xf32>) -> tensor<2x3x7x4x5xf32> {
  // CHECK: pp.matmul %{{.*}}, %{{.*}} : tensor<2x3x7x4x8xf32>, tensor<8x5xf32>
  %0 = pp.matmul %x, %w : tensor<2x3x7x4x8xf32>, tensor<8x5xf32>
  return %0 : tensor<2x3x7x4x5xf32>
}
