// Mutations of tasks that exchange rows of the batch, or sums over them.

// RUN: %mutate opt %s --mutate-statistics-of-one-rank | FileCheck %s --check-prefix=STATISTICS
// RUN: %mutate opt %s --mutate-rows-not-scattered | FileCheck %s --check-prefix=ROWS
// RUN: %mutate opt %s --mutate-share-not-divided | FileCheck %s --check-prefix=SHARE
// RUN: sed 's/schedule/by_microbatch, schedule/' %s | %mutate opt --mutate-ranks-outermost | FileCheck %s --check-prefix=OUTERMOST
// RUN: not %mutate opt %s --mutate-ranks-outermost 2>&1 | FileCheck %s --check-prefix=NOT-INNER
// RUN: sed 's/pp.all_reduce %\([a-z]*\) .*/pp.tanh %\1 : tensor<4x8xf32>/; s/pp.reduce_scatter %\([a-z]*\) .*/pp.slice %\1 [0] : tensor<32xf32> to tensor<16xf32>/; s/dense<0.5>/dense<2.0>/' %s > %t
// RUN: not %mutate opt %t --mutate-statistics-of-one-rank 2>&1 | FileCheck %s --check-prefix=NO-SUM
// RUN: not %mutate opt %t --mutate-rows-not-scattered 2>&1 | FileCheck %s --check-prefix=NO-ROWS
// RUN: not %mutate opt %t --mutate-share-not-divided 2>&1 | FileCheck %s --check-prefix=NO-SHARE
// OUTERMOST: pp.plan {batch = 4 : i64, mesh
// NOT-INNER: error: has no plan by microbatch to change
// NO-SUM: error: has no sum over ranks to change
// NO-ROWS: error: has no sum of which ranks have their rows to change
// NO-SHARE: error: has no share of each part of the batch to change

// STATISTICS: pp.task forward stage 0 @s0_F(%[[X:.*]]: tensor<4x8xf32>) ->
// STATISTICS-NOT: pp.all_reduce
// STATISTICS: %[[COUNT:.*]] = pp.constant dense<2.000000e+00>
// STATISTICS-NEXT: %[[SUM:.*]] = pp.mul %[[X]], %[[COUNT]]
// STATISTICS-NEXT: pp.return %[[SUM]]

// ROWS: pp.task backward stage 0 @s0_B
// ROWS-NOT: pp.reduce_scatter
// ROWS: pp.slice %{{.*}} [0] : tensor<32xf32> to tensor<16xf32>

// SHARE: pp.task backward stage 0 @s0_B(%{{.*}}: tensor<32xf32>, %[[W:.*]]: tensor<8xf32>)
// SHARE-NOT: pp.mul
// SHARE: pp.return %{{.*}}, %[[W]]
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {collectives = [#pp.task_collective<<all_reduce> over <["dp"]> channel 0 "pp.reduce at m.mlir:7:8" of 32 x f32>]} {
  %0 = pp.all_reduce %x over <["dp"]> "pp.reduce at m.mlir:7:8" : tensor<4x8xf32> to tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
pp.task backward stage 0 @s0_B(%x: tensor<32xf32>, %w: tensor<8xf32>) -> (tensor<16xf32>, tensor<8xf32>) attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 0 "pp.matmul at m.mlir:7:8" of 32 x f32>]} {
  %0 = pp.reduce_scatter %x over <["dp"]> "pp.matmul at m.mlir:7:8" : tensor<32xf32> to tensor<16xf32>
  %half = pp.constant dense<0.5> : tensor<f32>
  %1 = pp.mul %w, %half : tensor<8xf32>, tensor<f32>
  pp.return %0, %1 : tensor<16xf32>, tensor<8xf32>
}
