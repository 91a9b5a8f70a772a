// Proposals become results of the entry, also those in marks; in a program that does not train nothing is left of them.
// RUN: ppopt opt --pp-return-proposals %s | FileCheck %s
// RUN: ppopt opt --pp-return-proposals=drop --canonicalize %s | FileCheck %s --check-prefix=DROP

// CHECK: -> (tensor<f32>, tensor<4xf32> {pp.proposal = "mean"}, tensor<f32> {pp.proposal = "count"}) {
// CHECK: %[[H:.*]]:2 = pp.on 0 -> tensor<8x4xf32>, tensor<4xf32> {
// CHECK: %[[NEW:.*]] = pp.add
// CHECK: pp.yield %{{.*}}, %[[NEW]] : tensor<8x4xf32>, tensor<4xf32>
// CHECK: %[[MORE:.*]] = pp.add %{{.*}} : tensor<f32>, tensor<f32>
// CHECK: return %{{.*}}, %[[H]]#1, %[[MORE]] : tensor<f32>, tensor<4xf32>, tensor<f32>
// CHECK-NOT: pp.propose %

// DROP: pp.param "mean"
// DROP: pp.param "count"
// DROP: pp.sub %{{.*}}, %[[RUNNING:.*]] : tensor<8x4xf32>, tensor<4xf32>
// DROP-NOT: propose
// DROP: return %{{.*}} : tensor<f32>
func.func @main(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %mean = pp.param "mean" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %count = pp.param "count" {init = #pp.init<zeros>, state} : tensor<f32>
  %h = pp.on 0 -> tensor<8x4xf32> {
    %batch = pp.reduce mean %x [0] : tensor<8x4xf32>
    %taken = pp.by_mode %batch, %mean : tensor<4xf32>
    %c = pp.sub %x, %taken : tensor<8x4xf32>, tensor<4xf32>
    %old = pp.proposed %mean : tensor<4xf32>
    %new = pp.add %old, %batch : tensor<4xf32>, tensor<4xf32>
    pp.propose %mean, %new : tensor<4xf32>
    pp.yield %c : tensor<8x4xf32>
  }
  // What a function returns has a checkpoint.
  %passed = pp.checkpoint %count : tensor<f32>
  %before = pp.proposed %passed : tensor<f32>
  %one = pp.constant dense<1.0> : tensor<f32>
  %after = pp.add %before, %one : tensor<f32>, tensor<f32>
  pp.propose %passed, %after : tensor<f32>
  %loss = pp.reduce mean %h [0, 1] : tensor<8x4xf32>
  return %loss : tensor<f32>
}
