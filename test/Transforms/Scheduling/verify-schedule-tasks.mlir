// RUN: ppopt opt %s --pp-form-buckets --pp-gather-parameters --pp-scatter-gradients --pp-sign-tasks > %t.tasks
// RUN: ppopt opt %t.tasks --pp-schedule --pp-insert-collectives --pp-assign-slots > %t
// RUN: ppopt opt %t --pp-verify-schedule

// Schedules are proved from the signatures of tasks: these must list what the bodies make, not less and not more.

// RUN: sed '/pp.task backward/s/collectives = \[.*> channel 2/collectives = [#pp.task_collective<<reduce_scatter> over <["fsdp"]> channel 2/' %t > %t.fewer
// RUN: not ppopt opt %t.fewer --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=FEWER
// FEWER: error: 'pp.task' op makes collective 0 #pp.task_collective<<all_gather> over <["fsdp"]> channel 1 "b0" of 128 x f32>, and its signature says #pp.task_collective<<reduce_scatter> over <["fsdp"]> channel 2 "b0" of 128 x f32>

// RUN: sed '/pp.task forward/s/collectives = \[/collectives = [#pp.task_collective<<all_gather> over <["fsdp"]> channel 1 "b0" of 128 x f32>, /' %t > %t.more
// RUN: not ppopt opt %t.more --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: 'pp.task' op makes no collective 1, and its signature says #pp.task_collective<<all_gather> over <["fsdp"]> channel 1 "b0" of 128 x f32>

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, zero = 3 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.task forward stage 0 @s0_F(%w: tensor<100xf32> {pp.role = #pp.role<param, "w">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>}, tensor<100xf32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  %1 = pp.exp %w : tensor<100xf32>
  pp.return %0, %1 : tensor<f32>, tensor<100xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<100xf32>, %w: tensor<100xf32> {pp.role = #pp.role<param, "w">}, %d: tensor<100xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<100xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.mul %a, %w : tensor<100xf32>, tensor<100xf32>
  %1 = pp.accumulate %d, %0 : tensor<100xf32>
  pp.return %1 : tensor<100xf32>
}
pp.step microbatch {
  %a = pp.call @s0_F() : () -> tensor<100xf32>
  pp.call @s0_B(%a) : (tensor<100xf32>) -> ()
} evaluation {
  %a = pp.call @s0_F() : () -> tensor<100xf32>
}
