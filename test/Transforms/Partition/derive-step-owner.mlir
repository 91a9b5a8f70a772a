// RUN: ppopt opt %s --pp-derive-step --pp-verify-tasks | FileCheck %s

// What is borrowed goes once, before all microbatches, and its gradients come back after them.
// CHECK: pp.step begin {
// CHECK-NEXT: pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}{{$}}
// CHECK-NEXT: } microbatch {
// CHECK: } end {
// CHECK-NEXT: %[[G:.*]] = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
// CHECK-NEXT: pp.call @p0_C(%[[G]]) : (tensor<64xf32>) -> ()
// CHECK-NEXT: pp.call @p0_N() : () -> ()
// CHECK-NEXT: pp.call @p0_U() : () -> ()
// CHECK-NEXT: }
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
