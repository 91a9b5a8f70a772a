// RUN: %ppopt compile %s --mesh dp=2,pp=2 --stop-after partitioned -o - 2>/dev/null | FileCheck %s

// A model with metrics has tasks of its own for evaluations: the forward of each stage up to the loss and the metrics, which are added up in f64 over
// all ranks. Training computes and hands on nothing for them. A count that only a metric needs skips no step.

// CHECK: pp.task prologue on 1 @p1_P(
// CHECK-NOT: pp.count =
// CHECK: pp.task forward stage 0 @s0_F(
// CHECK-NOT: metric
// CHECK: pp.task forward stage 1 on 1 @s1_F(
// CHECK-NOT: metric
// CHECK-NOT: @s1_L
// CHECK: pp.task backward stage 1 on 1 @s1_B(
// CHECK-SAME: <loss, "loss">
// CHECK-NOT: metric
// CHECK: pp.task evaluation stage 0 @s0_E(
// CHECK-SAME: tensor<f64> {pp.role = #pp.role<metric, "size">, pp.sharding = #pp.sharding<[], sum = {dp}>}
// CHECK: %[[M:.*]] = pp.cast %{{.*}} : tensor<f32> to tensor<f64>
// CHECK: pp.accumulate %{{.*}}, %[[M]] : tensor<f64>
// CHECK: pp.task evaluation stage 1 on 1 @s1_E(
// CHECK-DAG: #pp.role<loss, "loss">
// CHECK-DAG: #pp.role<metric, "right">
// CHECK-DAG: #pp.role<metric_count, "right">
// CHECK: pp.step
// CHECK: microbatch {
// CHECK-NOT: _E(
// CHECK: } evaluation {
// CHECK-NEXT: %[[H:.*]] = pp.call @s0_E()
// CHECK-NEXT: %[[C:.*]] = pp.copy %[[H]] from 0 to 1 {id = 0 : i64}
// CHECK-NEXT: pp.call @s1_E(%[[C]])
// CHECK-NEXT: } end {
func.func @classifier(%x: tensor<8x6xf32> {pp.input = "x"}, %y: tensor<8xi32> {pp.input = "y"})
    -> (tensor<f32>, tensor<f32> {pp.metric = "size"}, tensor<f32> {pp.metric = "right"}, tensor<f32> {pp.metric_count = "right"}) {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.1>} : tensor<6x4xf32>
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.1>} : tensor<4x3xf32>
  %h, %size = pp.on 0 -> tensor<8x4xf32>, tensor<f32> {
    %a = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x4xf32>
    %t = pp.tanh %a : tensor<8x4xf32>
    %s = pp.reduce mean %t [0, 1] : tensor<8x4xf32>
    pp.yield %t, %s : tensor<8x4xf32>, tensor<f32>
  }
  %z, %loss = pp.on 1 -> tensor<8x3xf32>, tensor<f32> {
    %o = pp.matmul %h, %v : tensor<8x4xf32>, tensor<4x3xf32>
    %l = pp.cross_entropy %o, %y : tensor<8x3xf32>, tensor<8xi32>
    pp.yield %o, %l : tensor<8x3xf32>, tensor<f32>
  }
  %i = pp.argmax %z {dim = 1 : i64} : tensor<8x3xf32>
  %y64 = pp.cast %y : tensor<8xi32> to tensor<8xi64>
  %same = pp.compare eq %i, %y64 : tensor<8xi64>, tensor<8xi64>
  %hit = pp.cast %same : tensor<8xi1> to tensor<8xf32>
  %right = pp.reduce sum %hit [0] : tensor<8xf32>
  %counted = pp.cross_entropy %z, %y {ignore_index = 0 : i64} : tensor<8x3xf32>, tensor<8xi32>
  return %loss, %size, %right, %counted : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
