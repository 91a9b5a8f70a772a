// RUN: ppopt opt %s --pp-inline-calls --pp-insert-plan="recompute=none" --canonicalize --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --canonicalize | FileCheck %s

// The backward reads x in f32 and in bf16: x is saved once, in bf16, and widened again.
// CHECK-LABEL: pp.task forward
// CHECK-SAME: -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}, tensor<8x6xbf16>) {
// CHECK-LABEL: pp.task backward
// CHECK-SAME: %[[X:[^:]*]]: tensor<8x6xbf16>
// CHECK: %[[WIDE:.*]] = pp.cast %[[X]] : tensor<8x6xbf16> to tensor<8x6xf32>
// CHECK: pp.mul %{{.*}}, %[[WIDE]]
!x = tensor<8x6xbf16>
!f = tensor<8x6xf32>
func.func @main(%in: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<6x6xbf16>
  %s = pp.param "s" {init = #pp.init<ones>} : tensor<6xf32>
  %v = pp.param "v" {init = #pp.init<ones>} : tensor<6x6xbf16>
  %x = pp.matmul %in, %w : !x, tensor<6x6xbf16>
  %wide = pp.cast %x : !x to !f
  %scaled = pp.mul %wide, %s : !f, tensor<6xf32>
  %y = pp.matmul %x, %v : !x, tensor<6x6xbf16>
  %z = pp.cast %y : !x to !f
  %sum = pp.add %scaled, %z : !f, !f
  %loss = pp.reduce sum %sum [0, 1] : !f
  return %loss : tensor<f32>
}
