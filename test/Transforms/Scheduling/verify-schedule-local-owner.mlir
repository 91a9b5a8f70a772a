// RUN: ppopt opt %s --pp-verify-schedule

// Copies of a borrowed bucket in the list of all places. Each of the others has something out of its place.

// RUN: sed '/^pp.schedule/,$s/from 0 to 1/from 1 to 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER-WAY
// OTHER-WAY: error: 'pp.copy_bucket' op is not as the step's copy 0

// RUN: sed '/^pp.schedule/,$s/ {id = 0 : i64}/ {id = 0 : i64, gradient_of = 1 : i64} : tensor<64xf32>/; /^pp.schedule/,$s/^  pp.copy_bucket/  %grads = pp.copy_bucket/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GRADIENTS
// GRADIENTS: error: 'pp.copy_bucket' op is not as the step's copy 0

// RUN: sed '/^pp.schedule/,$s/ {id = 0 : i64}/ {id = 4 : i64}/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: 'pp.copy_bucket' op is of copy 4, which the step does not make in training

// RUN: sed '/^pp.schedule/,$ {/^  pp.copy_bucket/d;}; s/^  pp.run @s1_F.*/&\n  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READ
// READ: error: 'pp.run' op reads #pp.buffer<params, "b0">, which its owner has not lent to this place yet

// RUN: sed '/^  pp.run @p0_U/d; /^pp.schedule/,$s/^  pp.copy_bucket.*/  pp.run @p0_U microbatch 0 () : () -> ()\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'pp.copy_bucket' op sends #pp.buffer<params, "b0"> after its update
// LATE: note: it is updated here

// RUN: sed '/^pp.schedule/,$s/, slot = 0 : i64//' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-SLOT
// NO-SLOT: error: 'pp.copy_bucket' op has no slot on place 0 for result 0

// RUN: sed '/^  pp.run @s1_B/d; s/^  %g = .*slot.*/&\n  pp.run @s1_B microbatch 0 () : () -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: error: 'pp.run' op adds to #pp.buffer<grads, "b0">, which was read or sent already
// SENT: note: it is read or sent here

// RUN: sed '/^pp.schedule/,$s/^  pp.copy_bucket.*/&\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.copy_bucket' op copies a second time
// AGAIN: note: the first is here

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32>) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
} microbatch {
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
} evaluation {
  pp.call @s1_F() : () -> ()
} end {
  %g = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
  pp.call @p0_C(%g) : (tensor<64xf32>) -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_U() : () -> ()
}
pp.schedule local attributes {slot_places = array<i64: 0>, slots = array<i64: 256>} {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
  pp.run @s1_F microbatch 0 () : () -> ()
  pp.run @s1_B microbatch 0 () : () -> ()
  %g = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64, slot = 0 : i64} : tensor<64xf32>
  pp.run @p0_C microbatch 0 (%g) : (tensor<64xf32>) -> ()
  pp.run @p0_N microbatch 0 () : () -> ()
  pp.run @p0_U microbatch 0 () : () -> ()
}
