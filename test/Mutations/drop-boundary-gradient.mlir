// RUN: %mutate opt %s --mutate-drop-boundary-gradient | FileCheck %s
// RUN: sed 's/, gradient_of = 0 : i64//' %s | not %mutate opt --mutate-drop-boundary-gradient 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no gradient that crosses places to change

// CHECK: %[[ZERO:.*]] = pp.constant dense<0.000000e+00> : tensor<4xf32>
// CHECK: pp.copy %{{.*}} from 0 to 1 {id = 0 : i64}
// CHECK-NOT: gradient_of
// CHECK: pp.add_grad %{{.*}}, %[[ZERO]]
func.func @m(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>) {
  %loss = pp.constant dense<0.0> : tensor<f32>
  %u = pp.param "u" {init = #pp.init<zeros>} : tensor<4xf32>
  %there = pp.copy %u from 0 to 1 {id = 0 : i64} : tensor<4xf32>
  %back = pp.copy %there from 1 to 0 {id = 1 : i64, gradient_of = 0 : i64} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    pp.add_grad %u, %back : tensor<4xf32>
    pp.yield
  }
  return %loss : tensor<f32>
}
