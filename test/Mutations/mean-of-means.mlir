// RUN: %mutate opt %s --mutate-mean-of-means | FileCheck %s
// RUN: sed 's/"dp" = 2/"dp" = 1/; s/microbatches = 2/microbatches = 1/' %s | not %mutate opt --mutate-mean-of-means 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no sum over several parts of a batch to change

// The forward counts its own targets, times the four parts of a batch.
// CHECK: pp.task prologue @p0_P
// CHECK: pp.task forward stage 0 @s0_F(%{{.*}}: tensor<f32> {pp.role = #pp.role<global, "g0">}{{.*}}, %[[T:.*]]: tensor<3xi32> {pp.role = #pp.role<input, "targets">}
// CHECK: %[[COUNT:.*]] = pp.count %[[T]]
// CHECK: %[[PARTS:.*]] = pp.constant dense<4.000000e+00>
// CHECK: %[[OWN:.*]] = pp.mul %[[COUNT]], %[[PARTS]]
// CHECK: pp.div %{{.*}}, %[[OWN]]
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 1>], batch = 12 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "targets" {shift = 1 : i64, type = tensor<12xi32>}
pp.task prologue @p0_P(%t: tensor<3xi32> {pp.role = #pp.role<input, "targets">}, %g: tensor<f32> {pp.role = #pp.role<global, "g0">}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  %0 = pp.count %t {ignore_index = -1 : i64} : tensor<3xi32> to tensor<f32>
  %1 = pp.accumulate %g, %0 : tensor<f32>
  pp.return %1 : tensor<f32>
}
pp.task forward stage 0 @s0_F(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.constant dense<1.0> : tensor<f32>
  %1 = pp.div %0, %g : tensor<f32>, tensor<f32>
  %2 = pp.accumulate %l, %1 : tensor<f32>
  pp.return %2 : tensor<f32>
}
