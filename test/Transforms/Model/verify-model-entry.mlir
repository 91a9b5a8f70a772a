// RUN: %ppopt opt %s --pp-verify-model=entry=second
// RUN: not %ppopt opt %s --pp-verify-model=entry=third 2>&1 | FileCheck %s
// RUN: not %ppopt opt %s --pp-verify-model 2>&1 | FileCheck %s --check-prefix=BOTH

// CHECK: error: no function is named 'third', which --entry asks for
// BOTH: error: both @first and @second are called by no function

func.func @first(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @second(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}
