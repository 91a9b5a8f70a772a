// RUN: ppopt opt %s --pp-shard | FileCheck %s

// A whole value that is computed on one place and wanted split on others: the region computes
// its tile, and tiles are copied. As gradients are: a broadcast of the loss's.
// CHECK-LABEL: func.func @main(%arg0: tensor<4x2xf32>
// CHECK: %[[S:.*]] = pp.place 0 stage 0 {{.*}}-> tensor<4x2xf32> {
// CHECK: %[[B:.*]] = pp.broadcast {{.*}} to tensor<4x2xf32>
// CHECK: pp.yield %[[B]]
// CHECK: pp.copy %[[S]] from 0 to 1 {id = 0 : i64{{.*}} : tensor<4x2xf32>
// CHECK: pp.copy %[[S]] from 0 to 2 {id = 1 : i64{{.*}} : tensor<4x2xf32>
// CHECK: pp.mul %arg0, %{{.*}} : tensor<4x2xf32>, tensor<4x2xf32>
// CHECK: pp.mul %arg0, %{{.*}} : tensor<4x2xf32>, tensor<4x2xf32>
pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 3>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<2xf32>
  %0 = pp.place 0 stage 0 -> tensor<8x2xf32> {
    %1 = pp.broadcast %w [1] : tensor<2xf32> to tensor<8x2xf32>
    pp.yield %1 : tensor<8x2xf32>
  }
  %c1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<8x2xf32>
  %c2 = pp.copy %0 from 0 to 2 {id = 1 : i64} : tensor<8x2xf32>
  %2 = pp.place 1 stage 1 -> tensor<f32> {
    %3 = pp.mul %x, %c1 : tensor<8x2xf32>, tensor<8x2xf32>
    %4 = pp.reduce sum %3 [0, 1] : tensor<8x2xf32>
    pp.yield %4 : tensor<f32>
  }
  %c3 = pp.copy %2 from 1 to 2 {id = 2 : i64} : tensor<f32>
  %5 = pp.place 2 stage 2 -> tensor<f32> {
    %6 = pp.mul %x, %c2 : tensor<8x2xf32>, tensor<8x2xf32>
    %7 = pp.reduce sum %6 [0, 1] : tensor<8x2xf32>
    %8 = pp.add %7, %c3 : tensor<f32>, tensor<f32>
    pp.yield %8 : tensor<f32>
  }
  return %5 : tensor<f32>
}
