// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @shape
func.func @shape(%x: tensor<4x8xf32>, %u: tensor<4x1xf32>) -> (tensor<8x4xf32>, tensor<4x9xf32>) {
  // CHECK: pp.reshape %{{.*}} : tensor<4x8xf32> to tensor<2x16xf32>
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<2x16xf32>
  // CHECK: pp.transpose %{{.*}} [1, 0] : tensor<4x8xf32>
  %1 = pp.transpose %x [1, 0] : tensor<4x8xf32>
  // CHECK: pp.slice %{{.*}} [0, 2] : tensor<4x8xf32> to tensor<4x3xf32>
  %2 = pp.slice %x [0, 2] : tensor<4x8xf32> to tensor<4x3xf32>
  // CHECK: pp.pad %{{.*}} [0, 1] : tensor<4x8xf32> to tensor<4x9xf32>
  %3 = pp.pad %x [0, 1] : tensor<4x8xf32> to tensor<4x9xf32>
  // CHECK: pp.concat %{{.*}}, %{{.*}} {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x1xf32>
  %4 = pp.concat %x, %u {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x1xf32>
  // CHECK: pp.broadcast %{{.*}} [1, 2] : tensor<4x1xf32> to tensor<2x4x8xf32>
  %5 = pp.broadcast %u [1, 2] : tensor<4x1xf32> to tensor<2x4x8xf32>
  return %1, %4 : tensor<8x4xf32>, tensor<4x9xf32>
}
