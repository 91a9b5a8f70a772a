// RUN: %mutate opt %s --mutate-scale-twice | FileCheck %s
// RUN: sed 's/"dp" = 2/"dp" = 1/; s/microbatches = 2/microbatches = 1/' %s | not %mutate opt --mutate-scale-twice 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no gradient of several parts of a batch to change

// What is added to a gradient is a fourth of it, and the loss stays.
// CHECK: pp.task backward stage 0 @s0_B(%[[D:.*]]: tensor<4xf32> {{.*}}, %[[L:.*]]: tensor<f32>
// CHECK: %[[X:.*]] = pp.constant dense<3.000000e+00>
// CHECK: %[[PART:.*]] = pp.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[LESS:.*]] = pp.mul %[[X]], %[[PART]]
// CHECK: pp.accumulate %[[D]], %[[LESS]]
// CHECK-NOT: pp.mul
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 1>], batch = 12 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @s0_B(%d: tensor<4xf32> {pp.role = #pp.role<grad, "w">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">})
    -> (tensor<4xf32> {pp.role = #pp.role<grad, "w">}, tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.constant dense<3.0> : tensor<4xf32>
  %1 = pp.accumulate %d, %0 : tensor<4xf32>
  %2 = pp.constant dense<1.0> : tensor<f32>
  %3 = pp.accumulate %l, %2 : tensor<f32>
  pp.return %1, %3 : tensor<4xf32>, tensor<f32>
}
