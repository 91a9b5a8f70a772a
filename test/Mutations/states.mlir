// Mutations of tasks of states.

// RUN: %mutate opt %s --mutate-commit-ignores-hold | FileCheck %s --check-prefix=HOLD
// RUN: %mutate opt %s --mutate-evaluation-reads-proposal | FileCheck %s --check-prefix=EVALUATION
// RUN: %mutate opt %s --mutate-open-left-out | FileCheck %s --check-prefix=OPEN
// RUN: sed 's/, state}/}/; s/^pp.task commit/pp.task update/; s/^pp.task open/pp.task update/' %s > %t
// RUN: not %mutate opt %t --mutate-commit-ignores-hold 2>&1 | FileCheck %s --check-prefix=NO-COMMIT
// RUN: not %mutate opt %t --mutate-evaluation-reads-proposal 2>&1 | FileCheck %s --check-prefix=NO-EVALUATION
// RUN: not %mutate opt %t --mutate-open-left-out 2>&1 | FileCheck %s --check-prefix=NO-OPEN
// RUN: not %mutate opt %t --mutate-other-mode 2>&1 | FileCheck %s --check-prefix=NO-MODE
// NO-COMMIT: error: has no state that a step may hold to change
// NO-EVALUATION: error: has no state that an evaluation reads to change
// NO-OPEN: error: has no opened state to change
// NO-MODE: error: has no value by mode to change

// HOLD: pp.task commit @M(%{{[^:]*}}: {{.*}}, %{{[^:]*}}: {{.*}}, %[[P:[^:]*]]: tensor<4xf32> {pp.role = #pp.role<proposal, "s">})
// HOLD: pp.return %[[P]]

// EVALUATION: pp.task evaluation stage 0 @E(%{{.*}}: tensor<4xf32> {pp.role = #pp.role<proposal, "s">})

// OPEN: pp.zero
// OPEN-NEXT: pp.run @M
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.param_decl "s" {type = tensor<4xf32>, init = #pp.init<zeros>, state}
pp.task open @O(%s: tensor<4xf32> {pp.role = #pp.role<param, "s">}, %p: tensor<4xf32> {pp.role = #pp.role<proposal, "s">}) -> (tensor<4xf32> {pp.role = #pp.role<proposal, "s">}) {
  pp.return %s : tensor<4xf32>
}
pp.task evaluation stage 0 @E(%s: tensor<4xf32> {pp.role = #pp.role<param, "s">}) {
  pp.return
}
pp.task commit @M(%h: tensor<f64> {pp.role = #pp.role<step_state, "hold">}, %s: tensor<4xf32> {pp.role = #pp.role<param, "s">}, %p: tensor<4xf32> {pp.role = #pp.role<proposal, "s">}) -> (tensor<4xf32> {pp.role = #pp.role<param, "s">}) {
  %zero = pp.constant dense<0.0> : tensor<f64>
  %held = pp.compare ne %h, %zero : tensor<f64>, tensor<f64>
  %0 = pp.select %held, %s, %p : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  pp.return %0 : tensor<4xf32>
}
pp.step begin {
  pp.call @O() : () -> ()
} end {
  pp.call @M() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
  pp.run @O microbatch 0 () : () -> ()
  pp.run @M microbatch 0 () : () -> ()
}
