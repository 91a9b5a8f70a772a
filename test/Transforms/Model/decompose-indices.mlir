// RUN: %ppopt opt %s --pp-decompose-model | FileCheck %s

// CHECK-LABEL: @top_k(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[ORDER:.*]] = pp.order %[[X]] {smallest} : tensor<4x8xf32> to tensor<4x2xi64>
// CHECK: %[[IDS:.*]] = pp.cast %[[ORDER]] : tensor<4x2xi64> to tensor<4x2xi32>
// CHECK: %[[VALUES:.*]] = pp.gather %[[X]], %[[IDS]] {dim = 1 : i64, in_range}
// CHECK: return %[[VALUES]], %[[IDS]]
func.func @top_k(%x: tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  %values, %ids = pp.top_k %x {k = 2 : i64, dim = 1 : i64, smallest} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi32>
  return %values, %ids : tensor<4x2xf32>, tensor<4x2xi32>
}

// Many are the first of all.
// CHECK-LABEL: @top_many(
// CHECK: %[[ORDER:.*]] = pp.order %{{.*}} : tensor<4x300xf32> to tensor<4x300xi64>
// CHECK: pp.slice %[[ORDER]] [0, 0] : tensor<4x300xi64> to tensor<4x200xi64>
func.func @top_many(%x: tensor<4x300xf32>) -> tensor<4x200xf32> {
  %values, %ids = pp.top_k %x {k = 200 : i64, dim = 1 : i64} : tensor<4x300xf32> -> tensor<4x200xf32>, tensor<4x200xi64>
  return %values : tensor<4x200xf32>
}

// Rows are the last dimension.
// CHECK-LABEL: @sort(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[ROWS:.*]] = pp.transpose %[[X]] [1, 0]
// CHECK: %[[ORDER:.*]] = pp.order %[[ROWS]] {smallest} : tensor<8x4xf32> to tensor<8x4xi64>
// CHECK: %[[IDS:.*]] = pp.transpose %[[ORDER]] [1, 0]
// CHECK: pp.gather %[[X]], %[[IDS]] {dim = 0 : i64, in_range}
func.func @sort(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %values, %ids = pp.sort %x {dim = 0 : i64} : tensor<4x8xf32> -> tensor<4x8xf32>, tensor<4x8xi64>
  return %values : tensor<4x8xf32>
}

// Nothing overflows.
// CHECK-LABEL: @min(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[ONE:.*]] = pp.constant dense<-1> : tensor<i32>
// CHECK: %[[TURNED:.*]] = pp.sub %[[ONE]], %[[X]]
// CHECK: %[[MAX:.*]] = pp.reduce max %[[TURNED]] [1]
// CHECK: pp.sub %{{.*}}, %[[MAX]]
func.func @min(%x: tensor<4x8xi32>) -> tensor<4xi32> {
  %0 = pp.reduce min %x [1] : tensor<4x8xi32>
  return %0 : tensor<4xi32>
}

// CHECK-LABEL: @any(
// CHECK: %[[NUMBERS:.*]] = pp.cast %{{.*}} : tensor<4x8xi1> to tensor<4x8xi32>
// CHECK: %[[MAX:.*]] = pp.reduce max %[[NUMBERS]] [1] {keep_dims}
// CHECK: pp.compare ne %[[MAX]], %{{.*}}
func.func @any(%x: tensor<4x8xi1>) -> tensor<4x1xi1> {
  %0 = pp.reduce any %x [1] {keep_dims} : tensor<4x8xi1>
  return %0 : tensor<4x1xi1>
}

// Indices are global.
// CHECK-LABEL: @tril(
// CHECK-DAG: %[[COLUMN:.*]] = pp.iota {dim = 1 : i64} -> tensor<1x8xi64>
// CHECK-DAG: %[[ROW:.*]] = pp.iota {dim = 0 : i64} -> tensor<4x1xi64>
// CHECK: %[[DISTANCE:.*]] = pp.sub %[[COLUMN]], %[[ROW]]
// CHECK: %[[KEPT:.*]] = pp.compare le %[[DISTANCE]], %{{.*}}
// CHECK: pp.select %[[KEPT]], %{{.*}}, %{{.*}}
func.func @tril(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.tril %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @roll(
// CHECK: %[[LAST:.*]] = pp.slice %{{.*}} [0, 6] : tensor<4x8xf32> to tensor<4x2xf32>
// CHECK: %[[FIRST:.*]] = pp.slice %{{.*}} [0, 0] : tensor<4x8xf32> to tensor<4x6xf32>
// CHECK: pp.concat %[[LAST]], %[[FIRST]] {dim = 1 : i64}
func.func @roll(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.roll %x {shift = -6 : i64, dim = 1 : i64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
