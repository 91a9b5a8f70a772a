// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-decompose-model --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --canonicalize | FileCheck %s

// CHECK: pp.param_decl "w" {{.*}}learns
// CHECK: pp.param_decl "f" {frozen, {{.*}}pp.aliases = ["g", "h"]

// The count is computed once, before the first forward.
// CHECK-LABEL: pp.task prologue @p0_P
// CHECK-SAME: {pp.role = #pp.role<input, "t">
// CHECK-SAME: {pp.count = "targets, ignore_index -1", pp.role = #pp.role<global, "g0">{{.*}} -> (tensor<f32> {pp.role = #pp.role<global, "g0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.accumulate
// CHECK-NOT: "g1"

// One value is saved: relu's result follows from the matmul, the matmul from x and w only at its full cost.
// CHECK-LABEL: pp.task forward stage 0 @s0_F
// CHECK-SAME: tensor<f32> {pp.role = #pp.role<loss, "loss">{{.*}}, tensor<2x3xf32>
// CHECK: %[[M:.*]] = pp.matmul
// CHECK: pp.relu %[[M]]
// CHECK: pp.return %{{.*}}, %{{.*}} : tensor<f32>, tensor<2x3xf32>

// CHECK-LABEL: pp.task backward stage 0 @s0_B
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<2x3xf32>{{( {pp.sharding = [^}]*})?}},
// CHECK-SAME: -> (tensor<2x3xf32> {pp.role = #pp.role<grad, "w">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.token_loss_grad
// CHECK: pp.accumulate
// CHECK-NOT: func.func
// CHECK: pp.step prologue {
// CHECK-NEXT: pp.call @p0_P() : () -> ()
// CHECK: } microbatch {
// CHECK-NEXT: %[[H:.*]] = pp.call @s0_F() : () -> tensor<2x3xf32>
// CHECK-NEXT: pp.call @s0_B(%[[H]]) : (tensor<2x3xf32>) -> ()
// CHECK: } evaluation {
// CHECK-NEXT: pp.call @s0_F() : () -> tensor<2x3xf32>
// CHECK-NEXT: }
func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %f = pp.param "f" {init = #pp.init<ones>, frozen, pp.aliases = ["g", "h"]} : tensor<3xf32>
  %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>
  %1 = pp.relu %0 : tensor<8x3xf32>
  %2 = pp.mul %1, %f : tensor<8x3xf32>, tensor<3xf32>
  %3 = pp.cross_entropy %2, %t {ignore_index = -1 : i64} : tensor<8x3xf32>, tensor<8xi32>
  return %3 : tensor<f32>
}
