// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan="recompute=none" --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --canonicalize | FileCheck %s --check-prefix=NONE
// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan="recompute=cheap" --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --canonicalize | FileCheck %s --check-prefix=CHEAP
// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan="recompute=layer" --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --canonicalize | FileCheck %s --check-prefix=LAYER

// A layer's two halves are views of one matmul, which is saved in their place. none saves that, and the gated value and what it is
// made of; cheap what these follow from; layer what the layers return.

// NONE-LABEL: pp.task forward
// NONE-SAME: tensor<8x12xf64>, tensor<8x6xf64>,
// NONE-SAME: tensor<8x6xf64>, tensor<8x6xf64>,
// NONE-SAME: tensor<8x12xf64>
// NONE-NOT: pp.recomputed_flops

// CHEAP-LABEL: pp.task forward
// CHEAP-SAME: tensor<8x12xf64>, tensor<8x6xf64>,
// CHEAP-SAME: tensor<8x12xf64>, tensor<8x6xf64>)
// CHEAP-LABEL: pp.task backward
// CHEAP-NOT: pp.recomputed_flops
// CHEAP: pp.gelu

// The second layer is computed again from what the first returned, and the gradients of its weights are taken before
// the first layer is: one layer's temporaries at a time.
// LAYER-LABEL: pp.task forward
// LAYER-SAME: tensor<8x6xf64>, tensor<8x6xf64>)
// LAYER-LABEL: pp.task backward
// LAYER-SAME: (%[[LAST:[a-z0-9]*]]: tensor<8x6xf64>,
// LAYER-SAME: %[[FIRST:[a-z0-9]*]]: tensor<8x6xf64>,
// LAYER-SAME: pp.role<input, "x">
// LAYER-SAME: attributes {pp.recomputed_flops = 2304 : i64}
// LAYER: pp.matmul %[[FIRST]], %{{.*}} : tensor<8x6xf64>, tensor<6x12xf64>
// LAYER: pp.accumulate {{.*}} : tensor<6x12xf64>
// LAYER: pp.matmul %{{.*}}, %{{.*}} : tensor<8x6xf64>, tensor<6x12xf64>
// LAYER: pp.accumulate {{.*}} : tensor<6x12xf64>
// LAYER: %[[SAVED:[0-9]+]]:2 = pp.call @s0_F()
// LAYER: pp.call @s0_B(%[[SAVED]]#1, %[[SAVED]]#0)
!x = tensor<8x6xf64>
!wide = tensor<8x12xf64>
!w = tensor<6x12xf64>
!out = tensor<6x6xf64>
func.func private @layer(%x: !x, %w: !w, %o: !out) -> !x {
  %0 = pp.matmul %x, %w : !x, !w
  %1 = pp.slice %0 [0, 0] : !wide to !x
  %2 = pp.slice %0 [0, 6] : !wide to !x
  %3 = pp.gelu %1 : !x
  %4 = pp.mul %3, %2 : !x, !x
  %5 = pp.matmul %4, %o : !x, !out
  return %5 : !x
}
func.func @main(%x: !x {pp.input = "x"}, %y: !x {pp.input = "y"}) -> tensor<f64> {
  %w0 = pp.param "w0" {init = #pp.init<ones>} : !w
  %o0 = pp.param "o0" {init = #pp.init<ones>} : !out
  %w1 = pp.param "w1" {init = #pp.init<ones>} : !w
  %o1 = pp.param "o1" {init = #pp.init<ones>} : !out
  %0 = call @layer(%x, %w0, %o0) : (!x, !w, !out) -> !x
  %1 = call @layer(%0, %w1, %o1) : (!x, !w, !out) -> !x
  %2 = pp.mul %1, %y : !x, !x
  %3 = pp.mul %2, %1 : !x, !x
  %4 = pp.reduce sum %3 [0, 1] : !x
  return %4 : tensor<f64>
}
