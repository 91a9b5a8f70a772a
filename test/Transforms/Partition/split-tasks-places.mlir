// RUN: split-file %s %t
// RUN: ppopt opt %t/skip.mlir --pp-insert-plan="mesh=dp=1,pp=2 microbatches=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/skip.mlir
// RUN: ppopt opt %t/skip.mlir --pp-insert-plan="mesh=dp=1,pp=2 microbatches=2 schedule=zb-h1" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/skip.mlir --check-prefix=SPLIT
// RUN: ppopt opt %t/pass-on.mlir --pp-insert-plan="mesh=dp=1,pp=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/pass-on.mlir
// RUN: ppopt opt %t/relay.mlir --pp-insert-plan="mesh=dp=1,pp=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/relay.mlir
// RUN: not ppopt opt %t/gone.mlir --pp-insert-plan="mesh=dp=1,pp=2" --pp-split-tasks 2>&1 | FileCheck %t/gone.mlir

//--- skip.mlir
// Stage 0 feeds stage 2 on its own place directly and stage 1 by a transfer.

// CHECK: pp.param_decl "w" {{.*}}places = array<i64: 0, 1>

// CHECK-LABEL: pp.task forward stage 0 @s0_F(
// CHECK-SAME: -> (tensor<4x4xf32> {pp.role = #pp.role<saved, "s0.v0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK-LABEL: pp.task forward stage 1 on 1 @s1_F(
// CHECK-SAME: #pp.role<received, "x0">
// CHECK-SAME: -> (tensor<4x4xf32> {pp.role = #pp.role<saved, "s1.v0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK-LABEL: pp.task forward stage 2 @s2_F(
// CHECK-SAME: #pp.role<received, "x1">
// CHECK-SAME: #pp.role<saved, "s0.v0">
// CHECK-SAME: #pp.role<loss, "loss">

// The gradient of what stage 0 made comes on two ways: from stage 2 on its own place, and back from stage 1.
// CHECK-LABEL: pp.task backward stage 2 @s2_B(
// CHECK-SAME: -> (tensor<4x4xf32> {pp.role = #pp.role<saved, "s2.g0">{{.*}}, tensor<4x4xf32> {pp.role = #pp.role<saved, "s2.g1">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK-LABEL: pp.task backward stage 1 on 1 @s1_B(
// CHECK-SAME: #pp.role<grad, "w">
// CHECK-LABEL: pp.task backward stage 0 @s0_B(
// CHECK-SAME: #pp.role<saved, "s2.g{{[01]}}">
// CHECK-SAME: #pp.role<grad, "w">

// CHECK: pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 {{{.*}}requires_grad} : tensor<4x4xf32>
// CHECK: pp.transfer @x1 "s1.v0" from 1 to 0 stage 1 to 2 {{{.*}}requires_grad} : tensor<4x4xf32>
// CHECK-DAG: pp.transfer @x2 "s2.g{{[01]}}" from 0 to 1 stage 2 to 1 {gradient_of = @x1{{.*}}}
// CHECK-DAG: pp.transfer @x3 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0{{.*}}}

