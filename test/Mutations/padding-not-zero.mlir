// RUN: ppopt opt %s --pp-verify-tasks
// RUN: %mutate opt %s --mutate-padding-not-zero > %t
// RUN: FileCheck %s < %t
// RUN: not ppopt opt %t --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/tensor<100xf32>/tensor<128xf32>/g' %s | not %mutate opt --mutate-padding-not-zero 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: %[[Z:.*]] = pp.zeros
// CHECK: %[[W:.*]] = pp.accumulate
// CHECK: %[[ONES:.*]] = pp.broadcast
// CHECK: %[[P:.*]] = pp.slice %[[Z]] [112] : tensor<128xf32> to tensor<16xf32>
// CHECK: %[[Q:.*]] = pp.accumulate %[[P]], %[[ONES]]
// CHECK: pp.join %[[Z]](%[[W]], %[[Q]]) at [0, 112]
// REFUSED: error: 'pp.join' op is of elements 112 to 128 of "b0", which are not those of one parameter: take them at its offset
// NONE: error: has no padding that a task sums to change
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task forward stage 0 @s0_F(%w: tensor<100xf32> {pp.role = #pp.role<param, "w">}) -> tensor<100xf32> {
  pp.return %w : tensor<100xf32>
}
pp.task backward stage 0 @s0_B(%w: tensor<100xf32>, %g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.slice %0 [0] : tensor<128xf32> to tensor<100xf32>
  %2 = pp.accumulate %1, %w : tensor<100xf32>
  %3 = pp.join %0(%2) at [0] : tensor<128xf32>, tensor<100xf32>
  %4 = pp.reduce_scatter %3 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %5 = pp.accumulate %g, %4 : tensor<64xf32>
  pp.return %5 : tensor<64xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<100xf32>
  pp.call @s0_B(%0) : (tensor<100xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<100xf32>
}
