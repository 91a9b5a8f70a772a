// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-assign-slots | FileCheck %s

// Forward and backward of one microbatch follow each other: both microbatches share the slots.
// CHECK: pp.schedule 0 attributes {slots = array<i64: 192, 64>}
// CHECK: %[[V:[0-9]+]]:2 = pp.run @s0_F microbatch 0 () slots [0, 1]
// CHECK: pp.run @s0_B microbatch 0 (%[[V]]#0)
// CHECK: %[[V:[0-9]+]]:2 = pp.run @s0_F microbatch 1 () slots [0, 1]
// CHECK: pp.run @s0_B microbatch 1 (%[[V]]#0)
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.task prologue @p0_P(%g: tensor<f32> {pp.count = "targets", pp.role = #pp.role<global, "g0">}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  %0 = pp.accumulate %g, %g : tensor<f32>
  pp.return %0 : tensor<f32>
}
pp.task forward stage 0 @s0_F(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}, tensor<40xf32>, tensor<f32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  %1 = pp.broadcast %l [] : tensor<f32> to tensor<40xf32>
  pp.return %0, %1, %l : tensor<f32>, tensor<40xf32>, tensor<f32>
}
pp.task backward stage 0 @s0_B(%v: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.step prologue {
  pp.call @p0_P() : () -> ()
} microbatch {
  %0:2 = pp.call @s0_F() : () -> (tensor<40xf32>, tensor<f32>)
  pp.call @s0_B(%0#0) : (tensor<40xf32>) -> ()
} evaluation {
  %0:2 = pp.call @s0_F() : () -> (tensor<40xf32>, tensor<f32>)
}
