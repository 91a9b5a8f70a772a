// RUN: ppopt opt %s --pp-verify-schedule

// The schedule below is right; in each of the others a place decides before it knows, or updates before it has decided.

// RUN: sed '/^  pp.wait %count/d; s/^  pp.run @D .*/&\n  pp.wait %count : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: 'pp.run' op reads #pp.buffer<global, "g0"> while it is being summed over ranks

// RUN: sed '/^  %count = /d; /^  pp.wait %count/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-COUNT
// NO-COUNT: error: 'pp.run' op needs #pp.buffer<global, "g0"> of all ranks, which is not summed yet

// RUN: sed '/^  %loss = /d; /^  pp.wait %loss/d; s/^  pp.run @D .*/&\n  %loss = pp.start all_reduce over <["dp"]> channel 1 <loss>\n  pp.wait %loss : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LOSS
// LOSS: error: 'pp.run' op needs #pp.buffer<loss> of all ranks, which is not summed yet

// RUN: sed '/^  pp.run @N/d; s/^  pp.run @D .*/&\n  pp.run @N microbatch 0 () : () -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NORM
// NORM: error: 'pp.run' op adds to #pp.buffer<norm>, which was read or sent already
// NORM: note: it is read or sent here

// RUN: sed '/^  pp.run @U/d; s/^  pp.run @D .*/  pp.run @U microbatch 0 () : () -> ()\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UPDATE
// UPDATE: error: 'pp.run' op reads 'hold', which place 0 has not decided yet

// RUN: sed '/^  pp.run @D/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: error: 'pp.run' op reads 'hold', which place 0 has not decided yet

// RUN: sed 's/^  pp.run @D .*/&\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.run' op runs a second time

// RUN: sed 's/^  pp.run @D microbatch 0/  pp.run @D microbatch 1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ONCE
// ONCE: error: 'pp.run' op runs microbatch 1 of 1

// A decision of another place is none of this place.
// RUN: sed 's/"dp" = 2>/"dp" = 1>, #pp.axis<"pp" = 2>/; s/^pp.task decide @D/pp.task decide on 1 @D/; s/, launch = "ranks"/, launch = "local"/; s/^pp.schedule 0 attributes {/pp.schedule local attributes {slot_places = array<i64>, /; s/^  %\([cl][a-z]*\) = pp.start all_reduce over <\["dp"\]>\(.*\)/  %\1 = pp.start on 0 all_reduce over <["pp"]>\2\n  %\11 = pp.start on 1 all_reduce over <["pp"]>\2/; s/^  pp.wait %\([a-z]*\) \(.*\)/&\n  pp.wait %\11 \2/; s/^  pp.run @N.*/&\n  %n = pp.start on 0 all_reduce over <["pp"]> channel 1 <norm>\n  %n1 = pp.start on 1 all_reduce over <["pp"]> channel 1 <norm>\n  pp.wait %n : !pp.token\n  pp.wait %n1 : !pp.token/; /<grads, "b0">$/d; /^  pp.wait %reduce/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: 'pp.run' op reads 'hold', which place 0 has not decided yet

// An evaluation decides nothing.
// RUN: sed 's/^pp.schedule 0 attributes {/&evaluation, /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EVALUATION
// EVALUATION: error: 'pp.run' op runs @B, which the step does not call in an evaluation

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32}
pp.task prologue @P(%g: tensor<f32> {pp.count = "targets", pp.role = #pp.role<global, "g0">}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return %g : tensor<f32>
}
pp.task backward stage 0 @B(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}, %d: tensor<64xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}, tensor<64xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %l, %d : tensor<f32>, tensor<64xf32>
}
pp.task norm @N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @D(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<step_state, "hold">}) {
  pp.return %n : tensor<f64>
}
pp.task update @U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, %h: tensor<f64> {pp.role = #pp.role<step_state, "hold">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step prologue {
  pp.call @P() : () -> ()
} microbatch {
  pp.call @B() : () -> ()
} end {
  pp.call @N() : () -> ()
  pp.call @D() : () -> ()
  pp.call @U() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
  pp.run @P microbatch 0 () : () -> ()
  pp.run @P microbatch 1 () : () -> ()
  %count = pp.start all_reduce over <["dp"]> channel 1 <global, "g0">
  pp.wait %count : !pp.token
  pp.run @B microbatch 0 () : () -> ()
  pp.run @B microbatch 1 () : () -> ()
  %loss = pp.start all_reduce over <["dp"]> channel 1 <loss>
  %reduce = pp.start all_reduce over <["dp"]> channel 1 <grads, "b0">
  pp.wait %reduce : !pp.token
  pp.run @N microbatch 0 () : () -> ()
  pp.wait %loss : !pp.token
  pp.run @D microbatch 0 () : () -> ()
  pp.run @U microbatch 0 () : () -> ()
}
