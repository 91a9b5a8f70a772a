// RUN: ppopt opt %s --pp-resize-batch=batch=4 | FileCheck %s

// The mean is over the new batch; a position embedding does not change.
// CHECK-LABEL: func.func @main(%arg0: tensor<4x2xf32>
// CHECK: pp.iota {{.*}} -> tensor<2xf32>
// CHECK: pp.reshape {{.*}} : tensor<4x2xf32> to tensor<8xf32>
// CHECK: pp.on 0 -> tensor<f32> {
// CHECK-NEXT: pp.reduce mean {{.*}} : tensor<8xf32>
func.func @main(%x: tensor<16x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.iota {dim = 0 : i64} -> tensor<2xf32>
  %1 = pp.add %x, %0 : tensor<16x2xf32>, tensor<2xf32>
  %2 = pp.reshape %1 : tensor<16x2xf32> to tensor<32xf32>
  %3 = pp.on 0 -> tensor<f32> {
    %m = pp.reduce mean %2 [0] : tensor<32xf32>
    pp.yield %m : tensor<f32>
  }
  return %3 : tensor<f32>
}
