// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=1" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %s

// Ids of the data are checked by the runtime, each part against what it indexes; computed ones by the task.
// CHECK: pp.input_decl "p" {pp.sharding = #pp.sharding<[{dp}, {}]>, ranges = [#pp.id_range<[0], [1], 5, "pp.embedding at {{.*}}">, #pp.id_range<[1], [2], 7, "pp.embedding at {{.*}}">]
// CHECK-LABEL: pp.task forward stage 0 @s0_F
// CHECK-SAME: tensor<i64> {pp.id_range = #pp.id_range<[], [], 7, "pp.embedding at {{.*}}">, pp.role = #pp.role<check, "s0_F.c0">}
// CHECK: %[[ID:.*]] = pp.add
// CHECK: %[[NOTED:.*]] = pp.check_ids %{{.*}}, %[[ID]] {size = 7 : i64}
// CHECK: %[[BAD:.*]] = pp.compare ne %[[NOTED]]
// CHECK: %[[POISON:.*]] = pp.select %[[BAD]]
// CHECK: pp.accumulate %{{.*}}, %[[POISON]]
// CHECK-NOT: pp.check_ids
// CHECK-LABEL: pp.task backward stage 0 @s0_B
func.func @main(%p: tensor<4x2xi32> {pp.input = "p"}) -> tensor<f32> {
  %wa = pp.param "wa" {init = #pp.init<zeros>} : tensor<5x3xf32>
  %wb = pp.param "wb" {init = #pp.init<zeros>} : tensor<7x3xf32>
  %one = pp.constant dense<1> : tensor<i32>
  %u = pp.slice %p [0, 0] : tensor<4x2xi32> to tensor<4x1xi32>
  %v = pp.slice %p [0, 1] : tensor<4x2xi32> to tensor<4x1xi32>
  %w = pp.add %v, %one : tensor<4x1xi32>, tensor<i32>
  %a = pp.embedding %wa, %u : tensor<5x3xf32>, tensor<4x1xi32>
  %b = pp.embedding %wb, %v : tensor<7x3xf32>, tensor<4x1xi32>
  %c = pp.embedding %wb, %w : tensor<7x3xf32>, tensor<4x1xi32>
  %d = pp.mul %a, %b : tensor<4x1x3xf32>, tensor<4x1x3xf32>
  %e = pp.mul %d, %c : tensor<4x1x3xf32>, tensor<4x1x3xf32>
  %l = pp.reduce sum %e [0, 1, 2] : tensor<4x1x3xf32>
  return %l : tensor<f32>
}
