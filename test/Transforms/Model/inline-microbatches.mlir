// RUN: ppopt opt %s --pp-inline-calls --split-input-file --verify-diagnostics | FileCheck %s

// The ops of a region are marked, those of called functions too; parameters are not. What leaves it passes a boundary.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = pp.param "w" {init = #pp.init<zeros>} : tensor<2x2xf32>
// CHECK: %[[P:.*]] = pp.matmul %arg0, %[[W]] {pp.in_microbatch}
// CHECK: %[[C:.*]] = pp.checkpoint %[[P]] {pp.in_microbatch}
// CHECK: %[[ON:.*]] = pp.on 1 attributes {pp.in_microbatch} -> tensor<f32> {
// CHECK-NEXT: %[[S:.*]] = pp.reduce{{ +}}sum %[[C]] [0, 1] {pp.in_microbatch}
// CHECK-NEXT: pp.yield {pp.in_microbatch} %[[S]]
// CHECK: %[[L:.*]] = pp.leave_microbatch %[[ON]] {microbatches = 1 : i64} : tensor<f32> to tensor<f32>
// CHECK-NEXT: %[[E:.*]] = pp.exp %[[L]] : tensor<f32>
// CHECK-NEXT: return %[[E]]
func.func private @layer(%x: tensor<4x2xf32>, %w: tensor<2x2xf32>) -> tensor<4x2xf32> {
  %0 = pp.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32>
  return %0 : tensor<4x2xf32>
}
func.func @main(%x: tensor<4x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<f32> {
    %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x2xf32>
    %1 = func.call @layer(%x, %w) : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %2 = pp.on 1 -> tensor<f32> {
      %3 = pp.reduce sum %1 [0, 1] : tensor<4x2xf32>
      pp.yield %3 : tensor<f32>
    }
    pp.yield %2 : tensor<f32>
  }
  %4 = pp.exp %0 : tensor<f32>
  return %4 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<f32> {
    // expected-error @below {{'pp.per_microbatch' op is in another one; remove one of them: all of its ops compute with the rows of one microbatch}}
    %1 = pp.per_microbatch -> tensor<f32> {
      %2 = pp.reduce sum %x [0, 1] : tensor<4x2xf32>
      pp.yield %2 : tensor<f32>
    }
    pp.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// A batch norm is replaced: in training by statistics of the region's rows, in evaluations by the states, outside of it.
// CHECK-LABEL: func.func @norm
// CHECK-DAG: %[[S:.*]] = pp.param "s"
// CHECK-DAG: %[[M:.*]] = pp.param "m" {{.*}}state
// CHECK-DAG: %[[V:.*]] = pp.param "v" {{.*}}state
// CHECK: %[[MEAN:.*]] = pp.reduce mean %arg0 [0, 2] {keep_dims, pp.in_microbatch} : tensor<4x2x3xf32>
// CHECK: %[[CENTRED:.*]] = pp.sub %arg0, %[[MEAN]] {pp.in_microbatch}
// CHECK: %[[SQUARES:.*]] = pp.mul %[[CENTRED]], %[[CENTRED]] {pp.in_microbatch}
// CHECK: %[[VARIANCE:.*]] = pp.reduce mean %[[SQUARES]] [0, 2] {keep_dims, pp.in_microbatch}
// CHECK: %[[OLD:.*]] = pp.proposed %[[M]] {pp.in_microbatch}
// CHECK: pp.propose %[[M]], %{{.*}} {pp.in_microbatch}
// CHECK: pp.unbiased_variance %[[VARIANCE]], %arg0 {pp.in_microbatch}
// CHECK: pp.propose %[[V]], %{{.*}} {pp.in_microbatch}
// CHECK: %[[ROWS:.*]] = pp.mul %[[CENTRED]], %{{.*}} {pp.in_microbatch}
// CHECK: %[[LEFT:.*]] = pp.leave_microbatch %[[ROWS]]
// CHECK: %[[RUNNING:.*]] = pp.reshape %[[M]] : tensor<2xf32> to tensor<2x1xf32>
// CHECK: pp.sub %arg0, %[[RUNNING]] : tensor<4x2x3xf32>
// CHECK: pp.by_mode %[[LEFT]], %{{.*}} : tensor<4x2x3xf32>
func.func @norm(%x: tensor<4x2x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<ones>} : tensor<2xf32>
  %m = pp.param "m" {init = #pp.init<zeros>, state} : tensor<2xf32>
  %v = pp.param "v" {init = #pp.init<ones>, state} : tensor<2xf32>
  %y = pp.batch_norm %x, %s, %s, %m, %v : tensor<4x2x3xf32>, tensor<2xf32>
  %l = pp.reduce sum %y [0, 1, 2] : tensor<4x2x3xf32>
  return %l : tensor<f32>
}
