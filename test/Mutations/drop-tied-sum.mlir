// RUN: %mutate opt %s --mutate-drop-tied-sum | FileCheck %s
// RUN: sed '/pp.add_grad/d' %s | not %mutate opt --mutate-drop-tied-sum 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no parameter that is used more than once to change

// Of two uses in a stage the first is left, and of two stages that use a parameter the first.
// CHECK: pp.place 0 stage 0 backward
// CHECK-NEXT: %[[A:.*]] = pp.exp
// CHECK: pp.add_grad %[[U:.*]], %[[A]] : tensor<4xf32>
// CHECK: pp.add_grad %[[V:.*]], %[[A]] : tensor<4xf32>
// CHECK: pp.place 1 stage 1 backward
// CHECK-NOT: pp.add_grad
// CHECK: return
func.func @m(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>) {
  %loss = pp.constant dense<0.0> : tensor<f32>
  %u = pp.param "u" {init = #pp.init<zeros>} : tensor<4xf32>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    %0 = pp.exp %x : tensor<4xf32>
    %1 = pp.add %0, %x : tensor<4xf32>, tensor<4xf32>
    pp.add_grad %u, %1 : tensor<4xf32>
    pp.add_grad %v, %0 : tensor<4xf32>
    pp.yield
  }
  pp.place 1 stage 1 backward {
    %0 = pp.exp %x : tensor<4xf32>
    pp.add_grad %v, %0 : tensor<4xf32>
    pp.yield
  }
  return %loss : tensor<f32>
}
