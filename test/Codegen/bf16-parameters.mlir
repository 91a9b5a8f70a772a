// Parameters, gradients and optimizer states in bf16; the coefficients of the update come in f64.
// RUN: ppopt compile %s --cpu x86-64-v3 -o %t
// RUN: %t --describe | FileCheck %s
// CHECK: parameters {{ *}}528 in 1 tensors
func.func @m(%x: tensor<8x16xbf16> {pp.input = "x"}) -> tensor<f32> {
  %w1 = pp.param "w1" {init = #pp.init<normal, 0.0, 0.2>} : tensor<16x33xbf16>
  %a = pp.matmul %x, %w1 : tensor<8x16xbf16>, tensor<16x33xbf16>
  %f = pp.cast %a : tensor<8x33xbf16> to tensor<8x33xf32>
  %g = pp.mul %f, %f : tensor<8x33xf32>, tensor<8x33xf32>
  %l = pp.reduce mean %g [0, 1] : tensor<8x33xf32>
  return %l : tensor<f32>
}