// With the backward split, the weight part takes the gradient of the activation and has the sum over rows.
// SPLIT-LABEL: pp.task backward_input stage 1 on 1 @s1_I(
// SPLIT-NOT: pp.reduce
// SPLIT: pp.return
// SPLIT-LABEL: pp.task backward_weight stage 1 on 1 @s1_W(
// SPLIT-SAME: #pp.role<saved, "s1.w0">
// SPLIT-SAME: -> (tensor<4xf32> {pp.role = #pp.role<grad, "w">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// SPLIT: pp.reduce
// SPLIT-NOT: pp.task backward stage
func.func @skip(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %w1 = pp.param "w" {init = #pp.init<zeros>, place = 1 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w0 : tensor<8x4xf32>, tensor<4xf32>
    %1 = pp.softmax %0 : tensor<8x4xf32>
    pp.yield %1 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
  %a = pp.place 1 stage 1 -> tensor<8x4xf32> {
    %0 = pp.mul %h1, %w1 : tensor<8x4xf32>, tensor<4xf32>
    %1 = pp.softmax %0 : tensor<8x4xf32>
    pp.yield %1 : tensor<8x4xf32>
  }
  %a0 = pp.copy %a from 1 to 0 {id = 1 : i64} : tensor<8x4xf32>
  %l = pp.place 0 stage 2 -> tensor<f32> {
    %0 = pp.mul %a0, %h : tensor<8x4xf32>, tensor<8x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

//--- pass-on.mlir
// The gradient of a sum is the gradient of its terms: stage 1 hands on what it receives, as a value of its own.

// CHECK-LABEL: pp.task backward stage 1 on 1 @s1_B(
// CHECK-SAME: %[[G:.*]]: tensor<8x4xf32> {pp.role = #pp.role<received, "x2">
// CHECK-SAME: -> (tensor<8x4xf32> {pp.role = #pp.role<saved, "s1.g0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.return %[[G]]
// CHECK: pp.transfer @x2 "s2.g0" from 0 to 1 stage 2 to 1 {gradient_of = @x1{{.*}}}
// CHECK: pp.transfer @x3 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0{{.*}}}
func.func @pass_on(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w0 : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
  %a = pp.place 1 stage 1 -> tensor<8x4xf32> {
    %0 = pp.add %h1, %x : tensor<8x4xf32>, tensor<8x4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %a0 = pp.copy %a from 1 to 0 {id = 1 : i64} : tensor<8x4xf32>
  %l = pp.place 0 stage 2 -> tensor<f32> {
    %0 = pp.exp %a0 : tensor<8x4xf32>
    %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}

//--- relay.mlir
// Two stages of one place hand on what it received, each under a name of its own. The gradient of a sum is constant and is sent nowhere.

// CHECK-LABEL: pp.task forward stage 1 on 1 @s1_F(
// CHECK-SAME: #pp.role<received, "x0">
// CHECK-SAME: -> (tensor<8x4xf32> {pp.role = #pp.role<saved, "s1.v0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK-LABEL: pp.task forward stage 3 on 1 @s3_F(
// CHECK-SAME: #pp.role<received, "x0">
// CHECK-SAME: -> (tensor<8x4xf32> {pp.role = #pp.role<saved, "s3.v0">
// CHECK-NOT: gradient_of
// CHECK: pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 :
// CHECK: pp.transfer @x1 "s1.v0" from 1 to 0 stage 1 to 2 :
// CHECK: pp.transfer @x2 "s3.v0" from 1 to 0 stage 3 to 4 :
// CHECK-NOT: gradient_of
func.func @relay(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<4xf32>
  %h = pp.place 0 stage 0 -> tensor<8x4xf32> {
    %0 = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %h1 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
  %d = pp.place 1 stage 1 -> tensor<8x4xf32> {
    %0 = pp.detach %h1 : tensor<8x4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %d0 = pp.copy %d from 1 to 0 {id = 1 : i64} : tensor<8x4xf32>
  %e = pp.place 0 stage 2 -> tensor<8x4xf32> {
    %0 = pp.mul %d0, %w : tensor<8x4xf32>, tensor<4xf32>
    pp.yield %0 : tensor<8x4xf32>
  }
  %e1 = pp.copy %e from 0 to 1 {id = 3 : i64} : tensor<8x4xf32>
  %f, %s = pp.place 1 stage 3 -> tensor<8x4xf32>, tensor<f32> {
    %0 = pp.detach %h1 : tensor<8x4xf32>
    %1 = pp.reduce sum %e1 [0, 1] : tensor<8x4xf32>
    pp.yield %0, %1 : tensor<8x4xf32>, tensor<f32>
  }
  %f0 = pp.copy %f from 1 to 0 {id = 2 : i64} : tensor<8x4xf32>
  %s0 = pp.copy %s from 1 to 0 {id = 4 : i64} : tensor<f32>
  %m = pp.place 0 stage 4 -> tensor<f32> {
    %0 = pp.reduce sum %f0 [0, 1] : tensor<8x4xf32>
    %1 = pp.add %0, %s0 : tensor<f32>, tensor<f32>
    pp.yield %1 : tensor<f32>
  }
  return %m : tensor<f32>
}

//--- gone.mlir
// CHECK: error: has nothing left of stage 0: no result of it reaches the loss
func.func @gone(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %l = pp.place 1 stage 1 -> tensor<f32> {
    %1 = pp.reduce sum %x [0, 1] : tensor<8x4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %l : tensor<f32>
}
