// RUN: ppopt opt %s --pp-unroll-repeats --split-input-file --verify-diagnostics | FileCheck %s

// Parameters are numbered, values go from one iteration to the next, and what is outside is read.
// CHECK-LABEL: func.func @layers
// CHECK-NEXT: %[[S:.*]] = pp.param "shared"
// CHECK-NEXT: %[[W0:.*]] = pp.param "h.0.w" {init = #pp.init<ones>, pp.aliases = ["layer0", "{j}"]}
// CHECK-NEXT: %[[C0:.*]] = pp.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: %[[A0:.*]] = pp.mul %arg0, %[[W0]]
// CHECK-NEXT: %[[B0:.*]] = pp.mul %[[A0]], %[[C0]]
// CHECK-NEXT: %[[D0:.*]] = pp.add %[[B0]], %[[S]]
// CHECK-NEXT: %[[W1:.*]] = pp.param "h.1.w" {init = #pp.init<ones>, pp.aliases = ["layer1", "{j}"]}
// CHECK-NEXT: %[[C1:.*]] = pp.constant dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: %[[A1:.*]] = pp.mul %[[D0]], %[[W1]]
// CHECK-NEXT: %[[B1:.*]] = pp.mul %[[A1]], %[[C1]]
// CHECK-NEXT: %[[D1:.*]] = pp.add %[[B1]], %[[S]]
// CHECK-NEXT: return %[[D1]]
func.func @layers(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %s = pp.param "shared" {init = #pp.init<ones>} : tensor<8xf32>
  %y = pp.repeat 2 iter (%h = %x) -> (tensor<4x8xf32>) {
    %w = pp.param "h.{i}.w" {init = #pp.init<ones>, pp.aliases = ["layer{i}", "{j}"]} : tensor<8xf32>
    %c = pp.each dense<[0.5, 0.25]> : tensor<2xf32>
    %a = pp.mul %h, %w : tensor<4x8xf32>, tensor<8xf32>
    %b = pp.mul %a, %c : tensor<4x8xf32>, tensor<f32>
    %d = pp.add %b, %s : tensor<4x8xf32>, tensor<8xf32>
    pp.yield %d : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// Repeats nest, in marks too. Rows and splats of lists; values that change places; results of initial values.
// CHECK-LABEL: func.func @nested
// CHECK-NEXT: pp.on 1 -> tensor<2xf32> {
// CHECK-NEXT: pp.param "0.0.w"
// CHECK-NEXT: pp.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: pp.constant dense<true> : tensor<i1>
// CHECK: pp.yield
// CHECK-NEXT: }
// CHECK-NEXT: pp.on 1 -> tensor<2xf32> {
// CHECK-NEXT: pp.param "0.1.w"
// CHECK-NEXT: pp.constant dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: pp.constant dense<true> : tensor<i1>
// CHECK: pp.param "1.0.w"
// CHECK-NEXT: pp.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: pp.constant dense<false> : tensor<i1>
// CHECK: pp.param "1.1.w"
// CHECK-NEXT: pp.constant dense<[3.000000e+00, 4.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: pp.constant dense<false> : tensor<i1>
// CHECK-NOT: pp.param
// CHECK: return %arg1, %arg0, %arg2
func.func @nested(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>) -> (tensor<i32>, tensor<i32>, tensor<i64>) {
  pp.repeat 2 {
    pp.repeat 2 index "j" {
      %0 = pp.on 1 -> tensor<2xf32> {
        %w = pp.param "{i}.{j}.w" {init = #pp.init<ones>} : tensor<2xf32>
        %r = pp.each "j" dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
        %s = pp.each dense<[true, false]> : tensor<2xi1>
        %m = pp.mul %w, %r : tensor<2xf32>, tensor<2xf32>
        pp.yield %m : tensor<2xf32>
      }
      pp.yield
    }
    pp.yield
  }
  %1:3 = pp.repeat 3 iter (%x = %a, %y = %b, %z = %c) -> (tensor<i32>, tensor<i32>, tensor<i64>) {
    pp.yield %y, %x, %c : tensor<i32>, tensor<i32>, tensor<i64>
  }
  return %1#0, %1#1, %1#2 : tensor<i32>, tensor<i32>, tensor<i64>
}

// -----

// In a function that the entry calls, and of calls.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[A:.*]] = call @stack(%arg0)
// CHECK-NEXT: %[[B:.*]] = call @stack(%[[A]])
// CHECK-NEXT: return %[[B]]
// CHECK-LABEL: func.func private @stack
// CHECK-NEXT: %[[A:.*]] = pp.neg %arg0
// CHECK-NEXT: %[[B:.*]] = pp.neg %[[A]]
// CHECK-NEXT: return %[[B]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pp.repeat 2 iter (%h = %x) -> (tensor<4xf32>) {
    %1 = func.call @stack(%h) : (tensor<4xf32>) -> tensor<4xf32>
    pp.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
func.func private @stack(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pp.repeat 2 iter (%h = %x) -> (tensor<4xf32>) {
    %1 = pp.neg %h : tensor<4xf32>
    pp.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @too_many(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{with its iterations written out this has more than 100000 ops; repeat less often or less}}
  %0 = pp.repeat 1000 iter (%h = %x) -> (tensor<4xf32>) {
    %1 = pp.repeat 1000 index "j" iter (%k = %h) -> (tensor<4xf32>) {
      %2 = pp.neg %k : tensor<4xf32>
      pp.yield %2 : tensor<4xf32>
    }
    pp.yield %1 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @of_nothing() {
  // expected-error @below {{with its iterations written out this has more than 100000 ops}}
  pp.repeat 9223372036854775807 {
    pp.repeat 9223372036854775807 index "j" {
      pp.yield
    }
    pp.yield
  }
  return
}
