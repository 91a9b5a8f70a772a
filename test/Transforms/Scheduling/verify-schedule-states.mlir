// RUN: ppopt opt %s --pp-verify-schedule

// The schedules below are right; in each of the others a state is opened, proposed or committed at another time.

// RUN: sed '/^  pp.run @O/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: error: 'pp.run' op uses #pp.buffer<proposal, "s">, which place 0 has not opened yet

// RUN: sed 's/@F microbatch 0/@F microbatch 2/; s/@F microbatch 1/@F microbatch 0/; s/@F microbatch 2/@F microbatch 1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: 'pp.run' op proposes #pp.buffer<proposal, "s"> of microbatch 1 where that of microbatch 0 is due

// RUN: sed '/^  pp.run @[DM]/d; s/^  pp.run @F microbatch 0.*/&\n  pp.run @D microbatch 0 () : () -> ()\n  pp.run @M microbatch 0 () : () -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: 'pp.run' op commits #pp.buffer<proposal, "s"> after 1 of 2 microbatches

// RUN: sed '/^  pp.run @M/d; s/^  pp.run @D .*/  pp.run @M microbatch 0 () : () -> ()\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=HOLD
// HOLD: error: 'pp.run' op reads 'hold', which place 0 has not decided yet

// RUN: sed 's/^  pp.run @E microbatch 0.*/  pp.run @O microbatch 0 () : () -> ()\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EVALUATION
// EVALUATION: error: 'pp.run' op runs @O, which the step does not call in an evaluation

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
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
  pp.run @O microbatch 0 () : () -> ()
  pp.run @F microbatch 0 () : () -> ()
  pp.run @F microbatch 1 () : () -> ()
  pp.run @D microbatch 0 () : () -> ()
  pp.run @M microbatch 0 () : () -> ()
}
pp.schedule 0 attributes {evaluation, slots = array<i64>} {
  pp.zero
  pp.run @E microbatch 0 () : () -> ()
  pp.run @E microbatch 1 () : () -> ()
}
