// RUN: split-file %s %t
// RUN: ppopt opt %t/skip.mlir --pp-insert-plan="mesh=dp=1,pp=2 microbatches=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/skip.mlir
// RUN: ppopt opt %t/skip.mlir --pp-insert-plan="mesh=dp=1,pp=2 microbatches=2 schedule=zb-h1" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/skip.mlir --check-prefix=SPLIT
// RUN: ppopt opt %t/pass-on.mlir --pp-insert-plan="mesh=dp=1,pp=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/pass-on.mlir
// RUN: ppopt opt %t/relay.mlir --pp-insert-plan="mesh=dp=1,pp=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks | FileCheck %t/relay.mlir
// RUN: not ppopt opt %t/gone.mlir --pp-insert-plan="mesh=dp=1,pp=2" --pp-split-tasks 2>&1 | FileCheck %t/gone.mlir

//--- skip.mlir
// Stage 0 feeds stage 2 on its own place directly and stage 1 by a copy.

// CHECK: pp.param_decl "w" {{.*}}places = array<i64: 0, 1>

// CHECK-LABEL: pp.task forward stage 0 @s0_F(
// CHECK-SAME: -> {{\(?}}tensor<4x4xf32>{{( {pp.sharding = #pp.sharding<[^>]*>})?\)?}} {
// CHECK-LABEL: pp.task forward stage 1 on 1 @s1_F(
// CHECK-SAME: -> {{\(?}}tensor<4x4xf32>{{( {pp.sharding = #pp.sharding<[^>]*>})?\)?}} {
// CHECK-LABEL: pp.task forward stage 2 @s2_F(
// CHECK-SAME: #pp.role<loss, "loss">

// The gradient of what stage 0 made comes on two ways: from stage 2 on its own place, and back from stage 1.
// CHECK-LABEL: pp.task backward stage 2 @s2_B(
// CHECK-SAME: -> (tensor<4x4xf32>{{.*}}, tensor<4x4xf32>
// CHECK-LABEL: pp.task backward stage 1 on 1 @s1_B(
// CHECK-SAME: #pp.role<grad, "w">
// CHECK-LABEL: pp.task backward stage 0 @s0_B(
// CHECK-SAME: #pp.role<grad, "w">

// CHECK: pp.step microbatch {
// CHECK: %[[F0:.*]] = pp.call @s0_F()
// CHECK: %[[H:.*]] = pp.copy %[[F0]] from 0 to 1 {id = 0 : i64{{.*}}} : tensor<4x4xf32>
// CHECK: %[[F1:.*]] = pp.call @s1_F(%[[H]])
// CHECK: %[[A:.*]] = pp.copy %[[F1]] from 1 to 0 {id = 1 : i64{{.*}}} : tensor<4x4xf32>
// CHECK: pp.call @s2_F(%[[A]], %[[F0]])
// CHECK: %[[B2:[0-9]+]]:2 = pp.call @s2_B(
// CHECK: %[[GA:.*]] = pp.copy %[[B2]]#[[K:[01]]] from 0 to 1 {gradient_of = 1 : i64, id = 2 : i64{{.*}}}
// CHECK: %[[B1:.*]] = pp.call @s1_B({{.*}}%[[GA]]
// CHECK: %[[GH:.*]] = pp.copy %[[B1]] from 1 to 0 {gradient_of = 0 : i64, id = 3 : i64{{.*}}}
// CHECK: pp.call @s0_B({{.*}}%[[B2]]#{{.*}}%[[GH]]
// CHECK: } evaluation {
// CHECK-NOT: gradient_of

// With the backward split, the weight part takes the gradient of the activation and has the sum over rows.
// SPLIT-LABEL: pp.task backward_input stage 1 on 1 @s1_I(
// SPLIT-NOT: pp.reduce
// SPLIT: pp.return
// SPLIT-LABEL: pp.task backward_weight stage 1 on 1 @s1_W(
// SPLIT-SAME: -> (tensor<4xf32> {pp.role = #pp.role<grad, "w">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// SPLIT: pp.reduce
// SPLIT-NOT: pp.task backward stage
// SPLIT: %[[I1:.*]]:{{.*}} = pp.call @s1_I(
// SPLIT: pp.call @s1_W({{.*}}%[[I1]]
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
// CHECK-SAME: %[[G:[a-z0-9]*]]: tensor<8x4xf32>
// CHECK-SAME: -> {{\(?}}tensor<8x4xf32>{{( {pp.sharding = #pp.sharding<[^>]*>})?\)?}} {
// CHECK: pp.return %[[G]]
// CHECK: %[[IN:.*]] = pp.copy {{.*}} from 0 to 1 {gradient_of = 1 : i64, id = 2 : i64{{.*}}}
// CHECK: %[[OUT:.*]] = pp.call @s1_B(%[[IN]])
// CHECK: pp.copy %[[OUT]] from 1 to 0 {gradient_of = 0 : i64, id = 3 : i64{{.*}}}
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
// Two stages of one place hand on what it received, each as a value of its own. The gradient of a sum is constant and is sent nowhere.

// CHECK-LABEL: pp.task forward stage 1 on 1 @s1_F(
// CHECK-SAME: -> {{\(?}}tensor<8x4xf32>{{( {pp.sharding = #pp.sharding<[^>]*>})?\)?}} {
// CHECK-LABEL: pp.task forward stage 3 on 1 @s3_F(
// CHECK-SAME: -> {{\(?}}tensor<8x4xf32>
// CHECK-NOT: gradient_of
// CHECK: %[[X0:[0-9]+]] = pp.copy {{.*}} from 0 to 1 {id = 0 : i64
// CHECK: %[[V1:[0-9]+]] = pp.call @s1_F(%[[X0]])
// CHECK: pp.copy %[[V1]] from 1 to 0 {id = 1 : i64
// CHECK: %[[V3:[0-9]+]]:2 = pp.call @s3_F(%[[X0]],
// CHECK: pp.copy %[[V3]]#0 from 1 to 0 {id = 2 : i64
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
