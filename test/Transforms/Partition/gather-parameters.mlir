// RUN: ppopt opt %s --pp-gather-parameters --split-input-file | FileCheck %s

// A task has this rank's chunk of each bucket instead of its parameters, after its other operands, and gathers it before the first op
// that reads a parameter of it. Buckets are in the order of the signature. What is not sharded so stays as it is.
// CHECK-LABEL: pp.task forward stage 0 @s0_F
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}, %[[U:[^:]*]]: tensor<8xf32> {pp.role = #pp.role<param, "u">}, %[[F:[^:]*]]: tensor<8xf32> {pp.role = #pp.role<param, "f">},
// CHECK-SAME: %[[B1:[^:]*]]: tensor<32xf32> {pp.role = #pp.role<param_range, "b1">}, %[[B0:[^:]*]]: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) ->
// CHECK-NEXT: %[[X0:.*]] = pp.exp %[[X]]
// CHECK-NEXT: %[[W0:.*]] = pp.all_gather %[[B0]] over <["dp"]> "b0" : tensor<64xf32> to tensor<128xf32>
// CHECK-NEXT: %[[V0:.*]] = pp.slice %[[W0]] [0] : tensor<128xf32> to tensor<64xf32>
// CHECK-NEXT: %[[V:.*]] = pp.reshape %[[V0]] : tensor<64xf32> to tensor<8x8xf32>
// CHECK-NEXT: %[[A0:.*]] = pp.slice %[[W0]] [64] : tensor<128xf32> to tensor<8xf32>
// CHECK-NEXT: %[[X1:.*]] = pp.matmul %[[X0]], %[[V]]
// CHECK-NEXT: %[[X2:.*]] = pp.add %[[X1]], %[[U]]
// CHECK-NEXT: %[[X3:.*]] = pp.add %[[X2]], %[[F]]
// CHECK-NEXT: %[[W1:.*]] = pp.all_gather %[[B1]] over <["dp"]> "b1" : tensor<32xf32> to tensor<64xf32>
// CHECK-NEXT: %[[W:.*]] = pp.reshape %[[W1]] : tensor<64xf32> to tensor<8x8xf32>
// CHECK-NEXT: %[[X4:.*]] = pp.matmul %[[X3]], %[[W]]
// CHECK-NEXT: %[[X5:.*]] = pp.add %[[X4]], %[[A0]]
// CHECK-NEXT: pp.return %[[X5]]
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v", "a"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.bucket @b1 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.bucket @b2 {params = ["u"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<8x8xf32> {pp.role = #pp.role<param, "w">}, %u: tensor<8xf32> {pp.role = #pp.role<param, "u">},
    %v: tensor<8x8xf32> {pp.role = #pp.role<param, "v">}, %f: tensor<8xf32> {pp.role = #pp.role<param, "f">}, %a: tensor<8xf32> {pp.role = #pp.role<param, "a">})
    -> tensor<4x8xf32> {
  %0 = pp.exp %x : tensor<4x8xf32>
  %1 = pp.matmul %0, %v : tensor<4x8xf32>, tensor<8x8xf32>
  %2 = pp.add %1, %u : tensor<4x8xf32>, tensor<8xf32>
  %3 = pp.add %2, %f : tensor<4x8xf32>, tensor<8xf32>
  %4 = pp.matmul %3, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %5 = pp.add %4, %a : tensor<4x8xf32>, tensor<8xf32>
  pp.return %5 : tensor<4x8xf32>
}
// What nobody reads is not gathered.
// CHECK-LABEL: pp.task forward stage 1 @s1_F
// CHECK-SAME: (%[[L:[^:]*]]: tensor<f32> {pp.role = #pp.role<loss, "loss">}) ->
// CHECK-NEXT: pp.return %[[L]]
pp.task forward stage 1 @s1_F(%w: tensor<8x8xf32> {pp.role = #pp.role<param, "w">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
// An update has its chunk, and gathers nothing.
// CHECK-LABEL: pp.task update @p0_U_b1
// CHECK-SAME: (%[[P:[^:]*]]: tensor<32xf32> {pp.role = #pp.role<param_range, "b1">})
// CHECK-NEXT: pp.return %[[P]]
pp.task update @p0_U_b1(%p: tensor<32xf32> {pp.role = #pp.role<param_range, "b1">}) -> (tensor<32xf32> {pp.role = #pp.role<param_range, "b1">}) {
  pp.return %p : tensor<32xf32>
}

// -----

// The group is the bucket's: the ranks that have shards, not those with the same ones.
// CHECK-LABEL: pp.task backward stage 0 @s0_B
// CHECK-SAME: tensor<32xbf16> {pp.role = #pp.role<param_range, "b0">}
// CHECK: pp.all_gather %{{.*}} over <["fsdp"]> "b0" : tensor<32xbf16> to tensor<128xbf16>
// CHECK-NOT: pp.all_gather
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v"], offsets = array<i64: 0>, elements = 128 : i64, type = bf16, shard_group = #pp.group<["fsdp"]>, replica_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task backward stage 0 @s0_B(%v: tensor<100xbf16> {pp.role = #pp.role<param, "v">}) -> (tensor<100xbf16>, tensor<100xbf16>) {
  %0 = pp.exp %v : tensor<100xbf16>
  %1 = pp.mul %v, %v : tensor<100xbf16>, tensor<100xbf16>
  pp.return %0, %1 : tensor<100xbf16>, tensor<100xbf16>
}
