// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-insert-collectives --pp-assign-slots > %t
// RUN: ppopt opt %t --pp-verify-schedule

// Mutations of a sharded step, and what verify-schedule says of each.

// RUN: %mutate opt %t --mutate-norm-before-wait > %t.norm
// RUN: FileCheck %s --check-prefix=NORM < %t.norm
// RUN: not ppopt opt %t.norm --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NORM-REFUSED
// NORM: %[[B0:[0-9]+]] = pp.start all_reduce {{.*}} <grads, "b0"> shard
// NORM: %[[B1:[0-9]+]] = pp.start all_reduce {{.*}} <grads, "b1"> shard
// NORM-NEXT: pp.wait %[[B1]] :
// NORM-NEXT: pp.run @p0_N
// NORM-NEXT: pp.wait %[[B0]] :
// NORM-REFUSED: error: 'pp.run' op reads #pp.buffer<grads, "b0"> while it is being summed over ranks

// RUN: %mutate opt %t --mutate-norm-over-replicas > %t.replicas
// RUN: FileCheck %s --check-prefix=REPLICAS < %t.replicas
// RUN: not ppopt opt %t.replicas --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=REPLICAS-REFUSED
// REPLICAS: pp.start all_reduce over <["dp", "fsdp"]> channel 5 <norm>
// REPLICAS-REFUSED: error: 'pp.start' op sums #pp.buffer<norm> over 4 ranks, and not the 2 that have a part of it

// RUN: %mutate opt %t --mutate-sum-before-last-addition > %t.early
// RUN: FileCheck %s --check-prefix=EARLY < %t.early
// RUN: not ppopt opt %t.early --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EARLY-REFUSED
// EARLY: %[[B0:[0-9]+]] = pp.start reduce_scatter {{.*}} <grads, "b0">
// EARLY-NEXT: pp.wait %[[B0]] :
// EARLY-NEXT: %[[B0:[0-9]+]] = pp.start all_reduce {{.*}} <grads, "b0"> shard
// EARLY-NEXT: pp.wait %[[B0]] :
// EARLY-NEXT: pp.run @s1_B microbatch 1
// EARLY-NEXT: pp.run @s0_B microbatch 1
// EARLY-NEXT: pp.start reduce_scatter {{.*}} <grads, "b1">
// EARLY-REFUSED: error: 'pp.run' op adds to #pp.buffer<grads, "b0">, which is summed already

// RUN: %mutate opt %t --mutate-read-before-gather > %t.reader
// RUN: FileCheck %s --check-prefix=READER < %t.reader
// RUN: not ppopt opt %t.reader --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READER-REFUSED
// READER-COUNT-2: pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<40xf32>{{[[:space:]]+}}pp.wait %arg1 : !pp.token{{[[:space:]]+}}%{{[0-9]+}} = pp.run @s1_F microbatch 0 () slots [{{[01]}}] : () -> tensor<40xf32>{{[[:space:]]+}}pp.wait %arg0 : !pp.token
// READER-REFUSED: error: 'pp.run' op reads #pp.buffer<params, "b1"> while it is being gathered from ranks

// RUN: %mutate opt %t --mutate-gather-left-out > %t.left
// RUN: FileCheck %s --check-prefix=LEFT --implicit-check-not='all_gather {{.*}}"b0"' < %t.left
// RUN: not ppopt opt %t.left --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LEFT-REFUSED
// LEFT: ^bb0(%arg0: !pp.token):
// LEFT-NEXT: pp.zero
// LEFT-NEXT: pp.wait %arg0 :
// LEFT-NEXT: pp.run @s0_F
// LEFT: pp.run @p0_U_b0
// LEFT-NEXT: pp.run @p0_U_b1
// LEFT-NEXT: %[[G:[0-9]+]] = pp.start all_gather {{.*}} <params, "b1">
// LEFT-NEXT: pp.yield %[[G]] : !pp.token
// LEFT: ^bb0(%arg0: !pp.token):
// LEFT-NEXT: pp.zero
// LEFT-NEXT: pp.wait %arg0 :
// LEFT: %[[N:[0-9]+]] = pp.done
// LEFT-NEXT: pp.yield %[[N]] : !pp.token
// LEFT-REFUSED: error: 'pp.schedule' op needs #pp.buffer<params, "b0"> of all ranks, which is not gathered yet

// RUN: %mutate opt %t --mutate-gather-before-update > %t.stale
// RUN: FileCheck %s --check-prefix=STALE < %t.stale
// RUN: not ppopt opt %t.stale --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=STALE-REFUSED
// STALE: pp.start all_gather {{.*}} <params, "b0">
// STALE-NEXT: pp.run @p0_U_b0
// STALE: pp.start all_gather {{.*}} <params, "b1">
// STALE-NEXT: pp.run @p0_U_b1
// STALE-REFUSED: error: 'pp.start' op gathers #pp.buffer<params, "b0">, of which ranks do not have chunks

// Without shards there is nothing to change.
// RUN: sed 's/zero = 1 : i64, //' %s | ppopt opt --pp-form-buckets --pp-schedule --pp-insert-collectives --pp-assign-slots > %t.whole
// RUN: not %mutate opt %t.whole --mutate-norm-over-replicas 2>&1 | FileCheck %s --check-prefix=NO-NORM
// NO-NORM: error: has no norm of chunks that several ranks have to change
// RUN: not %mutate opt %t.whole --mutate-read-before-gather 2>&1 | FileCheck %s --check-prefix=NO-WAIT
// NO-WAIT: error: has no wait for gathered parameters to change
// RUN: not %mutate opt %t.whole --mutate-gather-left-out 2>&1 | FileCheck %s --check-prefix=NO-GATHER
// NO-GATHER: error: has no gather of parameters to change
// RUN: not %mutate opt %t.whole --mutate-gather-before-update 2>&1 | FileCheck %s --check-prefix=NO-UPDATED
// NO-UPDATED: error: has no gather of updated parameters to change
// RUN: not %mutate opt %t --mutate-gather-not-on-place 2>&1 | FileCheck %s --check-prefix=NO-PLACES
// NO-PLACES: error: has no gather of several places to change
// RUN: sed '/pp.start/d; /pp.wait/d' %t.whole > %t.none
// RUN: not %mutate opt %t.none --mutate-norm-before-wait 2>&1 | FileCheck %s --check-prefix=NO-SUM
// NO-SUM: error: has no sum of gradients that a norm reads to change
// RUN: not %mutate opt %t.none --mutate-sum-before-last-addition 2>&1 | FileCheck %s --check-prefix=NO-ADDITION
// NO-ADDITION: error: has no sum of gradients that a place sums by itself to change
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, zero = 1 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
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
