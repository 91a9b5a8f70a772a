// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --split-input-file --verify-diagnostics | FileCheck %s
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1" --pp-place-ops --pp-autodiff --canonicalize --pp-shard --split-input-file | FileCheck %s --check-prefix=WHOLE

// A count is complete wherever it is read.
// CHECK-LABEL: func.func @one_more
// CHECK: %[[PART:.*]] = pp.count %arg1
// CHECK: %[[COUNT:.*]] = pp.batch_sum %[[PART]] {count{{.*}} : tensor<f64>
// CHECK: %[[MORE:.*]] = pp.add %[[COUNT]], %{{.*}} : tensor<f64>, tensor<f64>
// CHECK: pp.div %{{.*}}, %[[MORE]]
func.func @one_more(%x: tensor<8x3xf64> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf64>
  %0 = pp.mul %x, %w : tensor<8x3xf64>, tensor<3xf64>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x3xf64>
  %2 = pp.count %t {ignore_index = -1 : i64} : tensor<8xi32> to tensor<f64>
  %c = pp.constant dense<1.0> : tensor<f64>
  %3 = pp.add %2, %c : tensor<f64>, tensor<f64>
  %4 = pp.div %1, %3 : tensor<f64>, tensor<f64>
  return %4 : tensor<f64>
}

// -----

// Arithmetic on a sum of inputs is a sum of inputs still: each tile adds its share of the constant.
// CHECK-LABEL: func.func @weights_and_one
// CHECK: %[[SUM:.*]] = pp.reduce sum %arg1
// CHECK: %[[SHARE:.*]] = pp.mul
// CHECK: %[[PART:.*]] = pp.add %[[SUM]], %[[SHARE]]
// CHECK: %[[ALL:.*]] = pp.batch_sum %[[PART]]{{.*}} : tensor<f64>
// CHECK: pp.div %{{.*}}, %[[ALL]]
func.func @weights_and_one(%x: tensor<8x3xf64> {pp.input = "x"}, %t: tensor<8xf64> {pp.input = "t"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf64>
  %0 = pp.mul %x, %w : tensor<8x3xf64>, tensor<3xf64>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x3xf64>
  %2 = pp.reduce sum %t [0] : tensor<8xf64>
  %c = pp.constant dense<1.0> : tensor<f64>
  %3 = pp.add %2, %c : tensor<f64>, tensor<f64>
  %4 = pp.div %1, %3 : tensor<f64>, tensor<f64>
  return %4 : tensor<f64>
}

// -----

// A sum of inputs is complete where it meets a parameter, so that what follows may be anything.
// CHECK-LABEL: func.func @meets_parameter
// CHECK: %[[PART:.*]] = pp.reduce sum %arg0
// CHECK: %[[ALL:.*]] = pp.batch_sum %[[PART]]
// CHECK: %[[M:.*]] = pp.mul %[[ALL]], %
// CHECK: pp.tanh %[[M]]
func.func @meets_parameter(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf64>
  %0 = pp.reduce sum %x [0] : tensor<8x3xf64>
  %1 = pp.mul %0, %w : tensor<3xf64>, tensor<3xf64>
  %2 = pp.tanh %1 : tensor<3xf64>
  %3 = pp.reduce sum %2 [0] : tensor<3xf64>
  return %3 : tensor<f64>
}

// -----

// The gradient of a mean that is scaled by a sum of inputs has rows that are made of the complete sum.
// CHECK-LABEL: func.func @scaled_mean
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.broadcast %{{.*}} : tensor<f64> to tensor<2x3xf64>
func.func @scaled_mean(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf64>
  %0 = pp.mul %x, %w : tensor<8x3xf64>, tensor<3xf64>
  %1 = pp.tanh %0 : tensor<8x3xf64>
  %2 = pp.reduce sum %1 [0, 1] : tensor<8x3xf64>
  %3 = pp.reduce sum %x [0, 1] : tensor<8x3xf64>
  %4 = pp.mul %2, %3 : tensor<f64>, tensor<f64>
  return %4 : tensor<f64>
}

// -----

// Where nothing is cut, anything goes; elsewhere the error names the plan that takes it.
// WHOLE-LABEL: func.func @square
// WHOLE: pp.mul %{{.*}}, %{{.*}} : tensor<f64>, tensor<f64>
func.func @square(%x: tensor<8xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<f64>
  %0 = pp.mul %x, %w : tensor<8xf64>, tensor<f64>
  // expected-note @+2 {{operand 0 is such a sum}}
  // expected-note @+1 {{operand 1 is such a sum}}
  %1 = pp.reduce sum %0 [0] : tensor<8xf64>
  // expected-error @+1 {{compute it from inputs alone; it compiles with --microbatches 1: an op that mixes rows has no equal step over microbatches}}
  %2 = pp.mul %1, %1 : tensor<f64>, tensor<f64>
  return %2 : tensor<f64>
}

// -----

// WHOLE-LABEL: func.func @softmax_of_rows
// WHOLE: pp.softmax %{{.*}} : tensor<3x8xf64>
func.func @softmax_of_rows(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x3xf64>
  // expected-note @-1 {{it is made here}}
  // expected-error @+1 {{does not come from the model's inputs; it compiles with --microbatches 1: an op that mixes rows has no equal step over microbatches}}
  %0 = pp.mul %x, %w : tensor<8x3xf64>, tensor<8x3xf64>
  %1 = pp.transpose %0 [1, 0] : tensor<8x3xf64>
  %2 = pp.softmax %1 : tensor<3x8xf64>
  %3 = pp.mul %2, %2 : tensor<3x8xf64>, tensor<3x8xf64>
  %4 = pp.reduce sum %3 [0, 1] : tensor<3x8xf64>
  return %4 : tensor<f64>
}

// -----

// Each tile computes the whole gradient of a penalty, and adds its share; of the other parameter it adds its part.
// CHECK-LABEL: func.func @penalty
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK: %[[V:.*]] = pp.param "v"
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.add_grad %[[W]], %{{.*}} : tensor<3xf64>
// CHECK-NEXT: pp.add_grad %[[V]], %{{.*}} {{{.*}}tiles = 4 : i64}{{.*}} : tensor<3xf64>
// WHOLE-LABEL: func.func @penalty
// WHOLE-NOT: tiles
func.func @penalty(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf64>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<3xf64>
  %0 = pp.mul %x, %w : tensor<8x3xf64>, tensor<3xf64>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x3xf64>
  %2 = pp.tanh %v : tensor<3xf64>
  %3 = pp.reduce sum %2 [0] : tensor<3xf64>
  %4 = pp.add %1, %3 : tensor<f64>, tensor<f64>
  return %4 : tensor<f64>
}
