// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-insert-collectives | FileCheck %s

// A sum starts after the last addition and is complete before its first reader: a count before the first run of a stage, the loss
// before the decision on the update.
// CHECK: pp.run @p0_P microbatch 1
// CHECK-NEXT: %[[G:[0-9]+]] = pp.start all_reduce over <["dp"]> channel 1 <global, "g0">
// CHECK-NEXT: pp.wait %[[G]] :
// CHECK-NEXT: pp.run @s0_F microbatch 0
// CHECK: pp.run @s0_F microbatch 1
// CHECK-NEXT: %[[L:[0-9]+]] = pp.start all_reduce over <["dp"]> channel 1 <loss>
// CHECK-NEXT: pp.run @s0_B microbatch 1
// CHECK-NEXT: %[[B:[0-9]+]] = pp.start all_reduce over <["dp"]> channel 1 <grads, "b0">
// CHECK-NEXT: pp.wait %[[B]] :
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 0
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 1
// CHECK-NEXT: pp.wait %[[L]] :
// CHECK-NEXT: pp.run @p0_D
// CHECK-NEXT: pp.run @p0_U_b0
// CHECK-NEXT: {{^  }$}}
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.task prologue @p0_P(%g: tensor<f32> {pp.count = "targets", pp.role = #pp.role<global, "g0">, pp.sharding = #pp.sharding<[], sum = {dp, mb}>}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">, pp.sharding = #pp.sharding<[], sum = {dp, mb}>}) {
  %0 = pp.accumulate %g, %g : tensor<f32>
  pp.return %0 : tensor<f32>
}
pp.task forward stage 0 @s0_F(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, mb}>}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, mb}>}, tensor<40xf32>, tensor<f32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  %1 = pp.broadcast %l [] : tensor<f32> to tensor<40xf32>
  pp.return %0, %1, %l : tensor<f32>, tensor<40xf32>, tensor<f32>
}
pp.task backward stage 0 @s0_B(%v: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) {
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
