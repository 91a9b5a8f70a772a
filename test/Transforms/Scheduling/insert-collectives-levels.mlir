// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-insert-collectives | FileCheck %s
// RUN: sed 's/^pp.plan {/&zero = 1 : i64, /' %s | ppopt opt --pp-form-buckets --pp-schedule --pp-insert-collectives | FileCheck %s --check-prefix=SHARDED

// On a mesh dp x fsdp gradients are summed in levels: over fsdp each rank gets a chunk, whose sums over dp are then gathered. The next
// level of a bucket starts where the next bucket's sum starts. What is complete only at the reader goes level by level.
// CHECK: pp.run @s1_B microbatch 0
// CHECK-NEXT: pp.start [[B0:[0-9]+]] reduce_scatter over <["fsdp"]> channel [[FIRST:[0-9]+]] @b0
// CHECK-NEXT: pp.run @s0_B microbatch 0
// CHECK-NEXT: pp.start [[B1:[0-9]+]] reduce_scatter over <["fsdp"]> channel [[FIRST]] @b1
// CHECK-NEXT: pp.wait [[B0]]
// CHECK-NEXT: pp.start [[B0:[0-9]+]] all_reduce over <["dp"]> channel [[SHARDS:[0-9]+]] @b0 shard
// CHECK-NEXT: pp.wait [[B0]]
// CHECK-NEXT: pp.start [[B0:[0-9]+]] all_gather over <["fsdp"]> channel [[LAST:[0-9]+]] @b0
// CHECK-NEXT: pp.wait [[B1]]
// CHECK-NEXT: pp.start [[B1:[0-9]+]] all_reduce over <["dp"]> channel [[SHARDS]] @b1 shard
// CHECK-NEXT: pp.wait [[B1]]
// CHECK-NEXT: pp.start [[B1:[0-9]+]] all_gather over <["fsdp"]> channel [[LAST]] @b1
// CHECK-NEXT: pp.wait [[B0]]
// CHECK-NEXT: pp.wait [[B1]]
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
// SHARDED-NEXT: pp.zero
// SHARDED-NEXT: pp.wait [[P1:[0-9]+]] carried
// SHARDED-NEXT: pp.run @s0_F microbatch 0
// SHARDED-NEXT: pp.wait [[P0:[0-9]+]] carried
// SHARDED-NEXT: pp.run @s1_F microbatch 0
// SHARDED: pp.start [[B0:[0-9]+]] all_reduce over <["dp"]> channel [[SHARDS:[0-9]+]] @b0 shard
// SHARDED-NEXT: pp.wait [[B1:[0-9]+]]
// SHARDED-NEXT: pp.start [[B1:[0-9]+]] all_reduce over <["dp"]> channel [[SHARDS]] @b1 shard
// SHARDED-NEXT: pp.wait [[B0]]
// SHARDED-NEXT: pp.wait [[B1]]
// SHARDED-NEXT: pp.run @p0_N microbatch 0
// SHARDED-NEXT: pp.start [[N:[0-9]+]] all_reduce over <["fsdp"]> channel {{[0-9]+}} #pp.role<norm, "norm">
// SHARDED-NEXT: pp.wait
// SHARDED-NEXT: pp.wait [[N]]
// SHARDED-NEXT: pp.run @p0_D
// SHARDED-NEXT: pp.run @p0_U_b0
// SHARDED-NEXT: pp.start [[P0]] all_gather over <["fsdp"]> channel [[PARAMS:[0-9]+]] #pp.role<param_range, "b0">
// SHARDED-NEXT: pp.run @p0_U_b1
// SHARDED-NEXT: pp.start [[P1]] all_gather over <["fsdp"]> channel [[PARAMS]] #pp.role<param_range, "b1">
// SHARDED-NEXT: {{^  }$}}
// SHARDED-LABEL: pp.schedule 0 attributes {evaluation
// SHARDED-NEXT: pp.zero
// SHARDED-NEXT: pp.wait [[P1]] carried
// SHARDED-NEXT: pp.run @s0_F microbatch 0
// SHARDED-NEXT: pp.wait [[P0]] carried
// SHARDED-NEXT: pp.run @s1_F microbatch 0
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "v" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v0">}) {
  pp.return %w : tensor<40xf32>
}
pp.task forward stage 1 @s1_F(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>}, tensor<40xf32> {pp.role = #pp.role<saved, "v1">}) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  pp.return %0, %v : tensor<f32>, tensor<40xf32>
}
pp.task backward stage 1 @s1_B(%a: tensor<40xf32> {pp.role = #pp.role<saved, "v1">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32> {pp.role = #pp.role<saved, "v0">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
