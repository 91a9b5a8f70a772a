// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1" --pp-autodiff --canonicalize --cse --pp-sink-loss --split-input-file | FileCheck %s
// RUN: not ppopt opt %s --pp-insert-plan="mesh=dp=1" --pp-autodiff --pp-sink-loss --pp-sink-loss --split-input-file 2>&1 | FileCheck %s --check-prefix=TWICE

// TWICE: error: has a loss of evaluation already: sink-loss runs once

// The last matmul goes, with its bias and what makes the loss of it; the matmul before it stays, and what stands between them. Nothing but what the last matmul
// reads leaves the forward.

// CHECK-LABEL: @two_layers
// CHECK-SAME: -> (tensor<f32>, tensor<f32>)
// CHECK: %[[F:[0-9]+]]{{.*}} = pp.place 0 stage 0 ->
// CHECK-NEXT: pp.matmul
// CHECK-NEXT: pp.relu
// CHECK-NEXT: pp.yield
// CHECK: %[[E:.*]] = pp.place 0 stage 0 evaluation -> tensor<f32> {
// CHECK-NEXT: %[[Z:.*]] = pp.matmul %[[F]]
// CHECK-NEXT: %[[Y:.*]] = pp.add %[[Z]]
// CHECK-NEXT: %[[T:.*]] = pp.token_loss %[[Y]]
// CHECK-NEXT: %[[L:.*]] = pp.reduce sum %[[T]]
// CHECK-NEXT: pp.yield %[[L]]
// CHECK: %[[B:.*]] = pp.place 0 stage 0 backward
// CHECK-NEXT: %[[Z:.*]] = pp.matmul %[[F]]
// CHECK-NEXT: %[[Y:.*]] = pp.add %[[Z]]
// CHECK-NEXT: %[[T:.*]] = pp.token_loss %[[Y]]
// CHECK-NEXT: %[[L:.*]] = pp.reduce sum %[[T]]
// CHECK: pp.token_loss_grad %[[Y]]
// CHECK: pp.yield %[[L]] :
// CHECK: return %[[E]], %[[B]] : tensor<f32>, tensor<f32>
func.func @two_layers(%x: tensor<8x2xf32> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x4xf32>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<4x3xf32>
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<3xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
    %1 = pp.relu %0 : tensor<8x4xf32>
    %2 = pp.matmul %1, %v : tensor<8x4xf32>, tensor<4x3xf32>
    %3 = pp.add %2, %b : tensor<8x3xf32>, tensor<3xf32>
    %4 = pp.token_loss %3, %t : tensor<8x3xf32>, tensor<8xi32>
    %5 = pp.reduce sum %4 [0] : tensor<8xf32>
    pp.yield %5 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// Of two terms each has a last matmul. The penalty has none: it stays, and is handed on.

// CHECK-LABEL: @terms
// CHECK: %[[F:[0-9]+]]{{.*}} = pp.place 0 stage 0 ->
// CHECK-NOT: pp.matmul
// CHECK: %[[P:.*]] = pp.reduce sum
// CHECK: pp.yield %[[P]]
// CHECK: evaluation
// CHECK-NEXT: pp.matmul
// CHECK-NEXT: pp.reduce
// CHECK-NEXT: pp.matmul
// CHECK-NEXT: pp.reduce
// CHECK-NEXT: pp.add
// CHECK-NEXT: pp.add %{{.*}}, %[[F]] :
// CHECK-NEXT: pp.yield
func.func @terms(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x4xf32>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<2x4xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    %2 = pp.matmul %x, %v : tensor<8x2xf32>, tensor<2x4xf32>
    %3 = pp.reduce sum %2 [0, 1] : tensor<8x4xf32>
    %4 = pp.add %1, %3 : tensor<f32>, tensor<f32>
    %5 = pp.mul %w, %w : tensor<2x4xf32>, tensor<2x4xf32>
    %6 = pp.reduce sum %5 [0, 1] : tensor<2x4xf32>
    %7 = pp.add %4, %6 : tensor<f32>, tensor<f32>
    pp.yield %7 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// A matmul that another stage reads stays, and what follows it.

// CHECK-LABEL: @read_elsewhere
// CHECK-SAME: -> tensor<f32>
// CHECK-NOT: evaluation
func.func @read_elsewhere(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x4xf32>
  %h:2 = pp.place 0 stage 0 -> tensor<8x4xf32>, tensor<f32> {
    %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %0, %1 : tensor<8x4xf32>, tensor<f32>
  }
  %l = pp.place 0 stage 1 -> tensor<f32> {
    %0 = pp.mul %h#0, %h#0 : tensor<8x4xf32>, tensor<8x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    %2 = pp.add %1, %h#1 : tensor<f32>, tensor<f32>
    pp.yield %2 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// Nothing learns: the forward is all there is.

// CHECK-LABEL: @frozen
// CHECK-SAME: -> tensor<f32>
// CHECK-NOT: evaluation
func.func @frozen(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>, frozen} : tensor<2x4xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// Metrics are made in the evaluation: of the copies of what is sunk, and of what the forward keeps. A matmul of theirs is not the last one before the
// loss. What a metric shares with the loss alone is still sunk.

// CHECK-LABEL: @metrics
// CHECK-SAME: -> (tensor<f32>, tensor<f32> {pp.metric = "accuracy"}, tensor<f32> {pp.metric = "probe"}, tensor<f32>)
// CHECK: %[[F:[0-9]+]]{{.*}} = pp.place 0 stage 0 ->
// CHECK-NEXT: pp.tanh
// CHECK-NEXT: pp.yield
// CHECK: %[[E:[0-9]+]]:3 = pp.place 0 stage 0 evaluation -> tensor<f32>, tensor<f32>, tensor<f32> {
// CHECK-NEXT: %[[Z:.*]] = pp.matmul
// CHECK-DAG: %[[L:.*]] = pp.reduce sum %{{.*}} [0] : tensor<8xf32>
// CHECK-DAG: %[[MAX:.*]] = pp.reduce max %[[Z]] [0, 1]
// CHECK-DAG: %[[P:.*]] = pp.matmul
// CHECK-DAG: %[[SUM:.*]] = pp.reduce sum %[[P]] [0, 1]
// CHECK: pp.yield %[[L]], %[[MAX]], %[[SUM]] :
// CHECK: %[[B:[0-9]+]]{{.*}} = pp.place 0 stage 0 backward
// CHECK: pp.matmul
// CHECK-NOT: pp.reduce max
// CHECK: return %[[E]]#0, %[[E]]#1, %[[E]]#2, %[[B]]
func.func @metrics(%x: tensor<8x2xf32> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"})
    -> (tensor<f32>, tensor<f32> {pp.metric = "accuracy"}, tensor<f32> {pp.metric = "probe"}) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %v = pp.param "v" {init = #pp.init<zeros>, frozen} : tensor<2x5xf32>
  %l:3 = pp.place 0 stage 0 -> tensor<f32>, tensor<f32>, tensor<f32> {
    %h = pp.tanh %x : tensor<8x2xf32>
    %z = pp.matmul %h, %w : tensor<8x2xf32>, tensor<2x3xf32>
    %4 = pp.token_loss %z, %t : tensor<8x3xf32>, tensor<8xi32>
    %5 = pp.reduce sum %4 [0] : tensor<8xf32>
    %6 = pp.reduce max %z [0, 1] : tensor<8x3xf32>
    %7 = pp.matmul %h, %v : tensor<8x2xf32>, tensor<2x5xf32>
    %8 = pp.reduce sum %7 [0, 1] : tensor<8x5xf32>
    pp.yield %5, %6, %8 : tensor<f32>, tensor<f32>, tensor<f32>
  }
  return %l#0, %l#1, %l#2 : tensor<f32>, tensor<f32>, tensor<f32>
}
