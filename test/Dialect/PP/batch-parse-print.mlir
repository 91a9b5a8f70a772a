// RUN: ppopt opt %s | FileCheck %s
// RUN: ppopt opt %s | ppopt opt | FileCheck %s

// CHECK-LABEL: @states
// CHECK: %[[S:.*]] = pp.param "s" {init = #pp.init<zeros>, state} : tensor<4xf32>
// CHECK: %[[O:.*]] = pp.proposed %[[S]] : tensor<4xf32>
// CHECK: %[[M:.*]] = pp.by_mode %{{.*}}, %[[S]] : tensor<4xf32>
// CHECK: pp.propose %[[S]], %[[M]] : tensor<4xf32>
func.func @states(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = pp.param "s" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %old = pp.proposed %s : tensor<4xf32>
  %m = pp.by_mode %x, %s : tensor<4xf32>
  pp.propose %s, %m : tensor<4xf32>
  return %old : tensor<4xf32>
}

// CHECK-LABEL: @norm
// CHECK: pp.batch_norm %{{.*}} {dim = 0 : i64, eps = 1.000000e-03 : f64, momentum = 5.000000e-01 : f64} : tensor<4x8xbf16>, tensor<4xf32>
// CHECK: pp.unbiased_variance %{{.*}}, %{{.*}} : tensor<1x8xbf16>, tensor<4x8xbf16>
func.func @norm(%x: tensor<4x8xbf16>, %s: tensor<4xf32>, %v: tensor<1x8xbf16>) -> (tensor<4x8xbf16>, tensor<1x8xbf16>) {
  %y = pp.batch_norm %x, %s, %s, %s, %s {dim = 0 : i64, eps = 1.0e-3 : f64, momentum = 0.5 : f64} : tensor<4x8xbf16>, tensor<4xf32>
  %u = pp.unbiased_variance %v, %x : tensor<1x8xbf16>, tensor<4x8xbf16>
  return %y, %u : tensor<4x8xbf16>, tensor<1x8xbf16>
}

// CHECK-LABEL: @rows
// CHECK: pp.per_microbatch -> tensor<8x4xf32> {
// CHECK: pp.yield %{{.*}} : tensor<8x4xf32>
// CHECK: pp.enter_microbatch %{{.*}} {dim = 0 : i64, microbatches = 2 : i64} : tensor<8x4xf32> to tensor<4x4xf32>
// CHECK: pp.leave_microbatch %{{.*}} {microbatches = 2 : i64} : tensor<4x4xf32> to tensor<4x4xf32>
func.func @rows(%x: tensor<8x4xf32>) -> tensor<4x4xf32> {
  %0 = pp.per_microbatch -> tensor<8x4xf32> {
    %t = pp.tanh %x : tensor<8x4xf32>
    pp.yield %t : tensor<8x4xf32>
  }
  %1 = pp.enter_microbatch %0 {dim = 0 : i64, microbatches = 2 : i64} : tensor<8x4xf32> to tensor<4x4xf32>
  %2 = pp.leave_microbatch %1 {microbatches = 2 : i64} : tensor<4x4xf32> to tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
