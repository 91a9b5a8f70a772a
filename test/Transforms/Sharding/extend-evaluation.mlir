// Where the forward sums over rows, those that do not count are masked; a mean over rows becomes a share. Rows lie in whatever dimension. What is summed within a
// row, or in the backward, stays as it is. Means are sums afterwards.
// RUN: ppopt opt %s --pp-extend-evaluation --split-input-file | FileCheck %s
// RUN: sed 's/evaluates_rows, //' %s | ppopt opt --pp-extend-evaluation --split-input-file | FileCheck %s --check-prefix=BATCHES
// BATCHES-NOT: mask_rows
// BATCHES-NOT: evaluation_share
// BATCHES-NOT: reduce mean

pp.plan {evaluates_rows, mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// CHECK-LABEL: @rows(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {{.*}}, %[[T:.*]]: tensor<4xi32>
func.func @rows(%x: tensor<4x3xf32> {pp.input = "x"}, %t: tensor<4xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf32>
  // CHECK: pp.place 0 stage 0
  %0:2 = pp.place 0 stage 0 -> tensor<f32>, tensor<4x3xf32> {
    // CHECK: %[[Y:.*]] = pp.mul %[[X]]
    %y = pp.mul %x, %w : tensor<4x3xf32>, tensor<3xf32>
    // Within a row.
    // CHECK: %[[S:.*]] = pp.reduce sum %[[Y]] [1] : tensor<4x3xf32>
    // CHECK: pp.mul %[[S]], %{{.*}} : tensor<4xf32>, tensor<f32>
    // CHECK-NOT: evaluation_share
    %m = pp.reduce mean %y [1] : tensor<4x3xf32>
    // Row i is of elements 3i to 3i + 2.
    // CHECK: %[[FLAT:.*]] = pp.reshape %[[Y]]
    // CHECK: %[[MASKED:.*]] = pp.mask_rows %[[FLAT]] {dim = 0 : i64, period = 12 : i64, rows = 4 : i64} : tensor<12xf32>
    // CHECK: %[[SUM:.*]] = pp.reduce sum %[[MASKED]] [0] : tensor<12xf32>
    // CHECK: %[[MEAN:.*]] = pp.mul %[[SUM]], %{{.*}} : tensor<f32>, tensor<f32>
    // CHECK: %[[SHARE:.*]] = pp.evaluation_share %[[MEAN]] {rows = 4 : i64} : tensor<f32>
    %f = pp.reshape %y : tensor<4x3xf32> to tensor<12xf32>
    %l = pp.reduce mean %f [0] : tensor<12xf32>
    // A sum is no share. Element i of the second dimension of the transpose is of row i.
    // CHECK: %[[T:.*]] = pp.transpose
    // CHECK: %[[MASKED:.*]] = pp.mask_rows %[[T]] {dim = 1 : i64, period = 4 : i64, rows = 4 : i64} : tensor<3x4xf32>
    // CHECK: pp.reduce sum %[[MASKED]] [0, 1] : tensor<3x4xf32>
    // CHECK-NOT: evaluation_share
    %u = pp.transpose %y [1, 0] : tensor<4x3xf32>
    %s = pp.reduce sum %u [0, 1] : tensor<3x4xf32>
    // CHECK: pp.mask_rows %{{.*}} {dim = 0 : i64, fill = -1 : i64, period = 4 : i64, rows = 4 : i64} : tensor<4xi32>
    // CHECK: pp.count
    %n = pp.count %t {ignore_index = -1 : i64} : tensor<4xi32> to tensor<f32>
    %r = pp.reduce sum %m [0] : tensor<4xf32>
    %a = pp.add %l, %s : tensor<f32>, tensor<f32>
    %b = pp.div %r, %n : tensor<f32>, tensor<f32>
    %loss = pp.add %a, %b : tensor<f32>, tensor<f32>
    pp.yield %loss, %y : tensor<f32>, tensor<4x3xf32>
  }
  // CHECK: pp.place 0 stage 0 backward
  // CHECK-NOT: mask_rows
  pp.place 0 stage 0 backward {
    %d = pp.reduce sum %0#1 [0] : tensor<4x3xf32>
    pp.add_grad %w, %d : tensor<3xf32>
    pp.yield
  }
  return %0#0 : tensor<f32>
}
