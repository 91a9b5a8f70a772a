// RUN: ppopt opt %s --pp-derive-step --pp-verify-tasks | FileCheck %s

// What both backwards and forwards read on another place is copied once; an evaluation copies what it reads.
// CHECK: pp.step prologue {
// CHECK-NEXT: pp.call @p0_P() : () -> ()
// CHECK-NEXT: } microbatch {
// CHECK-NEXT: %[[H:.*]] = pp.call @s0_F() : () -> tensor<1x4xf32>
// CHECK-NEXT: %[[X:.*]] = pp.copy %[[H]] from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
// CHECK-NEXT: %[[T:.*]] = pp.call @s1_F(%[[X]]) : (tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: %[[B:.*]] = pp.call @s1_B(%[[X]], %[[T]]) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: %[[G:.*]] = pp.copy %[[B]] from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<1x4xf32>
// CHECK-NEXT: pp.call @s0_B(%[[H]], %[[G]]) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
// CHECK-NEXT: } evaluation {
// CHECK-NEXT: %[[H:.*]] = pp.call @s0_F() : () -> tensor<1x4xf32>
// CHECK-NEXT: %[[X:.*]] = pp.copy %[[H]] from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
// CHECK-NEXT: pp.call @s1_F(%[[X]]) : (tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: } end {
// CHECK-NEXT: pp.call @p0_D() : () -> ()
// CHECK-NEXT: }
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "x" {shift = 0 : i64, type = tensor<2x4xf32>}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<1x4xf32>
pp.transfer @x1 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<1x4xf32>
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> (tensor<1x4xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<1x4xf32> {pp.role = #pp.role<received, "x0">}) -> (tensor<1x4xf32> {pp.role = #pp.role<saved, "s1.v0">}) {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<1x4xf32> {pp.role = #pp.role<received, "x0">}, %h: tensor<1x4xf32> {pp.role = #pp.role<saved, "s1.v0">}) -> (tensor<1x4xf32> {pp.role = #pp.role<saved, "s1.g0">}) {
  %0 = pp.mul %x, %h : tensor<1x4xf32>, tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 0 @s0_B(%h: tensor<1x4xf32> {pp.role = #pp.role<saved, "s0.v0">}, %g: tensor<1x4xf32> {pp.role = #pp.role<received, "x1">}) {
  pp.return
}
pp.task decide @p0_D() {
  pp.return
}
pp.task prologue @p0_P(%g: tensor<f32> {pp.role = #pp.role<global, "g">}) -> (tensor<f32> {pp.role = #pp.role<global, "g">}) {
  pp.return %g : tensor<f32>
}
