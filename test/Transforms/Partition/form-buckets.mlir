// RUN: ppopt opt %s --pp-form-buckets --split-input-file | FileCheck %s
// RUN: sed 's/role<loss,/role<global,/g' %s | not ppopt opt --pp-form-buckets --split-input-file 2>&1 | FileCheck %s --check-prefix=NO-LOSS
// NO-LOSS: error: 'pp.plan' op has parameters to update, and no task has a loss

// RUN: sed 's/^pp.plan {/&zero = 1 : i64, /' %s | ppopt opt --pp-form-buckets --split-input-file | FileCheck %s --check-prefix=SHARDED
// RUN: sed 's/, sum = {dp}//' %s | not ppopt opt --pp-form-buckets --split-input-file 2>&1 | FileCheck %s --check-prefix=NO-SUM
// NO-SUM: error: 'pp.bucket' op the gradients of ["early"] are no sums over 'dp', which splits the batch: they do not depend on the batch

// Ready first, first in; what decay leaves alone is apart; a bucket closes when it is full; padded for dp.
// CHECK: pp.bucket @b0 {elements = 128 : i64, offsets = array<i64: 0>, params = ["late"], shard_group = #pp.group<["dp"]>, type
// CHECK: pp.bucket @b1 {elements = 128 : i64, offsets = array<i64: 0>, params = ["early"]
// CHECK: pp.bucket @b2 {decay_scale = 0.000000e+00 : f64, elements = 128 : i64, offsets = array<i64: 0>, params = ["bias"]
// CHECK: pp.task norm @p0_N(%{{.*}}: tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}
// CHECK: pp.cast %{{.*}} : tensor<32xf32> to tensor<32xf64>
// An update keeps the bits of what it has if a count is zero, or the loss or the norm is not finite.
// CHECK: pp.task decide @p0_D(%[[COUNT:[^:]*]]: tensor<i64> {pp.role = #pp.role<global, "g0">}, %[[LOSS:[^:]*]]: tensor<f32> {pp.role = #pp.role<loss, "loss">},
// CHECK-SAME: %[[SQUARES:[^:]*]]: tensor<4xf64> {pp.role = #pp.role<norm, "norm">}, %[[CLIP:[^:]*]]: tensor<f64> {pp.role = #pp.role<step_state, "clip">})
// CHECK-SAME: -> (tensor<f64> {pp.role = #pp.role<step_state, "clip_scale">}, tensor<f64> {pp.role = #pp.role<step_state, "hold">}, tensor<f64> {pp.role = #pp.role<step_state, "norm_squared">})
// CHECK: %[[ONE:.*]] = pp.constant dense<1.000000e+00> : tensor<f64>
// CHECK: %[[NONE:.*]] = pp.constant dense<0.000000e+00> : tensor<f64>
// CHECK: %[[COUNTS:.*]] = pp.compare ne %[[COUNT]], %{{.*}} : tensor<i64>, tensor<i64>
// CHECK: %[[H0:.*]] = pp.select %[[COUNTS]], %[[NONE]], %[[ONE]]
// CHECK: %[[INF:.*]] = pp.constant dense<0x7F800000> : tensor<f32>
// CHECK: %[[ABS:.*]] = pp.abs %[[LOSS]]
// CHECK: %[[FINITE:.*]] = pp.compare lt %[[ABS]], %[[INF]] : tensor<f32>, tensor<f32>
// CHECK: %[[H1:.*]] = pp.select %[[FINITE]], %[[H0]], %[[ONE]]
// CHECK: %[[ALL:.*]] = pp.reduce sum %[[SQUARES]] [0]
// CHECK: %[[SUM:.*]] = pp.add %[[ALL]], %
// CHECK: %[[NORM:.*]] = pp.sqrt %[[SUM]] : tensor<f64>
// CHECK: %[[INF:.*]] = pp.constant dense<0x7FF0000000000000> : tensor<f64>
// CHECK: %[[ABS:.*]] = pp.abs %[[NORM]]
// CHECK: %[[FINITE:.*]] = pp.compare lt %[[ABS]], %[[INF]] : tensor<f64>, tensor<f64>
// CHECK: %[[HOLD:.*]] = pp.select %[[FINITE]], %[[H1]], %[[ONE]]
// CHECK: %[[RATIO:.*]] = pp.div %[[CLIP]], %[[NORM]]
// CHECK: %[[LARGE:.*]] = pp.compare gt %[[NORM]], %[[CLIP]]
// CHECK: %[[CLIPPED:.*]] = pp.select %[[LARGE]], %[[RATIO]], %[[ONE]]
// CHECK: %[[UPDATES:.*]] = pp.compare eq %[[HOLD]], %
// CHECK: %[[SCALE:.*]] = pp.select %[[UPDATES]], %[[CLIPPED]], %[[ONE]]
// CHECK: pp.return %[[SCALE]], %[[HOLD]], %[[SUM]]
// CHECK: pp.task update @p0_U_b0
// CHECK-SAME: #pp.role<state_range, "b0", "m">
// CHECK-SAME: #pp.role<step_state, "weight_decay">
// CHECK-SAME: %[[HOLD:[^:]*]]: tensor<f64> {pp.role = #pp.role<step_state, "hold">}
// CHECK: %[[HELD:.*]] = pp.compare ne %[[HOLD]], %{{.*}} : tensor<f64>, tensor<f64>
// CHECK-COUNT-3: pp.select %[[HELD]], %
// CHECK-NEXT: pp.return
// CHECK: pp.task update @p0_U_b2
// CHECK-NOT: weight_decay

