// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-insert-collectives --pp-assign-slots > %t
// RUN: ppopt opt %t --pp-verify-schedule
// RUN: %mutate opt %t --mutate-gather-not-on-place > %t.place
// RUN: FileCheck %s < %t.place
// RUN: not ppopt opt %t.place --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=REFUSED

// Place 0 gathers with place 1, which does not.
// CHECK: pp.schedule 0 attributes
// CHECK-NEXT: ^bb0(%[[P:[a-z0-9]+]]: !pp.token):
// CHECK: pp.wait %[[P]] :
// CHECK: %[[G:[0-9]+]] = pp.start all_gather over <["dp", "pp"] among [0, 1]>
// CHECK: pp.yield %[[G]] : !pp.token
// CHECK: ^bb0(%[[P:[a-z0-9]+]]: !pp.token):
// CHECK: pp.wait %[[P]] :
// CHECK: pp.schedule 1 attributes
// CHECK-NOT: ^bb0
// CHECK-NOT: all_gather
// REFUSED: error: 'pp.schedule' op needs #pp.buffer<params, "b0"> of all ranks, which is not gathered yet
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, zero = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  pp.return %w : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp}>}, tensor<40xf32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  pp.return %0, %w : tensor<f32>, tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<40xf32>
  %1 = pp.call @s1_F() : () -> tensor<40xf32>
  pp.call @s1_B(%1) : (tensor<40xf32>) -> ()
  pp.call @s0_B(%0) : (tensor<40xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<40xf32>
  %1 = pp.call @s1_F() : () -> tensor<40xf32>
}
