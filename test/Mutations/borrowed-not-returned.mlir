// RUN: %mutate opt %s --mutate-borrowed-not-returned | FileCheck %s
// RUN: sed 's/pp.task collect/pp.task update/' %s | not %mutate opt --mutate-borrowed-not-returned 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no task that collects gradients to change

// Place 2's gradients arrive, and no task has an argument for them.
// CHECK: pp.transfer @b0_from_2
// CHECK: pp.task collect @p0_C_b0(%[[ONE:.*]]: tensor<64xf32> {pp.role = #pp.role<received, "b0_from_1">}, %[[SUM:[^:]*]]: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) ->
// CHECK-NEXT: %[[D:.*]] = pp.accumulate %[[SUM]], %[[ONE]]
// CHECK-NEXT: pp.return %[[D]]
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.transfer @b0_from_1 "b0" from 1 to 0 stage 1 to 0 {step} : tensor<64xf32>
pp.transfer @b0_from_2 "b0" from 2 to 0 stage 2 to 0 {step} : tensor<64xf32>
pp.task collect @p0_C_b0(%a: tensor<64xf32> {pp.role = #pp.role<received, "b0_from_1">}, %d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %b: tensor<64xf32> {pp.role = #pp.role<received, "b0_from_2">})
    -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %a : tensor<64xf32>
  %1 = pp.accumulate %0, %b : tensor<64xf32>
  pp.return %1 : tensor<64xf32>
}
