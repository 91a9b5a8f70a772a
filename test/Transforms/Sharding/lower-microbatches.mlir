// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan=microbatches=2 --pp-lower-microbatches --split-input-file | FileCheck %s
// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan --pp-lower-microbatches --split-input-file | FileCheck %s --check-prefix=ONE

// Each image is told from the texts of its microbatch: both dimensions of the logits have rows, and numbers of rows are those of a microbatch. A
// parameter enters too: its gradient is a sum over microbatches.
// CHECK: pp.plan {{.*}}by_microbatch
// CHECK-LABEL: func.func @clip
// CHECK-DAG: %[[A:.*]] = pp.enter_microbatch %arg0 {dim = 0 : i64, microbatches = 2 : i64} : tensor<8x4xf32> to tensor<4x4xf32>
// CHECK-DAG: %[[B:.*]] = pp.enter_microbatch %arg1 {dim = 0 : i64, microbatches = 2 : i64} : tensor<8x4xf32> to tensor<4x4xf32>
// CHECK: %[[L:.*]] = pp.matmul %[[A]], %[[B]] {transpose_rhs} : tensor<4x4xf32>, tensor<4x4xf32>
// CHECK: %[[T:.*]] = pp.enter_microbatch %{{.*}} {microbatches = 2 : i64} : tensor<f32> to tensor<f32>
// CHECK: pp.mul %[[L]], %[[T]]
// CHECK: %[[I:.*]] = pp.iota {dim = 0 : i64} -> tensor<4xi64>
// CHECK-NEXT: %[[LABELS:.*]] = pp.enter_microbatch %[[I]] {microbatches = 2 : i64} : tensor<4xi64> to tensor<4xi64>
// CHECK: %[[LOSS:.*]] = pp.cross_entropy %{{.*}}, %[[LABELS]]
// CHECK: %[[HALF:.*]] = pp.constant dense<5.000000e-01>
// CHECK: %[[PART:.*]] = pp.mul %[[LOSS]], %[[HALF]]
// CHECK: pp.leave_microbatch %[[PART]] {microbatches = 2 : i64} : tensor<f32> to tensor<f32>
// CHECK-NOT: in_microbatch}

// ONE-NOT: by_microbatch
// ONE-LABEL: func.func @clip
// ONE-NOT: microbatch
// ONE: return
func.func @clip(%a: tensor<8x4xf32> {pp.input = "a"}, %b: tensor<8x4xf32> {pp.input = "b"}) -> tensor<f32> {
  %t = pp.param "t" {init = #pp.init<ones>} : tensor<f32>
  %0 = pp.per_microbatch -> tensor<f32> {
    %1 = pp.matmul %a, %b {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32>
    %2 = pp.mul %1, %t : tensor<8x8xf32>, tensor<f32>
    %3 = pp.iota {dim = 0 : i64} -> tensor<8xi64>
    %4 = pp.cross_entropy %2, %3 : tensor<8x8xf32>, tensor<8xi64>
    pp.yield %4 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// Rows leave as they came; a constant has as many elements as there are rows.
// CHECK-LABEL: func.func @rows
// CHECK: %[[ONES:.*]] = pp.constant dense<1.000000e+00> : tensor<12x4xf32>
// CHECK: %[[X:.*]] = pp.enter_microbatch %{{.*}} {dim = 0 : i64, microbatches = 2 : i64} : tensor<24x4xf32> to tensor<12x4xf32>
// CHECK: %[[Y:.*]] = pp.add %[[X]], %[[ONES]]
// CHECK: pp.leave_microbatch %[[Y]] {dim = 0 : i64, microbatches = 2 : i64} : tensor<12x4xf32> to tensor<24x4xf32>
// ONE-LABEL: func.func @rows
func.func @rows(%a: tensor<8x3x4xf32> {pp.input = "a"}) -> tensor<f32> {
  %x = pp.reshape %a : tensor<8x3x4xf32> to tensor<24x4xf32>
  %0 = pp.per_microbatch -> tensor<24x4xf32> {
    %1 = pp.constant dense<1.0> : tensor<24x4xf32>
    %2 = pp.add %x, %1 : tensor<24x4xf32>, tensor<24x4xf32>
    pp.yield %2 : tensor<24x4xf32>
  }
  %3 = pp.reduce sum %0 [0, 1] : tensor<24x4xf32>
  return %3 : tensor<f32>
}

// -----

// A microbatch of two has 4 values of each channel.
// CHECK-LABEL: func.func @norm
// CHECK: pp.unbiased_variance %{{.*}} : tensor<1x4xf32>, tensor<4x4xf32>
// ONE-LABEL: func.func @norm
// ONE: pp.unbiased_variance %{{.*}} : tensor<1x4xf32>, tensor<8x4xf32>
func.func @norm(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<ones>} : tensor<4xf32>
  %m = pp.param "m" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %v = pp.param "v" {init = #pp.init<ones>, state} : tensor<4xf32>
  %0 = pp.batch_norm %x, %s, %s, %m, %v : tensor<8x4xf32>, tensor<4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
  return %1 : tensor<f32>
}
