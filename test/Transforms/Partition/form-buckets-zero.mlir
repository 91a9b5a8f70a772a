// RUN: sed 's/STAGE/1/' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefixes=CHECK,STATES
// RUN: sed 's/STAGE/2/' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefixes=CHECK,GRADIENTS,TASK
// RUN: sed 's/STAGE/3/' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefixes=CHECK,PARAMETERS,TASK
// RUN: sed 's/STAGE/3 : i64, gather = "step"/' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefixes=CHECK,GRADIENTS,TASK
// RUN: sed 's/STAGE/2 : i64, tied = "owner"/' %s | not ppopt opt --pp-form-buckets --split-input-file 2>&1 | FileCheck %s --check-prefix=OWNER
// RUN: sed 's/STAGE/1 : i64, tied = "owner"/' %s | ppopt opt --pp-form-buckets --split-input-file

// OWNER: error: --zero 2 with --tied owner: places 0, 1 use ["tied"], whose gradients the owner would have to gather; use --tied sum, or --zero 1

// A bucket of one place: the ranks of the axis have shards, the others replicas. Its elements are the same at all stages.
// CHECK: pp.bucket @b0 {elements = 256 : i64, {{.*}}params = ["w"], places = array<i64: 1>, replica_group = #pp.group<["dp"]>, shard_group = #pp.group<["fsdp"]>,
// STATES-SAME: sharded = #pp.sharded_state<states>
// GRADIENTS-SAME: sharded = #pp.sharded_state<gradients>
// PARAMETERS-SAME: sharded = #pp.sharded_state<parameters>

// Of several places: with sharded states these have shards together. Tasks, which sum sharded gradients, can't wait for other places: each place
// has all shards, and those of other places are replicas.
// CHECK: pp.bucket @b1 {elements = 256 : i64, {{.*}}params = ["tied"], places = array<i64: 0, 1>,
// STATES-SAME: replica_group = #pp.group<["dp"]>, shard_group = #pp.group<["fsdp", "pp"] among [0, 1]>, sharded = #pp.sharded_state<states>
// TASK-SAME: replica_group = #pp.group<["dp", "pp"] among [0, 1]>, shard_group = #pp.group<["fsdp"]>,
// GRADIENTS-SAME: sharded = #pp.sharded_state<gradients>
// PARAMETERS-SAME: sharded = #pp.sharded_state<parameters>

// A chunk counts once in the norm: on the first place that has it.
// STATES: pp.task norm @p0_N(%{{[^:]*}}: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}, %{{[^:]*}}: tensor<f64> {pp.role = #pp.role<norm, "norm">})
// TASK: pp.task norm @p0_N(%{{[^:]*}}: tensor<128xf32> {pp.role = #pp.role<grad_range, "b1">}, %{{[^:]*}}: tensor<f64> {pp.role = #pp.role<norm, "norm">})
// CHECK: pp.task decide @p0_D(
// CHECK: pp.task update @p0_U_b1(
// STATES-SAME: tensor<64xf32> {pp.role = #pp.role<param_range, "b1">}, %{{[^:]*}}: tensor<64xf32> {pp.role = #pp.role<state_range, "b1", "momentum">}, %{{[^:]*}}: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}
// TASK-SAME: tensor<128xf32> {pp.role = #pp.role<param_range, "b1">}, %{{[^:]*}}: tensor<128xf32> {pp.role = #pp.role<state_range, "b1", "momentum">}, %{{[^:]*}}: tensor<128xf32> {pp.role = #pp.role<grad_range, "b1">}
// STATES: pp.task norm on 1 @p1_N(%{{[^:]*}}: tensor<128xf32> {pp.role = #pp.role<grad_range, "b0">}, %{{[^:]*}}: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">},
// TASK: pp.task norm on 1 @p1_N(%{{[^:]*}}: tensor<128xf32> {pp.role = #pp.role<grad_range, "b0">}, %{{[^:]*}}: tensor<f64> {pp.role = #pp.role<norm, "norm">})
// Each place updates what it has.
// CHECK: pp.task decide on 1 @p1_D(
// CHECK: pp.task update on 1 @p1_U_b0(
// CHECK: pp.task update on 1 @p1_U_b1(
pp.plan {zero = STAGE : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "tied" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.param_decl "w" {type = tensor<40x5xf32>, init = #pp.init<zeros>, learns, places = array<i64: 1>}
pp.task forward stage 1 on 1 @s1_F(%l: tensor<f64> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f64> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f64>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40x5xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}, {}], sum = {dp, fsdp}>}, %b: tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40x5xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}, {}], sum = {dp, fsdp}>}, tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40x5xf32>
  %1 = pp.accumulate %b, %b : tensor<40xf32>
  pp.return %0, %1 : tensor<40x5xf32>, tensor<40xf32>
}
pp.step

// -----

// Where tasks sum over no axis, each rank has everything. What several places hold is summed over them, and counts once in the norm.
// STATES: pp.bucket @b0 {{.*}}params = ["tied"], places = array<i64: 0, 1>, shard_group = #pp.group<["pp"] among [0, 1]>, sharded = #pp.sharded_state<states>, type
// TASK: pp.bucket @b0 {{.*}}params = ["tied"], places = array<i64: 0, 1>, replica_group = #pp.group<["pp"] among [0, 1]>, type
// STATES: pp.task norm @p0_N(%{{[^:]*}}: tensor<32xf32>
// STATES: pp.task norm on 1 @p1_N(%{{[^:]*}}: tensor<32xf32>
// TASK: pp.task norm @p0_N(%{{[^:]*}}: tensor<64xf32>
// TASK-NOT: pp.task norm
pp.plan {zero = STAGE : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "tied" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%l: tensor<f64> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f64> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f64>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "tied">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "tied">}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "tied">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "tied">}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.step
