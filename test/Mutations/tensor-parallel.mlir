// Mutations of tasks that exchange values over an axis of the model.

// RUN: %mutate opt %s --mutate-bias-in-each-part | FileCheck %s --check-prefix=BIAS
// RUN: %mutate opt %s --mutate-partial-gradient-scaled | FileCheck %s --check-prefix=SCALED
// RUN: %mutate opt %s --mutate-norm-counts-copies | FileCheck %s --check-prefix=COPIES
// RUN: sed 's/pp.all_reduce %\([a-z]*\) .*/pp.tanh %\1 : tensor<4x8xf32>/; s/1x1x1x1xf64/1x1x2x1xf64/' %s > %t
// RUN: not %mutate opt %t --mutate-bias-in-each-part 2>&1 | FileCheck %s --check-prefix=NO-BIAS
// RUN: not %mutate opt %t --mutate-partial-gradient-scaled 2>&1 | FileCheck %s --check-prefix=NO-SUM
// RUN: not %mutate opt %t --mutate-norm-counts-copies 2>&1 | FileCheck %s --check-prefix=NO-ENTRIES
// NO-BIAS: error: has no bias that is added to a sum over ranks to change
// NO-SUM: error: has no sum over ranks in a backward to change
// NO-ENTRIES: error: has no entries of a norm that do not count to change

// BIAS: pp.task forward stage 0 @s0_F(%[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>
// BIAS-NEXT: %[[ADDED:.*]] = pp.add %[[X]], %[[B]]
// BIAS-NEXT: %[[SUM:.*]] = pp.all_reduce %[[ADDED]]
// BIAS-NEXT: pp.return %[[SUM]]

// SCALED: pp.task backward stage 0 @s0_B(%[[X:.*]]: tensor<4x8xf32>
// SCALED: %[[HALF:.*]] = pp.constant dense<5.000000e-01>
// SCALED: %[[PART:.*]] = pp.mul %[[X]], %[[HALF]]
// SCALED: pp.all_reduce %[[PART]]

// COPIES: pp.task decide
// COPIES: pp.slice %{{.*}} [0, 0, 0, 0] : tensor<2x1x2x1xf64> to tensor<1x1x2x1xf64>
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32>, %b: tensor<8xf32> {pp.role = #pp.role<param, "b">}) -> tensor<4x8xf32> {
  %0 = pp.all_reduce %x over <["tp"]> "pp.matmul at m.mlir:7:8" : tensor<4x8xf32> to tensor<4x8xf32>
  %1 = pp.add %0, %b : tensor<4x8xf32>, tensor<8xf32>
  pp.return %1 : tensor<4x8xf32>
}
pp.task backward stage 0 @s0_B(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.all_reduce %x over <["tp"]> "pp.matmul at m.mlir:7:8" : tensor<4x8xf32> to tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
pp.task decide on 0 @p0_D(%norm: tensor<4xf64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<step_state, "norm_squared">}) {
  %0 = pp.reshape %norm : tensor<4xf64> to tensor<2x1x2x1xf64>
  %1 = pp.slice %0 [0, 0, 0, 0] : tensor<2x1x2x1xf64> to tensor<1x1x1x1xf64>
  %2 = pp.reduce sum %1 [0, 1, 2, 3] : tensor<1x1x1x1xf64>
  pp.return %2 : tensor<f64>
}
