// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1 microbatches=2" --pp-decompose-model --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-shard --pp-split-tasks --pp-form-buckets --pp-verify-tasks --pp-schedule --pp-insert-collectives --pp-assign-slots --pp-verify-schedule -o %t
// RUN: FileCheck %s < %t
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1 microbatches=2 schedule=zb-h1" --pp-decompose-model --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-shard --pp-split-tasks | FileCheck %s --check-prefix=SPLIT
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1 microbatches=2 launch=local" --pp-decompose-model --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-shard --pp-split-tasks --pp-schedule-local | FileCheck %s --check-prefix=ORDER
// RUN: sed 's/pp.run @s0_L microbatch 1 (.*)//' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MISSING

// The forward has one matmul, and saves what the last matmul reads: for the backward, and for evaluation's loss.

// CHECK-LABEL: pp.task forward stage 0 @s0_F(
// CHECK-SAME: -> {{\(?}}tensor<4x4xf32>{{( {pp.sharding = #pp.sharding<[^>]*>})?\)?}} {
// CHECK: pp.matmul
// CHECK-NOT: pp.matmul
// CHECK: pp.return

// CHECK-LABEL: pp.task loss stage 0 @s0_L(
// CHECK-SAME: %{{[a-z0-9]*}}: tensor<4x4xf32>
// CHECK-SAME: {pp.role = #pp.role<global, "g0">
// CHECK-SAME: -> (tensor<f32> {pp.role = #pp.role<loss, "loss">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.matmul
// CHECK: pp.token_loss
// CHECK: pp.accumulate
// CHECK: pp.return

// CHECK-LABEL: pp.task backward stage 0 @s0_B(
// CHECK-SAME: tensor<f32> {pp.role = #pp.role<loss, "loss">
// CHECK: %[[Z:.*]] = pp.matmul
// CHECK: pp.token_loss %[[Z]]
// CHECK: pp.token_loss_grad %[[Z]]

// Training runs no loss task, evaluation one after each forward.

// CHECK: pp.schedule 0 attributes {slots
// CHECK-NOT: @s0_L
// CHECK: pp.schedule 0 attributes {evaluation
// CHECK: pp.run @s0_F microbatch 0
// CHECK-NEXT: pp.run @s0_L microbatch 0
// CHECK-NEXT: pp.run @s0_F microbatch 1
// CHECK-NEXT: pp.run @s0_L microbatch 1

// MISSING: error: 'pp.schedule' op never runs @s0_L on microbatch 1

// With the backward split, the input part makes the loss, and hands the gradient of the logits on.

// SPLIT-LABEL: pp.task backward_input stage 0 @s0_I(
// SPLIT-SAME: #pp.role<loss, "loss">
// SPLIT: pp.token_loss_grad
// SPLIT-LABEL: pp.task backward_weight stage 0 @s0_W(
// SPLIT-NOT: #pp.role<loss
// SPLIT-NOT: pp.token_loss
// SPLIT: pp.return

// ORDER: pp.schedule local attributes {slot_places
// ORDER-NOT: @s0_L
// ORDER: pp.schedule local attributes {evaluation
// ORDER: pp.run @s0_F microbatch 0
// ORDER-NEXT: pp.run @s0_L microbatch 0
// ORDER-NEXT: pp.run @s0_F microbatch 1
// ORDER-NEXT: pp.run @s0_L microbatch 1
func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x4xf32>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<4x3xf32>
  %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
  %1 = pp.relu %0 : tensor<8x4xf32>
  %2 = pp.matmul %1, %v : tensor<8x4xf32>, tensor<4x3xf32>
  %3 = pp.cross_entropy %2, %t {ignore_index = -1 : i64} : tensor<8x3xf32>, tensor<8xi32>
  return %3 : tensor<f32>
}
