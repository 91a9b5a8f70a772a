// Rows that can be computed apart are evaluated apart; where they meet, the plan says where.
// RUN: ppopt opt %s --pp-choose-evaluation --split-input-file | FileCheck %s

// CHECK: pp.plan {{{.*}}evaluates_rows
// CHECK-NOT: mixes_rows
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @apart(%x: tensor<4x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %l = pp.reduce mean %x [0, 1] : tensor<4x3xf32>
    pp.yield %l : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK: pp.plan {
// CHECK-NOT: evaluates_rows
// CHECK-SAME: mixes_rows = "{{.*}}choose-evaluation.mlir:[[# @LINE + 4]]:10: 'pp.matmul' op can't be split over the batch: {{[^;]*}}"
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @meet(%x: tensor<4x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %s = pp.matmul %x, %x {transpose_rhs} : tensor<4x3xf32>, tensor<4x3xf32>
    %e = pp.exp %s : tensor<4x4xf32>
    %l = pp.reduce mean %e [0, 1] : tensor<4x4xf32>
    pp.yield %l : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK: mixes_rows = "{{.*}}choose-evaluation.mlir:[[# @LINE + 4]]:10: it numbers the rows of a batch"
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @numbered(%x: tensor<4x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %i = pp.iota {dim = 0 : i64} -> tensor<4x3xf32>
    %j = pp.tanh %i : tensor<4x3xf32>
    %y = pp.mul %x, %j : tensor<4x3xf32>, tensor<4x3xf32>
    %l = pp.reduce mean %y [0, 1] : tensor<4x3xf32>
    pp.yield %l : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// CHECK: mixes_rows = "a batch has one row
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @one(%x: tensor<1x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %l = pp.reduce mean %x [0, 1] : tensor<1x3xf32>
    pp.yield %l : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// What training alone computes may mix rows: what an evaluation reads is the state.
// CHECK: pp.plan {{{.*}}evaluates_rows
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @modes(%x: tensor<4x3xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<3xf32> {pp.proposal = "s"}) {
  %s = pp.param "s" {init = #pp.init<zeros>, state} : tensor<3xf32>
  %0:2 = pp.place 0 stage 0 -> tensor<f32>, tensor<3xf32> {
    %m = pp.reduce mean %x [0] : tensor<4x3xf32>
    %e = pp.exp %m : tensor<3xf32>
    %b = pp.by_mode %e, %s : tensor<3xf32>
    %y = pp.mul %x, %b : tensor<4x3xf32>, tensor<3xf32>
    %l = pp.reduce mean %y [0, 1] : tensor<4x3xf32>
    pp.yield %l, %e : tensor<f32>, tensor<3xf32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<3xf32>
}

// -----

// CHECK: mixes_rows = "{{.*}}choose-evaluation.mlir:[[# @LINE + 6]]:10: 'pp.reduce' op can't be split over the batch
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @other_mode(%x: tensor<4x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<zeros>, frozen} : tensor<3xf32>
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %e = pp.tanh %x : tensor<4x3xf32>
    %n = pp.reduce max %e [0] : tensor<4x3xf32>
    %b = pp.by_mode %s, %n : tensor<3xf32>
    %y = pp.mul %x, %b : tensor<4x3xf32>, tensor<3xf32>
    %l = pp.reduce mean %y [0, 1] : tensor<4x3xf32>
    pp.yield %l : tensor<f32>
  }
  return %0 : tensor<f32>
}
