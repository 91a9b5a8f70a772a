// An input that the loss does not depend on must be given to the program for nothing. It may have readers: their results are not used.
// RUN: %ppopt plan %s 2>&1 | FileCheck %s
// RUN: not %ppopt plan %s --werror 2>&1 | FileCheck %s --check-prefixes=CHECK,ERROR

func.func private @layer(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %unused = pp.exp %y : tensor<4x3xf32>
  return %x : tensor<4x3xf32>
}
func.func @main(%x: tensor<4x3xf32> {pp.input = "x"},
                // CHECK: unread-input.mlir:[[#@LINE+1]]:17: warning: input "mask" is not read: the loss does not depend on it; leave it out
                %mask: tensor<4x3xf32> {pp.input = "mask"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3xf32>
  %0 = call @layer(%x, %mask) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = pp.mul %0, %w : tensor<4x3xf32>, tensor<3xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<4x3xf32>
  return %2 : tensor<f32>
}
// ERROR: error: 1 warning, which --werror makes errors
