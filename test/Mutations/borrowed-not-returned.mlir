// RUN: ppopt opt %s --pp-verify-tasks
// RUN: %mutate opt %s --mutate-borrowed-not-returned > %t
// RUN: FileCheck %s < %t
// RUN: not ppopt opt %t --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: sed 's/pp.task collect/pp.task update/' %s | not %mutate opt --mutate-borrowed-not-returned 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no task that collects gradients to change

// Place 2's gradients arrive, and no task has an argument for them.
// CHECK: pp.task collect @p0_C_b0(%[[ONE:.*]]: tensor<64xf32>, %[[SUM:[^:]*]]: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) ->
// CHECK-NEXT: %[[D:.*]] = pp.accumulate %[[SUM]], %[[ONE]]
// CHECK-NEXT: pp.return %[[D]]
// CHECK: %[[ONE:[0-9]+]] = pp.copy_bucket @b0 from 1 to 0
// CHECK-NEXT: pp.copy_bucket @b0 from 2 to 0
// CHECK-NEXT: pp.call @p0_C_b0(%[[ONE]])
// REFUSED: error: 'pp.copy_bucket' op brings gradients that no task adds
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", tied = "owner", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<64xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1, 2>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1, 2>}
pp.task collect @p0_C_b0(%a: tensor<64xf32>, %d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %b: tensor<64xf32>)
    -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %a : tensor<64xf32>
  %1 = pp.accumulate %0, %b : tensor<64xf32>
  pp.return %1 : tensor<64xf32>
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
  pp.copy_bucket @b0 from 0 to 2 {id = 2 : i64}
} end {
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
  %1 = pp.copy_bucket @b0 from 2 to 0 {gradient_of = 2 : i64, id = 3 : i64} : tensor<64xf32>
  pp.call @p0_C_b0(%0, %1) : (tensor<64xf32>, tensor<64xf32>) -> ()
}
