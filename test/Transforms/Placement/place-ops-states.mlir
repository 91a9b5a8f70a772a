// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1,pp=2" --pp-place-ops | FileCheck %s

// What only a proposal needs is where the state is read, though it follows from nothing there.
// CHECK: pp.param "count" {init = #pp.init<zeros>, place = 0 : i64, state}
// CHECK: %[[P:.*]]:2 = pp.place 0 stage 0 -> tensor<8x4xf32>, tensor<f32> {
// CHECK: pp.proposed
// CHECK: %[[NEW:.*]] = pp.add %{{.*}} : tensor<f32>, tensor<f32>
// CHECK: pp.yield %{{.*}}, %[[NEW]] : tensor<8x4xf32>, tensor<f32>
// CHECK: pp.place 1 stage 1
// CHECK-NOT: pp.proposed
// CHECK: return %{{.*}}, %[[P]]#1 : tensor<f32>, tensor<f32>
func.func @main(%x: tensor<8x4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<f32> {pp.proposal = "count"}) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4x4xf32>
  %count = pp.param "count" {init = #pp.init<zeros>, state} : tensor<f32>
  %h = pp.on 0 -> tensor<8x4xf32> {
    %m = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
    %s = pp.mul %m, %count : tensor<8x4xf32>, tensor<f32>
    pp.yield %s : tensor<8x4xf32>
  }
  %loss = pp.on 1 -> tensor<f32> {
    %t = pp.tanh %h : tensor<8x4xf32>
    %l = pp.reduce mean %t [0, 1] : tensor<8x4xf32>
    pp.yield %l : tensor<f32>
  }
  %old = pp.proposed %count : tensor<f32>
  %one = pp.constant dense<1.0> : tensor<f32>
  %new = pp.add %old, %one : tensor<f32>, tensor<f32>
  return %loss, %new : tensor<f32>, tensor<f32>
}
