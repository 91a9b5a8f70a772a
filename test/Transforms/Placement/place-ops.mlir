// RUN: ppopt opt %s --pp-insert-plan --pp-place-ops --split-input-file | FileCheck %s

// Parameters stay outside, all else goes in.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[W:.*]] = pp.param "w" {init = #pp.init<zeros>}
// CHECK-NEXT: %[[P:.*]] = pp.place 0 stage 0 -> tensor<f32> {
// CHECK-NEXT: %[[M:.*]] = pp.matmul %arg0, %[[W]]
// CHECK-NEXT: %[[L:.*]] = pp.reduce sum %[[M]]
// CHECK-NEXT: pp.yield %[[L]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[P]]
func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x3xf32>
  return %1 : tensor<f32>
}

// -----

// Without an axis pp there is one device, whatever is marked.
// CHECK-LABEL: func.func @one_device
// CHECK: pp.place 0 stage 0
// CHECK-NEXT: pp.matmul
// CHECK-NEXT: pp.reduce
// CHECK-NEXT: pp.yield
// CHECK-NOT: pp.place
func.func @one_device(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %0 = pp.on 3 -> tensor<8x3xf32> {
    %m = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>
    pp.yield %m : tensor<8x3xf32>
  }
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x3xf32>
  return %1 : tensor<f32>
}

// -----

// A loss that no op computes.
// CHECK-LABEL: func.func @param_is_the_loss
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK-NEXT: %[[P:.*]] = pp.place 0 stage 0 -> tensor<f32> {
// CHECK-NEXT: pp.yield %[[W]]
// CHECK: return %[[P]]
func.func @param_is_the_loss(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<f32>
  return %w : tensor<f32>
}
