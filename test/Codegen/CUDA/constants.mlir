// Constants of different elements of every type. Those that are not folded lie in global memory, in each module of device code that reads them: a kernel that
// looks rows up by 64-bit ids has wide indices.
// RUN: ppopt compile %s --target cuda --no-generation -o %t --save-device-ir %t.ll && FileCheck %s < %t.ll
// CHECK-DAG: @constant{{.*}} constant [2 x i32] [i32 3, i32 1], align 64
// CHECK-DAG: @constant{{.*}} constant [2 x i64] [i64 2, i64 0], align 64
func.func @constants(%x: tensor<2x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x4xf32>
  %t = pp.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %d = pp.constant dense<[0.5, 1.0, 1.0, 1.0]> : tensor<4xf64>
  %h = pp.constant dense<[1.0, 3.0, 1.0, 1.0]> : tensor<4xbf16>
  %m = pp.constant dense<[true, false, true, true]> : tensor<4xi1>
  %i = pp.constant dense<[3, 1]> : tensor<2xi32>
  %j = pp.constant dense<[2, 0]> : tensor<2xi64>
  %a = pp.embedding %w, %i : tensor<4x4xf32>, tensor<2xi32>
  %b = pp.embedding %w, %j : tensor<4x4xf32>, tensor<2xi64>
  %b1 = pp.mul %b, %t : tensor<2x4xf32>, tensor<4xf32>
  %s = pp.matmul %x, %w : tensor<2x4xf32>, tensor<4x4xf32>
  %s1 = pp.mul %s, %t : tensor<2x4xf32>, tensor<4xf32>
  %d1 = pp.cast %d : tensor<4xf64> to tensor<4xf32>
  %h1 = pp.cast %h : tensor<4xbf16> to tensor<4xf32>
  %s2 = pp.mul %s1, %d1 : tensor<2x4xf32>, tensor<4xf32>
  %s3 = pp.mul %s2, %h1 : tensor<2x4xf32>, tensor<4xf32>
  %s4 = pp.select %m, %s3, %s1 : tensor<4xi1>, tensor<2x4xf32>, tensor<2x4xf32>
  %y = pp.mul %a, %b1 : tensor<2x4xf32>, tensor<2x4xf32>
  %ya = pp.reduce mean %y [0, 1] : tensor<2x4xf32>
  %za = pp.reduce mean %s4 [0, 1] : tensor<2x4xf32>
  %l = pp.add %ya, %za : tensor<f32>, tensor<f32>
  return %l : tensor<f32>
}
