// RUN: ppopt opt %s --pp-inline-calls --split-input-file --verify-diagnostics | FileCheck %s

// Two calls of one layer have two streams; nothing is left of the callee. What each returned is a checkpoint.
// CHECK-NOT: @layer
// CHECK-LABEL: func.func @main
// CHECK: %[[A:.*]] = pp.dropout %arg0 {p = {{.*}}, stream = [[FIRST:-?[0-9]+]] : i64}
// CHECK-NEXT: %[[LAYER:.*]] = pp.checkpoint %[[A]] : tensor<4x2xf32>
// CHECK-NOT: stream = [[FIRST]]
// CHECK: %[[B:.*]] = pp.dropout %[[LAYER]] {p = {{.*}}, stream = [[SECOND:-?[0-9]+]] : i64}
// CHECK-NEXT: %[[LAST:.*]] = pp.checkpoint %[[B]]
// CHECK: pp.dropout %[[LAST]] {p = {{.*}}, stream = 7 : i64}
// CHECK-NOT: call
func.func private @layer(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = pp.dropout %x {p = 0.5 : f64} : tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
func.func @main(%x: tensor<4x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = call @layer(%x) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = call @layer(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = pp.dropout %1 {p = 0.5 : f64, stream = 7 : i64} : tensor<4x2xf32>
  %3 = pp.reduce sum %2 [0, 1] : tensor<4x2xf32>
  return %3 : tensor<f32>
}

// -----

// Marks stay, those of called functions too, and change nothing of what is drawn: the
// streams are those of the first model above.
// CHECK-LABEL: func.func @main
// CHECK: pp.on 1 -> tensor<4x2xf32> {
// CHECK-NEXT: pp.on 0 -> tensor<4x2xf32> {
// CHECK-NEXT: pp.dropout %arg0 {p = {{.*}}, stream = [[FIRST]] : i64}
// CHECK: pp.on 0 -> tensor<4x2xf32> {
// CHECK-NEXT: pp.dropout %{{.*}} {p = {{.*}}, stream = [[SECOND]] : i64}
// CHECK-NOT: call
func.func private @layer(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %0 = pp.on 0 -> tensor<4x2xf32> {
    %1 = pp.dropout %x {p = 0.5 : f64} : tensor<4x2xf32>
    pp.yield %1 : tensor<4x2xf32>
  }
  return %0 : tensor<4x2xf32>
}
func.func @main(%x: tensor<4x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.on 1 -> tensor<4x2xf32> {
    %1 = func.call @layer(%x) : (tensor<4x2xf32>) -> tensor<4x2xf32>
    pp.yield %1 : tensor<4x2xf32>
  }
  %2 = call @layer(%0) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = pp.reduce sum %2 [0, 1] : tensor<4x2xf32>
  return %3 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  // expected-error @+1 {{'pp.repeat' op is to be written out before calls are inlined; run pp-unroll-repeats first}}
  %0 = pp.repeat 2 iter (%h = %x) -> (tensor<4xf32>) {
    pp.yield %h : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{calls @loop from within itself; a model's functions can't be recursive}}
  %0 = call @loop(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  %0 = call @loop(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  // expected-error @+1 {{calls @elsewhere, which has no body in this file}}
  %0 = call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-note @+1 {{the other is here}}
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @+1 {{both @one and @two are called by no function; a model has one entry}}
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
