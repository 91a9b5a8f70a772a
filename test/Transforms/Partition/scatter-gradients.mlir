// RUN: ppopt opt %s --pp-scatter-gradients --split-input-file --verify-diagnostics | FileCheck %s

// A task adds to zeros, from the first op that adds to a gradient of a bucket on; after the last one the ranks sum them, and the task
// adds its chunk to the accumulator, which is the last argument. Parts are in the bucket's order. Gradients that are not sharded stay.
// CHECK-LABEL: pp.task backward stage 0 @s0_B
// CHECK-SAME: (%[[X:[^:]*]]: tensor<8x8xf32>, %[[U:[^:]*]]: tensor<8x8xf32> {pp.role = #pp.role<grad, "u">},
// CHECK-SAME: %[[B1:[^:]*]]: tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}, %[[B0:[^:]*]]: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
// CHECK-SAME: -> (tensor<8x8xf32>, tensor<8x8xf32> {pp.role = #pp.role<grad, "u">}, tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}, tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
// CHECK-NEXT: %[[G:.*]] = pp.exp %[[X]]
// CHECK-NEXT: %[[R:.*]] = pp.reduce sum %[[G]] [0]
// CHECK-NEXT: %[[Z0:.*]] = pp.zeros : tensor<128xf32>
// CHECK-NEXT: %[[A0:.*]] = pp.slice %[[Z0]] [64] : tensor<128xf32> to tensor<8xf32>
// CHECK-NEXT: %[[V0:.*]] = pp.slice %[[Z0]] [0] : tensor<128xf32> to tensor<64xf32>
// CHECK-NEXT: %[[V1:.*]] = pp.reshape %[[V0]] : tensor<64xf32> to tensor<8x8xf32>
// CHECK-NEXT: %[[A:.*]] = pp.accumulate %[[A0]], %[[R]]
// CHECK-NEXT: %[[U1:.*]] = pp.accumulate %[[U]], %[[G]]
// CHECK-NEXT: %[[Z1:.*]] = pp.zeros : tensor<64xf32>
// CHECK-NEXT: %[[W0:.*]] = pp.reshape %[[Z1]] : tensor<64xf32> to tensor<8x8xf32>
// CHECK-NEXT: %[[W:.*]] = pp.accumulate %[[W0]], %[[G]]
// CHECK-NEXT: %[[J1:.*]] = pp.join %[[Z1]](%[[W]]) at [0] : tensor<64xf32>, tensor<8x8xf32>
// CHECK-NEXT: %[[S1:.*]] = pp.reduce_scatter %[[J1]] over <["dp"]> "b1" : tensor<64xf32> to tensor<32xf32>
// CHECK-NEXT: %[[T1:.*]] = pp.accumulate %[[B1]], %[[S1]] : tensor<32xf32>
// CHECK-NEXT: %[[V2:.*]] = pp.accumulate %[[V1]], %[[G]]
// CHECK-NEXT: %[[V3:.*]] = pp.accumulate %[[V2]], %[[X]]
// CHECK-NEXT: %[[J0:.*]] = pp.join %[[Z0]](%[[V3]], %[[A]]) at [0, 64] : tensor<128xf32>, tensor<8x8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[S0:.*]] = pp.reduce_scatter %[[J0]] over <["dp"]> "b0" : tensor<128xf32> to tensor<64xf32>
// CHECK-NEXT: %[[T0:.*]] = pp.accumulate %[[B0]], %[[S0]] : tensor<64xf32>
// CHECK-NEXT: pp.return %[[G]], %[[U1]], %[[T1]], %[[T0]]
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v", "a"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.bucket @b1 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.bucket @b2 {params = ["u"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<states>}
pp.task backward stage 0 @s0_B(%x: tensor<8x8xf32>, %w: tensor<8x8xf32> {pp.role = #pp.role<grad, "w">}, %a: tensor<8xf32> {pp.role = #pp.role<grad, "a">},
    %u: tensor<8x8xf32> {pp.role = #pp.role<grad, "u">}, %v: tensor<8x8xf32> {pp.role = #pp.role<grad, "v">})
    -> (tensor<8x8xf32> {pp.role = #pp.role<grad, "w">}, tensor<8x8xf32>, tensor<8xf32> {pp.role = #pp.role<grad, "a">}, tensor<8x8xf32> {pp.role = #pp.role<grad, "u">},
    tensor<8x8xf32> {pp.role = #pp.role<grad, "v">}) {
  %0 = pp.exp %x : tensor<8x8xf32>
  %1 = pp.reduce sum %0 [0] : tensor<8x8xf32>
  %2 = pp.accumulate %a, %1 : tensor<8xf32>
  %3 = pp.accumulate %u, %0 : tensor<8x8xf32>
  %4 = pp.accumulate %w, %0 : tensor<8x8xf32>
  %5 = pp.accumulate %v, %0 : tensor<8x8xf32>
  %6 = pp.accumulate %5, %x : tensor<8x8xf32>
  pp.return %4, %0, %2, %3, %6 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// The ranks that have shards sum here, in the type of the accumulators; those with the same shard at the end of the step.
// CHECK-LABEL: pp.task backward_weight stage 0 @s0_W
// CHECK-SAME: tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}
// CHECK: pp.zeros : tensor<128xf32>
// CHECK: pp.reduce_scatter %{{.*}} over <["fsdp"]> "b0" : tensor<128xf32> to tensor<32xf32>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v"], offsets = array<i64: 0>, elements = 128 : i64, type = bf16, shard_group = #pp.group<["fsdp"]>, replica_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task backward_weight stage 0 @s0_W(%x: tensor<100xf32>, %v: tensor<100xf32> {pp.role = #pp.role<grad, "v">}) -> (tensor<100xf32> {pp.role = #pp.role<grad, "v">}) {
  %0 = pp.accumulate %v, %x : tensor<100xf32>
  pp.return %0 : tensor<100xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v", "w"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{returns a gradient of "b0" that it does not accumulate}}
pp.task backward stage 0 @s0_B(%v: tensor<64xf32> {pp.role = #pp.role<grad, "v">}, %w: tensor<64xf32> {pp.role = #pp.role<grad, "w">})
    -> (tensor<64xf32> {pp.role = #pp.role<grad, "v">}, tensor<64xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %v, %v : tensor<64xf32>
  pp.return %0, %w : tensor<64xf32>, tensor<64xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{returns a gradient of "b0" that it does not accumulate}}
pp.task backward stage 0 @s0_B(%v: tensor<64xf32> {pp.role = #pp.role<grad, "v">}) -> (tensor<64xf32> {pp.role = #pp.role<grad, "v">}) {
  %0 = pp.exp %v : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
