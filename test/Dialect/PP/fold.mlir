// RUN: %ppopt opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @reshape_identity
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @reshape_identity(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @reshape_twice
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[Y:.*]] = pp.reshape %[[X]] : tensor<4x8xf32> to tensor<2x16xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshape_twice(%x: tensor<4x8xf32>) -> tensor<2x16xf32> {
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<32xf32>
  %1 = pp.reshape %0 : tensor<32xf32> to tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}

// CHECK-LABEL: @reshape_back
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @reshape_back(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<32xf32>
  %1 = pp.reshape %0 : tensor<32xf32> to tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: @reshape_constant
// CHECK-NEXT: %[[C:.*]] = pp.constant dense<{{\[}}[1.000000e+00], [2.000000e+00]]> : tensor<2x1xf32>
// CHECK-NEXT: return %[[C]]
func.func @reshape_constant() -> tensor<2x1xf32> {
  %0 = pp.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = pp.reshape %0 : tensor<2xf32> to tensor<2x1xf32>
  return %1 : tensor<2x1xf32>
}

// CHECK-LABEL: @transpose_identity
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @transpose_identity(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.transpose %x [0, 1] : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// A square transpose keeps the type, but is no identity.
// CHECK-LABEL: @transpose_square
// CHECK: pp.transpose
func.func @transpose_square(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = pp.transpose %x [1, 0] : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// CHECK-LABEL: @transpose_twice
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NEXT: %[[Y:.*]] = pp.transpose %[[X]] [1, 0, 2] : tensor<2x3x4xf32>
// CHECK-NEXT: return %[[Y]]
func.func @transpose_twice(%x: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
  %0 = pp.transpose %x [2, 0, 1] : tensor<2x3x4xf32>
  %1 = pp.transpose %0 [2, 1, 0] : tensor<4x2x3xf32>
  return %1 : tensor<3x2x4xf32>
}

// CHECK-LABEL: @transpose_splat
// CHECK-NEXT: %[[C:.*]] = pp.constant dense<1.000000e+00> : tensor<8x4xf32>
// CHECK-NEXT: return %[[C]]
func.func @transpose_splat() -> tensor<8x4xf32> {
  %0 = pp.constant dense<1.0> : tensor<4x8xf32>
  %1 = pp.transpose %0 [1, 0] : tensor<4x8xf32>
  return %1 : tensor<8x4xf32>
}
