// Composites become element ops, sums, maxima and matmuls.

// RUN: %ppopt opt %s --pp-decompose-kernels | FileCheck %s

// CHECK-LABEL: @softmax(
// CHECK: %[[X:.*]] = pp.cast %{{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK: %[[MAX:.*]] = pp.reduce max %[[X]] [1] {keep_dims}
// CHECK: %[[SHIFTED:.*]] = pp.sub %[[X]], %[[MAX]]
// CHECK: %[[EXP:.*]] = pp.exp %[[SHIFTED]] : tensor<4x8xf32>
// CHECK: %[[SUM:.*]] = pp.reduce sum %[[EXP]] [1] {keep_dims}
// CHECK: %[[INVERSE:.*]] = pp.div %{{.*}}, %[[SUM]] : tensor<f32>, tensor<4x1xf32>
// CHECK: %[[Y:.*]] = pp.mul %[[EXP]], %[[INVERSE]]
// CHECK: pp.cast %[[Y]] : tensor<4x8xf32> to tensor<4x8xbf16>
func.func @softmax(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %0 = pp.softmax %x : tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: @softmax_grad(
// CHECK-SAME: %[[Y:.*]]: tensor<4x8xf32>, %[[DY:.*]]: tensor<4x8xf32>)
// CHECK: %[[PRODUCT:.*]] = pp.mul %[[Y]], %[[DY]]
// CHECK: %[[DOT:.*]] = pp.reduce sum %[[PRODUCT]] [1] {keep_dims}
// CHECK: %[[CENTERED:.*]] = pp.sub %[[DY]], %[[DOT]]
// CHECK: pp.mul %[[Y]], %[[CENTERED]]
func.func @softmax_grad(%y: tensor<4x8xf32>, %dy: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.softmax_grad %y, %dy : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @log_softmax(
// CHECK: %[[SHIFTED:.*]] = pp.sub
// CHECK: %[[SUM:.*]] = pp.reduce sum
// CHECK: %[[LOG:.*]] = pp.log %[[SUM]] : tensor<4x1xf32>
// CHECK: pp.sub %[[SHIFTED]], %[[LOG]]
func.func @log_softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.log_softmax %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @log_softmax_grad(
// CHECK-SAME: %[[Y:.*]]: tensor<4x8xf32>, %[[DY:.*]]: tensor<4x8xf32>)
// CHECK-DAG: %[[P:.*]] = pp.exp %[[Y]]
// CHECK-DAG: %[[SUM:.*]] = pp.reduce sum %[[DY]] [1] {keep_dims}
// CHECK: %[[SHARE:.*]] = pp.mul %[[P]], %[[SUM]]
// CHECK: pp.sub %[[DY]], %[[SHARE]]
func.func @log_softmax_grad(%y: tensor<4x8xf32>, %dy: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.log_softmax_grad %y, %dy : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The variance is that of the centered row: two passes.
// CHECK-LABEL: @normalize(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[SUM:.*]] = pp.reduce sum %[[X]] [1] {keep_dims}
// CHECK: %[[MEAN:.*]] = pp.mul %[[SUM]], %{{.*}} : tensor<4x1xf32>, tensor<f32>
// CHECK: %[[CENTERED:.*]] = pp.sub %[[X]], %[[MEAN]]
// CHECK: pp.mul %[[CENTERED]], %[[CENTERED]]
// CHECK: %[[EPS:.*]] = pp.constant dense<5.000000e-01>
// CHECK: %[[MORE:.*]] = pp.add %{{.*}}, %[[EPS]]
// CHECK: %[[RSTD:.*]] = pp.rsqrt %[[MORE]] : tensor<4x1xf32>
// CHECK: pp.mul %[[CENTERED]], %[[RSTD]]
func.func @normalize(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.normalize %x {center, eps = 0.5 : f64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @normalize_uncentered(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-NOT: pp.sub
// CHECK: pp.mul %[[X]], %[[X]]
// CHECK: %[[RSTD:.*]] = pp.rsqrt
// CHECK: pp.mul %[[X]], %[[RSTD]]
func.func @normalize_uncentered(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.normalize %x {eps = 1.0e-5 : f64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @normalize_grad(
// CHECK-SAME: %{{.*}}: tensor<4x8xf32>, %[[DY:.*]]: tensor<4x8xf32>)
// CHECK: %[[RSTD:.*]] = pp.rsqrt
// CHECK: %[[Y:.*]] = pp.mul %{{.*}}, %[[RSTD]]
// CHECK: pp.mul %[[DY]], %[[Y]]
// CHECK: %[[ALONG:.*]] = pp.mul %[[Y]], %{{.*}} : tensor<4x8xf32>, tensor<4x1xf32>
// CHECK: %[[ACROSS:.*]] = pp.sub %[[DY]], %[[ALONG]]
// CHECK: pp.reduce sum %[[DY]] [1] {keep_dims}
// CHECK: %[[CENTERED:.*]] = pp.sub %[[ACROSS]]
// CHECK: pp.mul %[[CENTERED]], %[[RSTD]]
func.func @normalize_grad(%x: tensor<4x8xf32>, %dy: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.normalize_grad %x, %dy {center, eps = 1.0e-5 : f64} : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @token_loss(
// CHECK: %[[TARGETS:.*]] = pp.reshape %{{.*}} : tensor<4xi32> to tensor<4x1xi32>
// CHECK: %[[SHIFTED:.*]] = pp.sub
// CHECK: %[[SUM:.*]] = pp.reduce sum
// CHECK: %[[CLASSES:.*]] = pp.iota {dim = 0 : i64} -> tensor<8xi32>
// CHECK: %[[HIT:.*]] = pp.compare eq %[[CLASSES]], %[[TARGETS]]
// CHECK: %[[PICKED:.*]] = pp.select %[[HIT]], %[[SHIFTED]], %{{.*}}
// CHECK: %[[LOGIT:.*]] = pp.reduce sum %[[PICKED]]
// CHECK: %[[LOG:.*]] = pp.log %[[SUM]]
// CHECK: %[[LOSS:.*]] = pp.sub %[[LOG]], %[[LOGIT]]
// CHECK: %[[IGNORED:.*]] = pp.compare eq %[[TARGETS]], %{{.*}} : tensor<4x1xi32>, tensor<i32>
// CHECK: pp.select %[[IGNORED]], %{{.*}}, %[[LOSS]]
func.func @token_loss(%x: tensor<4x8xf32>, %y: tensor<4xi32>) -> tensor<4xf32> {
  %0 = pp.token_loss %x, %y {ignore_index = -1 : i64} : tensor<4x8xf32>, tensor<4xi32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @token_loss_grad(
// CHECK: %[[DLOSS:.*]] = pp.reshape %{{.*}} : tensor<4xf32> to tensor<4x1xf32>
// CHECK: %[[HIT:.*]] = pp.compare eq
// CHECK: %[[ONEHOT:.*]] = pp.select %[[HIT]]
// CHECK: %[[DIFFERENCE:.*]] = pp.sub %{{.*}}, %[[ONEHOT]]
// CHECK: %[[DX:.*]] = pp.mul %[[DIFFERENCE]], %[[DLOSS]]
// CHECK-NOT: pp.select
// CHECK: return %[[DX]]
func.func @token_loss_grad(%x: tensor<4x8xf32>, %y: tensor<4xi32>, %dloss: tensor<4xf32>) -> tensor<4x8xf32> {
  %0 = pp.token_loss_grad %x, %y, %dloss : tensor<4x8xf32>, tensor<4xi32>, tensor<4xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @count(
// CHECK: %[[IGNORED:.*]] = pp.constant dense<-100> : tensor<i64>
// CHECK: %[[COUNTED:.*]] = pp.compare ne %{{.*}}, %[[IGNORED]]
// CHECK: %[[ONES:.*]] = pp.cast %[[COUNTED]] : tensor<2x4xi1> to tensor<2x4xf32>
// CHECK: pp.reduce sum %[[ONES]] [0, 1]
func.func @count(%y: tensor<2x4xi64>) -> tensor<f32> {
  %0 = pp.count %y {ignore_index = -100 : i64} : tensor<2x4xi64> to tensor<f32>
  return %0 : tensor<f32>
}
