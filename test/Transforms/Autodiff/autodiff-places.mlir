// RUN: ppopt opt %s --pp-autodiff --split-input-file --verify-diagnostics | FileCheck %s

// The gradient goes back through the copy; both readers' parts are summed on
// their place, and one value is sent. The other part, on the value's own place,
// is added where the value was made.

// CHECK-LABEL: @skip
// CHECK: %[[F0:.*]] = pp.place 0 stage 0 ->
// CHECK: %[[C:.*]] = pp.copy %[[F0]] from 0 to 1 {id = 7 : i64}
// CHECK: %[[B3:.*]] = pp.place 1 stage 3 backward
// CHECK: %[[B2:.*]] = pp.place 0 stage 2 backward
// CHECK: %[[BACK2:.*]] = pp.copy %{{.*}} from 0 to 1 {gradient_of = 8 : i64
// CHECK: %[[B1:.*]] = pp.place 1 stage 1 backward
// CHECK: pp.add
// CHECK: %[[BACK:.*]] = pp.copy %[[B1]] from 1 to 0 {gradient_of = 7 : i64
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.add
// CHECK: pp.add_grad
func.func @skip(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 7 : i64} : tensor<8x4xf32>
  %a = pp.place 1 stage 1 -> tensor<8x4xf32> {
    %0 = pp.exp %h1 : tensor<8x4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %a0 = pp.copy %a from 1 to 0 {id = 8 : i64} : tensor<8x4xf32>
  %b = pp.place 0 stage 2 -> tensor<8x4xf32> {
    %0 = pp.mul %a0, %h : tensor<8x4xf32>, tensor<8x4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %b1 = pp.copy %b from 0 to 1 {id = 9 : i64} : tensor<8x4xf32>
  %l = pp.place 1 stage 3 -> tensor<f32> {
    %0 = pp.mul %b1, %h1 : tensor<8x4xf32>, tensor<8x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// Each place adds to the gradient of its copy of a tied parameter; one whose
// values are detached adds nothing.

// CHECK-LABEL: @tied
// CHECK: %[[W1:.*]] = pp.param "w" {{.*}}place = 1
// CHECK: pp.place 1 stage 1 backward
// CHECK: pp.add_grad %[[W1]], %{{.*}} : tensor<4xf32>
// CHECK-NOT: backward
// CHECK-NOT: pp.copy
// CHECK-NOT: pp.add_grad
func.func @tied(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %w1 = pp.param "w" {init = #pp.init<zeros>, place = 1 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w0 : tensor<8x4xf32>, tensor<4xf32>
    %1 = pp.detach %0 : tensor<8x4xf32>
    pp.yield %1 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
  %l = pp.place 1 stage 1 -> tensor<f32> {
    %0 = pp.mul %h1, %w1 : tensor<8x4xf32>, tensor<4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// A detach at the boundary: the stage in front has no backward, nothing is
// copied back, and who never learns is named with the detach.

// CHECK-LABEL: @detached
// CHECK-NOT: stage 0 backward
// CHECK-NOT: gradient_of
func.func @detached(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-warning @+1 {{'front' never learns: every path from the loss to it passes a detach}}
  %w0 = pp.param "front" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %w1 = pp.param "back" {init = #pp.init<zeros>, place = 1 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w0 : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
  %l = pp.place 1 stage 1 -> tensor<f32> {
    // expected-note @+1 {{this one}}
    %d = pp.detach %h1 : tensor<8x4xf32>
    %0 = pp.mul %d, %w1 : tensor<8x4xf32>, tensor<4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// A gradient that is constant has no place: it is not copied back.

// CHECK-LABEL: @constant
// CHECK-NOT: gradient_of
// CHECK: %[[ONE:.*]] = pp.constant dense<1.0
// CHECK: %[[SEED:.*]] = pp.broadcast %[[ONE]]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.mul {{.*}}%[[SEED]]
func.func @constant(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w0 : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
  %l = pp.place 1 stage 1 -> tensor<f32> {
    %1 = pp.reduce sum %h1 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// The gradient of a sum is constant. Nothing is sent for it, but the parameter's stage adds it.

// CHECK-LABEL: @adds_constant
// CHECK: pp.copy
// CHECK: pp.yield
// CHECK-NOT: pp.copy
// CHECK: %[[TWO:.*]] = pp.add
// CHECK-NOT: pp.copy
// CHECK: pp.place 0 stage 0 backward {
// CHECK-NEXT: %[[B:.*]] = pp.broadcast %[[TWO]]
// CHECK-NEXT: pp.add_grad %{{.*}}, %[[B]]
func.func @adds_constant() -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<f32> {
    %0 = pp.reduce sum %w [0] : tensor<4xf32>
    pp.yield %0 : tensor<f32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<f32>
  %l = pp.place 1 stage 1 -> tensor<f32> {
    %0 = pp.add %h1, %h1 : tensor<f32>, tensor<f32>
    pp.yield %0 : tensor<f32>
  }
  return %l : tensor<f32>
}
