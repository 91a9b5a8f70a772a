// What gradients are built of: transposes are flags of matmuls, a broadcast
// operand's gradient is summed, and nothing is built that no parameter needs.

// RUN: %ppopt opt %s --split-input-file --pp-autodiff | FileCheck %s

// One rhs for all batches: a matmul of all rows, without a transpose.
// CHECK-LABEL: @rows_times_matrix(
// CHECK: pp.place 0
// CHECK: %[[DY:.*]] = pp.broadcast
// CHECK-NOT: pp.transpose
// CHECK: %[[X:.*]] = pp.reshape %{{.*}} : tensor<2x3x4xf32> to tensor<6x4xf32>
// CHECK: %[[ROWS:.*]] = pp.reshape %[[DY]] : tensor<2x3x5xf32> to tensor<6x5xf32>
// CHECK: %[[DW:.*]] = pp.matmul %[[X]], %[[ROWS]] {transpose_lhs}
// CHECK-NOT: pp.matmul
// CHECK: pp.add_grad
func.func @rows_times_matrix(%x: tensor<2x3x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x5xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %y = pp.matmul %x, %w : tensor<2x3x4xf32>, tensor<4x5xf32>
    %sum = pp.reduce sum %y [0, 1, 2] : tensor<2x3x5xf32>
    pp.yield %sum : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: @both_transposed(
// CHECK: %[[A:.*]] = pp.param "a"
// CHECK: %[[B:.*]] = pp.param "b"
// CHECK: %[[DY:.*]] = pp.broadcast
// CHECK: pp.matmul %[[B]], %[[DY]] {transpose_lhs, transpose_rhs} : tensor<2x5x4xf32>, tensor<2x3x5xf32>
// CHECK: pp.matmul %[[DY]], %[[A]] {transpose_lhs, transpose_rhs} : tensor<2x3x5xf32>, tensor<2x4x3xf32>
func.func @both_transposed() -> tensor<f32> {
  %a = pp.param "a" {init = #pp.init<ones>} : tensor<2x4x3xf32>
  %b = pp.param "b" {init = #pp.init<ones>} : tensor<2x5x4xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %y = pp.matmul %a, %b {transpose_lhs, transpose_rhs} : tensor<2x4x3xf32>, tensor<2x5x4xf32>
    %sum = pp.reduce sum %y [0, 1, 2] : tensor<2x3x5xf32>
    pp.yield %sum : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: @broadcast_operands(
// CHECK: %[[DY:.*]] = pp.broadcast
// CHECK: pp.reduce sum %[[DY]] [0, 1] : tensor<2x3x4xf32>
// CHECK: pp.reduce sum %[[DY]] [2] {keep_dims} : tensor<2x3x4xf32>
func.func @broadcast_operands(%x: tensor<2x3x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %column = pp.param "column" {init = #pp.init<ones>} : tensor<2x3x1xf32>
  %bias = pp.param "bias" {init = #pp.init<ones>} : tensor<4xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %y = pp.add %x, %column : tensor<2x3x4xf32>, tensor<2x3x1xf32>
    %z = pp.add %y, %bias : tensor<2x3x4xf32>, tensor<4xf32>
    %sum = pp.reduce sum %z [0, 1, 2] : tensor<2x3x4xf32>
    pp.yield %sum : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// A composite is not differentiated piece by piece, and draws what it drew.
// CHECK-LABEL: @composites(
// CHECK: %[[Y:.*]] = pp.softmax
// CHECK: %[[DY:.*]] = pp.dropout %{{.*}} {p = 5.000000e-01 : f64, stream = 7 : i64}
// CHECK: pp.softmax_grad %{{.*}}, %{{.*}} : tensor<4x8xf32>
// CHECK-NOT: pp.exp
func.func @composites() -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x8xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %y = pp.softmax %w : tensor<4x8xf32>
    %z = pp.dropout %y {p = 0.5 : f64, stream = 7 : i64} : tensor<4x8xf32>
    %sum = pp.reduce sum %z [0, 1] : tensor<4x8xf32>
    pp.yield %sum : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// The adjoint of a cast is the cast back; a bf16 gradient that was cast up is itself, not rounded again: it is the matmul's
// operand as it is, and what is summed for the bias in f32.
// CHECK-LABEL: @casts(
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[DUP:.*]] = pp.cast %[[DU:.*]] : tensor<4x5xbf16> to tensor<4x5xf32>
// CHECK: pp.reduce sum %[[DUP]] [0] : tensor<4x5xf32>
// CHECK: %[[DW:.*]] = pp.matmul %{{.*}}, %[[DU]] {transpose_lhs} : tensor<4x3xbf16>, tensor<4x5xbf16>
// CHECK: pp.cast %[[DW]] : tensor<3x5xbf16> to tensor<3x5xf32>
func.func @casts(%x: tensor<4x3xbf16> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3x5xf32>
  %b = pp.param "b" {init = #pp.init<ones>} : tensor<5xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %wn = pp.cast %w : tensor<3x5xf32> to tensor<3x5xbf16>
    %y = pp.matmul %x, %wn : tensor<4x3xbf16>, tensor<3x5xbf16>
    %wide = pp.cast %y : tensor<4x5xbf16> to tensor<4x5xf32>
    %u = pp.add %wide, %b : tensor<4x5xf32>, tensor<5xf32>
    %un = pp.cast %u : tensor<4x5xf32> to tensor<4x5xbf16>
    %g = pp.relu %un : tensor<4x5xbf16>
    %gw = pp.cast %g : tensor<4x5xbf16> to tensor<4x5xf32>
    %sum = pp.reduce sum %gw [0, 1] : tensor<4x5xf32>
    pp.yield %sum : tensor<f32>
  }
  return %l : tensor<f32>
}
