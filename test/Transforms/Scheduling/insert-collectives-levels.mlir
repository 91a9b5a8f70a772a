// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-insert-collectives | FileCheck %s
// RUN: sed 's/^pp.plan {/&zero = 1 : i64, /' %s | ppopt opt --pp-form-buckets --pp-schedule --pp-insert-collectives | FileCheck %s --check-prefix=SHARDED

// On a mesh dp x fsdp gradients are summed in levels: over fsdp each rank gets a chunk, whose sums over dp are then gathered. The next
// level of a bucket starts where the next bucket's sum starts. What is complete only at the reader goes level by level.
// CHECK: pp.run @s1_B microbatch 0
// CHECK-NEXT: %[[B0:[0-9]+]] = pp.start reduce_scatter over <["fsdp"]> channel [[FIRST:[0-9]+]] <grads, "b0">
// CHECK-NEXT: pp.run @s0_B microbatch 0
// CHECK-NEXT: %[[B1:[0-9]+]] = pp.start reduce_scatter over <["fsdp"]> channel [[FIRST]] <grads, "b1">
// CHECK-NEXT: pp.wait %[[B0]] :
// CHECK-NEXT: %[[B0:[0-9]+]] = pp.start all_reduce over <["dp"]> channel [[SHARDS:[0-9]+]] <grads, "b0"> shard
// CHECK-NEXT: pp.wait %[[B0]] :
// CHECK-NEXT: %[[B0:[0-9]+]] = pp.start all_gather over <["fsdp"]> channel [[LAST:[0-9]+]] <grads, "b0">
// CHECK-NEXT: pp.wait %[[B1]] :
// CHECK-NEXT: %[[B1:[0-9]+]] = pp.start all_reduce over <["dp"]> channel [[SHARDS]] <grads, "b1"> shard
// CHECK-NEXT: pp.wait %[[B1]] :
// CHECK-NEXT: %[[B1:[0-9]+]] = pp.start all_gather over <["fsdp"]> channel [[LAST]] <grads, "b1">
// CHECK-NEXT: pp.wait %[[B0]] :
// CHECK-NEXT: pp.wait %[[B1]] :
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 0
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 1
// CHECK-NEXT: pp.wait
// CHECK-NEXT: pp.run @p0_D
// CHECK-NEXT: pp.run @p0_U_b0
// CHECK-NEXT: pp.run @p0_U_b1
// CHECK-NEXT: {{^  }$}}

// Sharded, a rank needs its chunk only, and knows the norm of no other. Updated parameters are gathered while the next step begins:
// that step, or an evaluation, waits for those that it reads.
// SHARDED-LABEL: pp.schedule 0 attributes {slots
// SHARDED-NEXT: ^bb0(%[[P0:[a-z0-9]+]]: !pp.token, %[[P1:[a-z0-9]+]]: !pp.token):
// SHARDED-NEXT: pp.zero
// SHARDED-NEXT: pp.wait %[[P1]] :
// SHARDED-NEXT: pp.run @s0_F microbatch 0
// SHARDED-NEXT: pp.wait %[[P0]] :
// SHARDED-NEXT: pp.run @s1_F microbatch 0
// SHARDED: %[[B1:[0-9]+]] = pp.start reduce_scatter over <["fsdp"]> channel {{[0-9]+}} <grads, "b1">
// SHARDED: %[[B0:[0-9]+]] = pp.start all_reduce over <["dp"]> channel [[SHARDS:[0-9]+]] <grads, "b0"> shard
// SHARDED-NEXT: pp.wait %[[B1]] :
// SHARDED-NEXT: %[[B1:[0-9]+]] = pp.start all_reduce over <["dp"]> channel [[SHARDS]] <grads, "b1"> shard
// SHARDED-NEXT: pp.wait %[[B0]] :
// SHARDED-NEXT: pp.wait %[[B1]] :
// SHARDED-NEXT: pp.run @p0_N microbatch 0
// SHARDED-NEXT: %[[N:[0-9]+]] = pp.start all_reduce over <["fsdp"]> channel {{[0-9]+}} <norm>
// SHARDED-NEXT: pp.wait
// SHARDED-NEXT: pp.wait %[[N]] :
// SHARDED-NEXT: pp.run @p0_D
// SHARDED-NEXT: pp.run @p0_U_b0
// SHARDED-NEXT: %[[G0:[0-9]+]] = pp.start all_gather over <["fsdp"]> channel [[PARAMS:[0-9]+]] <params, "b0">
// SHARDED-NEXT: pp.run @p0_U_b1
// SHARDED-NEXT: %[[G1:[0-9]+]] = pp.start all_gather over <["fsdp"]> channel [[PARAMS]] <params, "b1">
// SHARDED-NEXT: pp.yield %[[G0]], %[[G1]] : !pp.token, !pp.token
// SHARDED-NEXT: {{^  }$}}
// SHARDED-LABEL: pp.schedule 0 attributes {evaluation
// SHARDED-NEXT: ^bb0(%[[P0:[a-z0-9]+]]: !pp.token, %[[P1:[a-z0-9]+]]: !pp.token):
// SHARDED-NEXT: pp.zero
// SHARDED-NEXT: pp.wait %[[P1]] :
// SHARDED-NEXT: pp.run @s0_F microbatch 0
// SHARDED-NEXT: pp.wait %[[P0]] :
// SHARDED-NEXT: pp.run @s1_F microbatch 0
// SHARDED: %[[D0:[0-9]+]] = pp.done
// SHARDED-NEXT: %[[D1:[0-9]+]] = pp.done
// SHARDED-NEXT: pp.yield %[[D0]], %[[D1]] : !pp.token, !pp.token
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "v" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  pp.return %w : tensor<40xf32>
}
pp.task forward stage 1 @s1_F(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>}, tensor<40xf32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  pp.return %0, %v : tensor<f32>, tensor<40xf32>
}
pp.task backward stage 1 @s1_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
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
