// Composites become element ops, sums, maxima and products.

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

// CHECK-LABEL: @attention(
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x5x4xf32>, %[[K:.*]]: tensor<2x3x5x4xf32>, %[[V:.*]]: tensor<2x3x5x8xf32>)
// CHECK: %[[QK:.*]] = pp.matmul %[[Q]], %[[K]] {transpose_rhs}
// CHECK: %[[FACTOR:.*]] = pp.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[SCORES:.*]] = pp.mul %[[QK]], %[[FACTOR]]
// CHECK: %[[SEES:.*]] = pp.compare ge %{{.*}} : tensor<5x1xi32>, tensor<5xi32>
// CHECK: %[[NONE:.*]] = pp.constant dense<-3.40282347E+38> : tensor<f32>
// CHECK: %[[MASKED:.*]] = pp.select %[[SEES]], %[[SCORES]], %[[NONE]]
// CHECK: %[[MAX:.*]] = pp.reduce max %[[MASKED]] [3] {keep_dims}
// CHECK: %[[SHIFTED:.*]] = pp.sub %[[MASKED]], %[[MAX]]
// CHECK: %[[EXP:.*]] = pp.exp %[[SHIFTED]]
// CHECK: %[[SUM:.*]] = pp.reduce sum %[[EXP]] [3] {keep_dims}
// CHECK: %[[WEIGHTED:.*]] = pp.matmul %[[EXP]], %[[V]]
// CHECK: %[[INVERSE:.*]] = pp.div %{{.*}}, %[[SUM]] : tensor<f32>, tensor<2x3x5x1xf32>
// CHECK: pp.mul %[[WEIGHTED]], %[[INVERSE]]
// CHECK: %[[LOG:.*]] = pp.log %[[SUM]]
// CHECK: %[[LSE:.*]] = pp.add %[[MAX]], %[[LOG]]
// CHECK: pp.reshape %[[LSE]] : tensor<2x3x5x1xf32> to tensor<2x3x5xf32>
func.func @attention(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x8xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x3x5xf32>) {
  %out, %lse = pp.attention %q, %k, %v {causal} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x8xf32>
  return %out, %lse : tensor<2x3x5x8xf32>, tensor<2x3x5xf32>
}

// Without `causal` no mask; products in bf16, all else in f32.
// CHECK-LABEL: @attention_bf16(
// CHECK: %[[QK:.*]] = pp.matmul %{{.*}} : tensor<2x3x5x4xbf16>, tensor<2x3x7x4xbf16>
// CHECK: %[[WIDE:.*]] = pp.cast %[[QK]] : tensor<2x3x5x7xbf16> to tensor<2x3x5x7xf32>
// CHECK: %[[FACTOR:.*]] = pp.constant dense<2.500000e-01> : tensor<f32>
// CHECK: pp.mul %[[WIDE]], %[[FACTOR]]
// CHECK-NOT: pp.select
// CHECK: %[[EXP:.*]] = pp.exp
// CHECK: pp.cast %[[EXP]] : tensor<2x3x5x7xf32> to tensor<2x3x5x7xbf16>
// CHECK: pp.mul %{{.*}} : tensor<2x3x5x8xf32>, tensor<2x3x5x1xf32>
func.func @attention_bf16(%q: tensor<2x3x5x4xbf16>, %k: tensor<2x3x7x4xbf16>, %v: tensor<2x3x7x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x3x5xf32>) {
  %out, %lse = pp.attention %q, %k, %v {scale = 0.25 : f64} : tensor<2x3x5x4xbf16>, tensor<2x3x7x4xbf16>, tensor<2x3x7x8xbf16>
  return %out, %lse : tensor<2x3x5x8xbf16>, tensor<2x3x5xf32>
}

// CHECK-LABEL: @attention_grad(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x3x5x4xf32>, %[[K:[^:]*]]: tensor<2x3x5x4xf32>, %[[V:[^:]*]]: tensor<2x3x5x8xf32>, %[[O:[^:]*]]: tensor<2x3x5x8xf32>, %[[LSE:[^:]*]]: tensor<2x3x5xf32>, %[[DO:[^:]*]]: tensor<2x3x5x8xf32>)
// CHECK: %[[EXP:.*]] = pp.exp
// CHECK: %[[P:.*]] = pp.select %{{.*}}, %[[EXP]]
// CHECK: %[[DV:.*]] = pp.matmul %[[P]], %[[DO]] {transpose_lhs}
// CHECK: %[[DP:.*]] = pp.matmul %[[DO]], %[[V]] {transpose_rhs}
// CHECK: %[[DOT:.*]] = pp.mul %[[DO]], %[[O]]
// CHECK: %[[DELTA:.*]] = pp.reduce sum %[[DOT]] [3] {keep_dims}
// CHECK: %[[CENTERED:.*]] = pp.sub %[[DP]], %[[DELTA]]
// CHECK: pp.mul %[[P]], %[[CENTERED]]
// CHECK: %[[DS:.*]] = pp.mul
// CHECK: %[[DQ:.*]] = pp.matmul %[[DS]], %[[K]]
// CHECK: %[[DK:.*]] = pp.matmul %[[DS]], %[[Q]] {transpose_lhs}
// CHECK: return %[[DQ]], %[[DK]], %[[DV]]
func.func @attention_grad(%q: tensor<2x3x5x4xf32>, %k: tensor<2x3x5x4xf32>, %v: tensor<2x3x5x8xf32>, %out: tensor<2x3x5x8xf32>, %lse: tensor<2x3x5xf32>, %dout: tensor<2x3x5x8xf32>) -> (tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x8xf32>) {
  %dq, %dk, %dv = pp.attention_grad %q, %k, %v, %out, %lse, %dout {causal} : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5xf32>
  return %dq, %dk, %dv : tensor<2x3x5x4xf32>, tensor<2x3x5x4xf32>, tensor<2x3x5x8xf32>
}
