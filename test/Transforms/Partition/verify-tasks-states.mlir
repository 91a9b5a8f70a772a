// RUN: ppopt opt %s --pp-verify-tasks

// The tasks below are right; in each of the others one has what its kind may not.

// RUN: sed 's/^pp.task evaluation\(.*\)param, "s"/pp.task evaluation\1proposal, "s"/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=EVALUATION
// EVALUATION: error: {{.*}}takes #pp.role<proposal, "s">, which a step alone has, from its open to its commit

// RUN: sed 's/^pp.task commit/pp.task update/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=UPDATE
// UPDATE: error: {{.*}}computes #pp.role<param, "s">, which only a commit may

// RUN: sed 's/^pp.task open/pp.task update/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: error: {{.*}}computes #pp.role<proposal, "s">, which only a forward and an open may

// RUN: sed 's/, state}/}/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=STATE
// STATE: error: {{.*}}takes #pp.role<proposal, "s">, but place 0 holds no such state

// RUN: sed '/pp.call @O/d' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=CALL
// CALL: error: {{.*}}is not called by the step

pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.param_decl "s" {type = tensor<4xf32>, init = #pp.init<zeros>, state}
pp.task open @O(%s: tensor<4xf32> {pp.role = #pp.role<param, "s">}, %p: tensor<4xf32> {pp.role = #pp.role<proposal, "s">}) -> (tensor<4xf32> {pp.role = #pp.role<proposal, "s">}) {
  pp.return %s : tensor<4xf32>
}
pp.task forward stage 0 @F(%p: tensor<4xf32> {pp.role = #pp.role<proposal, "s">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<4xf32> {pp.role = #pp.role<proposal, "s">}, tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.tanh %p : tensor<4xf32>
  pp.return %0, %l : tensor<4xf32>, tensor<f32>
}
pp.task evaluation stage 0 @E(%s: tensor<4xf32> {pp.role = #pp.role<param, "s">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.task decide @D(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f64> {pp.role = #pp.role<step_state, "hold">}) {
  %0 = pp.cast %l : tensor<f32> to tensor<f64>
  pp.return %0 : tensor<f64>
}
pp.task commit @M(%h: tensor<f64> {pp.role = #pp.role<step_state, "hold">}, %s: tensor<4xf32> {pp.role = #pp.role<param, "s">}, %p: tensor<4xf32> {pp.role = #pp.role<proposal, "s">}) -> (tensor<4xf32> {pp.role = #pp.role<param, "s">}) {
  pp.return %p : tensor<4xf32>
}
pp.step begin {
  pp.call @O() : () -> ()
} microbatch {
  pp.call @F() : () -> ()
} evaluation {
  pp.call @E() : () -> ()
} end {
  pp.call @D() : () -> ()
  pp.call @M() : () -> ()
}
