// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=1" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %s

// The runtime checks ids of integer inputs only; those that are made of booleans are computed.
// CHECK: pp.input_decl "k"
// CHECK-NOT: ranges
// CHECK-LABEL: pp.task forward stage 0 @s0_F
// CHECK: %[[ID:.*]] = pp.cast %{{.*}} : tensor<2x3xi1> to tensor<2x3xi32>
// CHECK: pp.check_ids %{{.*}}, %[[ID]] {size = 2 : i64}
func.func @main(%k: tensor<4x3xi1> {pp.input = "k"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x5xf32>
  %i = pp.cast %k : tensor<4x3xi1> to tensor<4x3xi32>
  %e = pp.embedding %w, %i : tensor<2x5xf32>, tensor<4x3xi32>
  %l = pp.reduce sum %e [0, 1, 2] : tensor<4x3x5xf32>
  return %l : tensor<f32>
}
