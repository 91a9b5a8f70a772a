// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @elements
func.func @elements(%x: tensor<4x8xf32>, %ids: tensor<4x3xi32>, %updates: tensor<4x3xf32>, %mask: tensor<4x8xi1>) -> tensor<4x3xf32> {
  // CHECK: pp.gather %{{.*}}, %{{.*}} {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>
  %0 = pp.gather %x, %ids {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>
  // CHECK: pp.gather %{{.*}}, %{{.*}} {dim = 1 : i64, in_range} : tensor<4x8xi1>, tensor<4x3xi32>
  %1 = pp.gather %mask, %ids {dim = 1 : i64, in_range} : tensor<4x8xi1>, tensor<4x3xi32>
  // CHECK: pp.scatter_add %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  %2 = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  // CHECK: pp.scatter %{{.*}}, %{{.*}}, %{{.*}} {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  %20 = pp.scatter %x, %ids, %updates {dim = 1 : i64} : tensor<4x8xf32>, tensor<4x3xi32>, tensor<4x3xf32>
  // CHECK: pp.one_hot %{{.*}} : tensor<4x3xi32> to tensor<4x3x5xi64>
  %3 = pp.one_hot %ids : tensor<4x3xi32> to tensor<4x3x5xi64>
  return %0 : tensor<4x3xf32>
}

// CHECK-LABEL: @order
func.func @order(%x: tensor<4x8xf32>) {
  // CHECK: pp.top_k %{{.*}} {dim = 1 : i64, k = 2 : i64, smallest} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  %values, %ids = pp.top_k %x {dim = 1 : i64, k = 2 : i64, smallest} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  // CHECK: pp.sort %{{.*}} {descending, dim = 0 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  %sorted, %order = pp.sort %x {dim = 0 : i64, descending} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  // CHECK: pp.order %{{.*}} {smallest} : tensor<4x8xf32> to tensor<4x2xi64>
  %first = pp.order %x {smallest} : tensor<4x8xf32> to tensor<4x2xi64>
  return
}

// CHECK-LABEL: @along
func.func @along(%x: tensor<2x4x8xf32>, %mask: tensor<4x8xi1>) {
  // CHECK: pp.cumsum %{{.*}} {dim = 1 : i64, exclusive, reverse} : tensor<2x4x8xf32>
  %0 = pp.cumsum %x {dim = 1 : i64, exclusive, reverse} : tensor<2x4x8xf32>
  // CHECK: pp.tril %{{.*}} : tensor<2x4x8xf32>
  %1 = pp.tril %x : tensor<2x4x8xf32>
  // CHECK: pp.triu %{{.*}} {diagonal = -1 : i64} : tensor<2x4x8xf32>
  %2 = pp.triu %x {diagonal = -1 : i64} : tensor<2x4x8xf32>
  // CHECK: pp.roll %{{.*}} {dim = 2 : i64, shift = -3 : i64} : tensor<2x4x8xf32>
  %3 = pp.roll %x {shift = -3 : i64, dim = 2 : i64} : tensor<2x4x8xf32>
  // CHECK: pp.reduce min %{{.*}} [0] : tensor<2x4x8xf32>
  %4 = pp.reduce min %x [0] : tensor<2x4x8xf32>
  // CHECK: pp.reduce any %{{.*}} [1] : tensor<4x8xi1>
  %5 = pp.reduce any %mask [1] : tensor<4x8xi1>
  // CHECK: pp.reduce all %{{.*}} [0, 1] {keep_dims} : tensor<4x8xi1>
  %6 = pp.reduce all %mask [0, 1] {keep_dims} : tensor<4x8xi1>
  return
}

// CHECK-LABEL: @experts
func.func @experts(%x: tensor<2x4x8xf32>, %experts: tensor<2x4x2xi32>, %weights: tensor<2x4x2xf32>) {
  // CHECK: pp.dispatch %{{.*}}, %{{.*}} : tensor<2x4x8xf32>, tensor<2x4x2xi32> to tensor<2x3x5x8xf32>
  %0 = pp.dispatch %x, %experts : tensor<2x4x8xf32>, tensor<2x4x2xi32> to tensor<2x3x5x8xf32>
  // CHECK: pp.combine %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x3x5x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32> to tensor<2x4x8xf32>
  %1 = pp.combine %0, %experts, %weights : tensor<2x3x5x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32> to tensor<2x4x8xf32>
  return
}
