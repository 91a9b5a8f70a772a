// Mutations of what ranks send in parts to another place.

// RUN: %mutate opt %s --mutate-sent-part-at-zero | FileCheck %s --check-prefix=SENT
// RUN: %mutate opt %s --mutate-received-not-gathered | FileCheck %s --check-prefix=GATHERED
// RUN: sed '/s0_F/,/^}/d' %s | not %mutate opt --mutate-sent-part-at-zero 2>&1 | FileCheck %s --check-prefix=NOT-SENT
// RUN: sed '/s1_F/,/^}/d' %s | not %mutate opt --mutate-received-not-gathered 2>&1 | FileCheck %s --check-prefix=NOT-GATHERED
// NOT-SENT: error: has no part of a value that a task makes to change
// NOT-GATHERED: error: has no gather of a value that a task takes to change

// SENT: pp.own_part {{.*}} {at = 11 : i64, dim = 0 : i64}
// GATHERED: pp.task forward stage 1 @s1_F(%[[X:.*]]: tensor<2x8xf32>
// GATHERED: %[[FLAT:.*]] = pp.reshape %[[X]]
// GATHERED: pp.concat
// GATHERED-NOT: pp.all_gather
pp.plan {mesh = [#pp.axis<"pp" = 2>, #pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 on 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}, %key: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}) -> tensor<2x8xf32> {
  %0 = pp.reshape %x : tensor<4x8xf32> to tensor<2x2x8xf32>
  %1 = pp.own_part %0 key %key : tensor<15xi64> {at = 5 : i64, dim = 0 : i64} : tensor<2x2x8xf32> to tensor<1x2x8xf32>
  %2 = pp.reshape %1 : tensor<1x2x8xf32> to tensor<2x8xf32>
  pp.return %2 : tensor<2x8xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<2x8xf32>) -> tensor<4x8xf32> attributes {collectives = [#pp.task_collective<<all_gather> over <["tp"]> channel 0 "pp.tanh at m.mlir:7:8" of 32 x f32>]} {
  %0 = pp.reshape %x : tensor<2x8xf32> to tensor<16xf32>
  %1 = pp.all_gather %0 over <["tp"]> "pp.tanh at m.mlir:7:8" : tensor<16xf32> to tensor<32xf32>
  %2 = pp.reshape %1 : tensor<32xf32> to tensor<4x8xf32>
  pp.return %2 : tensor<4x8xf32>
}