// Sharded, buckets and chunks are the same. The update of a rank is of its chunk.
// SHARDED: pp.bucket @b0 {elements = 128 : i64, offsets = array<i64: 0>, params = ["late"], shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<states>, type
// SHARDED: pp.task norm @p0_N(%{{.*}}: tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}
// SHARDED: pp.task update @p0_U_b0(%{{.*}}: tensor<32xf32> {pp.role = #pp.role<param_range, "b0">}, %{{.*}}: tensor<32xf32> {pp.role = #pp.role<state_range, "b0", "m">}
pp.plan {bucket_bytes = 160 : i64, mesh = [#pp.axis<"dp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "adamw", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "early" {type = tensor<5x7xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "late" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "bias" {type = tensor<3xf32>, init = #pp.init<zeros>, no_decay, learns}
pp.param_decl "frozen" {type = tensor<3xf32>, init = #pp.init<zeros>, frozen}
pp.task prologue @p0_P(%g: tensor<i64> {pp.count = "targets", pp.role = #pp.role<global, "g0">}, %h: tensor<f32> {pp.role = #pp.role<global, "g1">})
    -> (tensor<i64> {pp.role = #pp.role<global, "g0">}, tensor<f32> {pp.role = #pp.role<global, "g1">}) {
  pp.return %g, %h : tensor<i64>, tensor<f32>
}
pp.task forward stage 0 @s0_F(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.task backward stage 0 @s0_B(%a: tensor<5x7xf32> {pp.role = #pp.role<grad, "early">, pp.sharding = #pp.sharding<[{}, {}], sum = {dp}>}, %b: tensor<40xf32> {pp.role = #pp.role<grad, "late">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, %c: tensor<3xf32> {pp.role = #pp.role<grad, "bias">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<5x7xf32> {pp.role = #pp.role<grad, "early">, pp.sharding = #pp.sharding<[{}, {}], sum = {dp}>}, tensor<40xf32> {pp.role = #pp.role<grad, "late">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, tensor<3xf32> {pp.role = #pp.role<grad, "bias">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %b, %b : tensor<40xf32>
  %1 = pp.accumulate %c, %c : tensor<3xf32>
  %2 = pp.accumulate %a, %a : tensor<5x7xf32>
  pp.return %2, %0, %1 : tensor<5x7xf32>, tensor<40xf32>, tensor<3xf32>
}
pp.step

// -----

// What two places hold is in a bucket of its own, which is cut into a chunk for each of their ranks: each place counts its chunks, all update it. The stage
// that comes last in the model is ready first. Place 2 holds no bucket of its own.
// CHECK: pp.bucket @b0 {{.*}} params = ["last"], places = array<i64: 1>
// CHECK: pp.bucket @b1 {{.*}} params = ["tied"], places = array<i64: 0, 1, 2>, shard_group = #pp.group<["dp", "pp"] among [0, 1, 2]>
// CHECK: pp.bucket @b2 {{.*}} params = ["first"]
// CHECK: pp.task norm @p0_N(
// CHECK-SAME: #pp.role<grad_range, "b1">
// CHECK-SAME: #pp.role<grad_range, "b2">
// CHECK: pp.task update @p0_U_b1(
// CHECK: pp.task update @p0_U_b2(
// CHECK: pp.task norm on 1 @p1_N(%{{[^:]*}}: tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}, %{{[^:]*}}: tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}, %{{[^:]*}}: tensor<f64> {pp.role = #pp.role<norm, "norm">})
// CHECK: pp.task update on 1 @p1_U_b0(
// CHECK: pp.task update on 1 @p1_U_b1(
// CHECK: pp.task norm on 2 @p2_N(%{{[^:]*}}: tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}
// CHECK: pp.task decide on 2 @p2_D(
// CHECK: pp.task update on 2 @p2_U_b1(
pp.plan {bucket_bytes = 160 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "first" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "tied" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1, 2>}
pp.param_decl "last" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 1>}
pp.task forward stage 1 on 1 @s1_F(%l: tensor<f64> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f64> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f64>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, %b: tensor<40xf32> {pp.role = #pp.role<grad, "first">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, tensor<40xf32> {pp.role = #pp.role<grad, "first">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  %1 = pp.accumulate %b, %b : tensor<40xf32>
  pp.return %0, %1 : tensor<40xf32>, tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, %b: tensor<40xf32> {pp.role = #pp.role<grad, "last">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "tied">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, tensor<40xf32> {pp.role = #pp.role<grad, "last">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  %1 = pp.accumulate %b, %b : tensor<40xf32>
  pp.return %0, %1 : tensor<40xf32>, tensor<40xf32>
}
pp.step
