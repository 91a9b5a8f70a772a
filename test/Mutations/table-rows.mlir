// Mutations of look-ups in rows that an axis of the model cuts, and of their gradients.

// RUN: %mutate opt %s --mutate-look-up-at-zero | FileCheck %s --check-prefix=ZERO
// RUN: %mutate opt %s --mutate-look-up-not-masked | FileCheck %s --check-prefix=MASK
// RUN: %mutate opt %s --mutate-scatter-at-zero | FileCheck %s --check-prefix=SCATTER
// RUN: sed 's/ key %key : tensor<15xi64> {tile = #pp.tile<.*]>}//' %s > %t
// RUN: not %mutate opt %t --mutate-look-up-at-zero 2>&1 | FileCheck %s --check-prefix=NO-LOOK-UP
// RUN: not %mutate opt %t --mutate-look-up-not-masked 2>&1 | FileCheck %s --check-prefix=NO-LOOK-UP
// RUN: not %mutate opt %t --mutate-scatter-at-zero 2>&1 | FileCheck %s --check-prefix=NO-SCATTER
// NO-LOOK-UP: error: has no look-up in rows that axes cut to change
// NO-SCATTER: error: has no scatter to rows that axes cut to change

// ZERO: pp.embedding {{.*}} at = 11,
// ZERO: pp.embedding_grad {{.*}} at = 4,

// MASK: %[[ROWS:.*]] = pp.iota %{{.*}} : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = tp, at = 4, parts = 2, period = 32}], [32]>} -> tensor<16xi32>
// MASK: %[[FIRST:.*]] = pp.slice %[[ROWS]] [0] : tensor<16xi32> to tensor<1xi32>
// MASK: %[[SCALAR:.*]] = pp.reshape %[[FIRST]] : tensor<1xi32> to tensor<i32>
// MASK: %[[LOCAL:.*]] = pp.sub %{{.*}}, %[[SCALAR]]
// MASK: pp.embedding %{{.*}}, %[[LOCAL]] : tensor<16x8xf32>, tensor<4xi32>

// SCATTER: pp.embedding {{.*}} at = 4,
// SCATTER: pp.embedding_grad {{.*}} at = 11,
pp.task forward stage 0 @s0_F(%table: tensor<16x8xf32>, %ids: tensor<4xi32>, %key: tensor<15xi64>) -> tensor<4x8xf32> {
  %0 = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 4, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<4xi32>
  pp.return %0 : tensor<4x8xf32>
}
pp.task backward stage 0 @s0_B(%ids: tensor<4xi32>, %dy: tensor<4x8xf32>, %key: tensor<15xi64>) -> tensor<16x8xf32> {
  %0 = pp.embedding_grad %ids, %dy key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 4, parts = 2, period = 32}], [32, 8]>} : tensor<4xi32>, tensor<4x8xf32> to tensor<16x8xf32>
  pp.return %0 : tensor<16x8xf32>
}
