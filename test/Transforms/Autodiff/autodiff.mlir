// RUN: ppopt opt %s --pp-insert-plan --pp-place-ops --pp-autodiff --split-input-file --verify-diagnostics | FileCheck %s

// The forward yields what the backward reads; x needs no gradient and gets none.
// CHECK-LABEL: func.func @matmul
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK: %[[F:.*]]:2 = pp.place 0 stage 0 -> tensor<f32>, tensor<8x3xf32> {
// CHECK: %[[M:.*]] = pp.matmul %arg0, %[[W]]
// CHECK: %[[E:.*]] = pp.exp %[[M]]
// CHECK: pp.yield %{{.*}}, %[[E]]
// CHECK: pp.place 0 stage 0 backward {
// CHECK: pp.mul %{{.*}}, %[[F]]#1
// CHECK: %[[DW:.*]] = pp.matmul %arg0, %{{.*}} {transpose_lhs}
// CHECK-NOT: pp.matmul
// CHECK: pp.add_grad %[[W]], %[[DW]] : tensor<2x3xf32>
// CHECK-NEXT: pp.yield{{$}}
// CHECK: return %[[F]]#0
func.func @matmul(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>
  %1 = pp.exp %0 : tensor<8x3xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<8x3xf32>
  return %2 : tensor<f32>
}

// -----

// Several uses: the gradients add.
// CHECK-LABEL: func.func @twice
// CHECK: pp.place 0 stage 0 backward {
// CHECK: %[[SUM:.*]] = pp.add
// CHECK: pp.add_grad %{{.*}}, %[[SUM]]
func.func @twice(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2xf32>
  %0 = pp.mul %x, %w : tensor<8x2xf32>, tensor<2xf32>
  %1 = pp.add %0, %w : tensor<8x2xf32>, tensor<2xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<8x2xf32>
  return %2 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @cut
// CHECK-NOT: pp.detach
// CHECK: %[[V:.*]] = pp.param "v"
// CHECK: pp.add_grad %[[V]], %{{.*}} : tensor<3xf32>
// CHECK-NOT: pp.add_grad
func.func @cut(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-warning @+1 {{'w' never learns: every path from the loss to it passes a detach}}
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<3xf32>
  // expected-warning @+1 {{'u' never learns: it does not reach the loss}}
  %u = pp.param "u" {init = #pp.init<zeros>} : tensor<3xf32>
  // expected-warning @+1 {{'t' never learns: it does not reach the loss}}
  %t = pp.param "t" {init = #pp.init<zeros>} : tensor<3xf32>
  %f = pp.param "f" {init = #pp.init<zeros>, frozen} : tensor<3xf32>
  // expected-warning @+1 {{'c' never learns: it reaches the loss only through values that carry no gradient (integers, comparisons)}}
  %c = pp.param "c" {init = #pp.init<zeros>} : tensor<3xf32>
  %unused = pp.exp %t : tensor<3xf32>
  %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>
  // expected-note @+1 {{this one}}
  %1 = pp.detach %0 : tensor<8x3xf32>
  %2 = pp.mul %1, %v : tensor<8x3xf32>, tensor<3xf32>
  %3 = pp.mul %2, %f : tensor<8x3xf32>, tensor<3xf32>
  %4 = pp.compare gt %c, %f : tensor<3xf32>, tensor<3xf32>
  %5 = pp.select %4, %3, %1 : tensor<3xi1>, tensor<8x3xf32>, tensor<8x3xf32>
  %6 = pp.reduce sum %5 [0, 1] : tensor<8x3xf32>
  return %6 : tensor<f32>
}
