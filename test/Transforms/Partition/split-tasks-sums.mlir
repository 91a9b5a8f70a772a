// RUN: split-file %s %t
// RUN: ppopt opt %t/elsewhere.mlir --pp-insert-plan="mesh=dp=2,pp=3 microbatches=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --pp-form-buckets --pp-verify-tasks --pp-schedule --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots --pp-verify-schedule | FileCheck %t/elsewhere.mlir
// RUN: ppopt opt %t/scaled.mlir --pp-insert-plan="mesh=dp=1,pp=2 microbatches=2" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --pp-form-buckets --pp-verify-tasks | FileCheck %t/scaled.mlir
// RUN: ppopt opt %t/scaled.mlir --pp-insert-plan="mesh=dp=1,pp=2 microbatches=2 schedule=zb-h1" --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --pp-form-buckets --pp-verify-tasks | FileCheck %t/scaled.mlir --check-prefix=SPLIT
// RUN: ppopt opt %t/nested.mlir --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard --pp-split-tasks --pp-form-buckets --pp-verify-tasks --pp-schedule --pp-insert-collectives --pp-assign-slots --pp-verify-schedule | FileCheck %t/nested.mlir

//--- elsewhere.mlir
// A sum of inputs that later places read is the prologue's: nothing of it is computed by a stage or sent.

// CHECK: pp.task prologue @p0_P(
// CHECK-SAME: -> (tensor<3xf64> {pp.role = #pp.role<global, "g0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.task forward stage 0 @s0_F() {
// CHECK: pp.task forward stage 1 on 1 @s1_F() {
// CHECK: pp.task forward stage 2 on 2 @s2_F(
// CHECK-SAME: #pp.role<global, "g0">
// CHECK: pp.task backward stage 2 on 2 @s2_B(
// CHECK-NOT: pp.copy
func.func @elsewhere(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 2 : i64} : tensor<3xf64>
  %0 = pp.place 0 stage 0 -> tensor<3xf64> {
    %s = pp.reduce sum %x [0] : tensor<8x3xf64>
    pp.yield %s : tensor<3xf64>
  }
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<3xf64>
  %2 = pp.place 1 stage 1 -> tensor<3xf64> {
    %c = pp.constant dense<0.125> : tensor<f64>
    %s = pp.mul %1, %c : tensor<3xf64>, tensor<f64>
    pp.yield %s : tensor<3xf64>
  }
  %3 = pp.copy %2 from 1 to 2 {id = 1 : i64} : tensor<3xf64>
  %4 = pp.place 2 stage 2 -> tensor<f64> {
    %d = pp.sub %x, %3 : tensor<8x3xf64>, tensor<3xf64>
    %m = pp.mul %d, %w : tensor<8x3xf64>, tensor<3xf64>
    %t = pp.tanh %m : tensor<8x3xf64>
    %s = pp.reduce sum %t [0, 1] : tensor<8x3xf64>
    pp.yield %s : tensor<f64>
  }
  return %4 : tensor<f64>
}

//--- scaled.mlir
// The gradient of w is one that comes by a copy, the same on each tile, of which each microbatch adds its share.

// CHECK-LABEL: pp.task backward stage 0 @s0_B(
// CHECK-SAME: %[[G:[a-z0-9]*]]: tensor<3xf64>
// CHECK: %[[HALF:.*]] = pp.constant dense<5.000000e-01>
// CHECK: %[[SHARE:.*]] = pp.mul %[[G]], %[[HALF]]
// CHECK: pp.accumulate %{{.*}}, %[[SHARE]]
// CHECK: pp.copy %{{.*}} from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64

// With the backward split, the weight part takes it too.
// SPLIT-LABEL: pp.task backward_weight stage 0 @s0_W(
// SPLIT-SAME: %{{[a-z0-9]*}}: tensor<3xf64>
// SPLIT: pp.copy %{{.*}} from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64
func.func @scaled(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64} : tensor<3xf64>
  %v = pp.param "v" {init = #pp.init<zeros>, place = 1 : i64} : tensor<3xf64>
  %0 = pp.place 0 stage 0 -> tensor<3xf64> {
    %c = pp.constant dense<1.0> : tensor<f64>
    %s = pp.add %w, %c : tensor<3xf64>, tensor<f64>
    pp.yield %s : tensor<3xf64>
  }
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<3xf64>
  %2 = pp.place 1 stage 1 -> tensor<f64> {
    %t = pp.tanh %1 : tensor<3xf64>
    %p = pp.reduce sum %t [0] : tensor<3xf64>
    %m = pp.mul %x, %v : tensor<8x3xf64>, tensor<3xf64>
    %s = pp.reduce sum %m [0, 1] : tensor<8x3xf64>
    %l = pp.add %p, %s : tensor<f64>, tensor<f64>
    pp.yield %l : tensor<f64>
  }
  return %2 : tensor<f64>
}

//--- nested.mlir
// A sum of what needs another sum has a prologue of its own, after the sum over ranks of the other.

// CHECK: pp.task prologue @p0_P(
// CHECK-SAME: -> (tensor<3xf64> {pp.role = #pp.role<global, "g0">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.task prologue @p0_P1(
// CHECK-SAME: #pp.role<global, "g0">
// CHECK-SAME: -> (tensor<3xf64> {pp.role = #pp.role<global, "g1">{{(, pp.sharding = #pp.sharding<[^>]*>)?}}})
// CHECK: pp.schedule
// CHECK: pp.run @p0_P microbatch 0
// CHECK: pp.run @p0_P microbatch 1
// CHECK: %[[S0:[0-9]+]] = pp.start all_reduce {{.*}}<global, "g0">
// CHECK: pp.wait %[[S0]]
// CHECK: pp.run @p0_P1 microbatch 0
// CHECK: pp.run @p0_P1 microbatch 1
// CHECK: %[[S1:[0-9]+]] = pp.start all_reduce {{.*}}<global, "g1">
// CHECK: pp.wait %[[S1]]
// CHECK-NEXT: {{.*}}pp.run @s0_
func.func @nested(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf64>
  %m = pp.reduce sum %x [0] : tensor<8x3xf64>
  %d = pp.sub %x, %m : tensor<8x3xf64>, tensor<3xf64>
  %q = pp.mul %d, %d : tensor<8x3xf64>, tensor<8x3xf64>
  %v = pp.reduce sum %q [0] : tensor<8x3xf64>
  %n = pp.div %d, %v : tensor<8x3xf64>, tensor<3xf64>
  %p = pp.mul %n, %w : tensor<8x3xf64>, tensor<3xf64>
  %t = pp.tanh %p : tensor<8x3xf64>
  %s = pp.reduce sum %t [0, 1] : tensor<8x3xf64>
  return %s : tensor<f64>
}
