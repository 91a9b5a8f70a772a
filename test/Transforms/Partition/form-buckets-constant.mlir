// RUN: ppopt opt %s --pp-form-buckets --split-input-file | FileCheck %s
// RUN: sed 's/zero = 3/zero = 2/' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefix=WHOLE
// RUN: sed 's/zero = 3 : i64/zero = 3 : i64, gather = "step"/' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefix=WHOLE

// WHOLE-NOT: pp.bucket {{.*}}constant

// Where ranks shard parameters, those that nothing updates are in buckets too, over the axis that shards alone: no gradients are summed. They are in the
// order in which stages read them; different stages, places or types that are read are different buckets, and what nothing reads has its own. A factor of
// the learning rate or of the decay says nothing of what is not updated.
// CHECK: pp.bucket @b0 {elements = 128 : i64, lr_scale = 1.000000e-01 : f64, offsets = array<i64: 0>, params = ["w"], places = array<i64: 1>, replica_group = #pp.group<["dp"]>, shard_group = #pp.group<["fsdp"]>, sharded = #pp.sharded_state<parameters>, type = f32}
// CHECK: pp.bucket @b1 {constant, elements = 128 : i64, offsets = array<i64: 0, 64>, params = ["second", "first"], shard_group = #pp.group<["fsdp"]>, sharded = #pp.sharded_state<parameters>, type = f32}
// CHECK: pp.bucket @b2 {constant, elements = 64 : i64, offsets = array<i64: 0>, params = ["both"], places = array<i64: 0, 1>, shard_group = #pp.group<["fsdp"]>, sharded = #pp.sharded_state<parameters>, type = f32}
// CHECK: pp.bucket @b3 {constant, elements = 64 : i64, offsets = array<i64: 0>, params = ["unread"], places = array<i64: 1>, shard_group = #pp.group<["fsdp"]>, sharded = #pp.sharded_state<parameters>, type = f32}
// They are in no norm, and have no update.
// CHECK: pp.task norm on 1 @p1_N(%{{[^:]*}}: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %{{[^:]*}}: tensor<f64>
// CHECK: pp.task update on 1 @p1_U_b0(
// CHECK-NOT: pp.task update
pp.plan {zero = 3 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "first" {type = tensor<40xf32>, init = #pp.init<zeros>, frozen, places = array<i64: 0>}
pp.param_decl "unread" {type = tensor<40xf32>, init = #pp.init<zeros>, places = array<i64: 1>}
pp.param_decl "second" {type = tensor<40xf32>, init = #pp.init<zeros>, frozen, lr_scale = 0.5 : f64, places = array<i64: 0>}
pp.param_decl "both" {type = tensor<40xf32>, init = #pp.init<zeros>, frozen, places = array<i64: 0, 1>}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, lr_scale = 0.1 : f64, places = array<i64: 1>}
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<param, "first">}, %b: tensor<40xf32> {pp.role = #pp.role<param, "second">}, %c: tensor<40xf32> {pp.role = #pp.role<param, "both">}) -> tensor<40xf32> {
  %0 = pp.exp %b : tensor<40xf32>
  %1 = pp.add %0, %a : tensor<40xf32>, tensor<40xf32>
  %2 = pp.add %1, %c : tensor<40xf32>, tensor<40xf32>
  pp.return %2 : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%c: tensor<40xf32> {pp.role = #pp.role<param, "both">}, %l: tensor<f64> {pp.role = #pp.role<loss, "loss">}) -> (tensor<40xf32>, tensor<f64> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.exp %c : tensor<40xf32>
  pp.return %0, %l : tensor<40xf32>, tensor<f64>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.step

// -----

// A program in which nothing learns, as one that predicts.
// CHECK: pp.bucket @b0 {constant, elements = 64 : i64, offsets = array<i64: 0>, params = ["w"], shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>, type = f32}
// CHECK: pp.task forward stage 0 @predicts(
// CHECK-NOT: pp.task
pp.plan {zero = 3 : i64, mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, places = array<i64: 0>}
pp.task forward stage 0 @predicts(%a: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  %0 = pp.exp %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.step
