// RUN: ppopt opt %s --pp-verify-schedule

// What is borrowed comes before it is read and goes before it is updated; its gradients go when they are complete, and are added
// before they are read. A copy of a bucket is made once per step, and what it sends is in the bucket's buffer. Each of the others has something out of its
// place.

// RUN: sed '/^  pp.wait %borrowed/d; s/^  pp.run @s1_F.*/&\n  pp.wait %borrowed : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READ
// READ: error: 'pp.run' op reads #pp.buffer<params, "b0"> while it is being received

// RUN: sed '/^  pp.wait %lent/d; s/^  pp.run @p0_U.*/&\n  pp.wait %lent : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SENDING
// SENDING: error: 'pp.run' op writes #pp.buffer<params, "b0"> while it is being sent
// SENDING: note: this is not waited for

// RUN: sed '/^  %lent = /d; /^  pp.wait %lent/d; s/^  pp.run @p0_U.*/&\n  %lent = pp.send copy 0\n  pp.zero\n  pp.wait %lent : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'pp.send' op sends #pp.buffer<params, "b0"> after its update
// LATE: note: it is updated here

// RUN: sed '/^  pp.run @s1_B/d; s/^  %back = .*/&\n  pp.run @s1_B microbatch 0 () : () -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: error: 'pp.run' op writes #pp.buffer<grads, "b0"> while it is being sent
// SENT: note: this is not waited for

// RUN: sed '/^  pp.run @p0_C/d; s/^  pp.run @p0_N.*/&\n  pp.run @p0_C microbatch 0 (%g) : (tensor<64xf32>) -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NORM
// NORM: error: 'pp.run' op adds to #pp.buffer<grads, "b0">, which was read or sent already
// NORM: note: it is read or sent here

// RUN: sed '/^  %g = pp.wait/d; s/^  pp.run @p0_C microbatch 0 (%g)\(.*\)/  pp.run @p0_C microbatch 0 (%coming)\1\n  %g = pp.wait %coming : !pp.future<tensor<64xf32>>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=COMING
// COMING: error: use of value '%coming' expects different type than prior uses: 'tensor<64xf32>' vs '!pp.future<tensor<64xf32>>'

// RUN: sed '/^  %back = /d; /^  pp.wait %back/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSENT
// UNSENT: error: 'pp.schedule' op never sends copy 1
// UNSENT: note: the step has it

// RUN: sed 's/pp.send copy 0/& microbatch 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MICROBATCH
// MICROBATCH: error: 'pp.send' op says a microbatch, and the copy is made once per step

// RUN: sed 's/^  pp.wait %lent.*/&\n  %again = pp.send copy 0\n  pp.zero\n  pp.wait %again : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.send' op sends a second time
// AGAIN: note: the first is here

// RUN: sed '/^  %lent = /d; s/^  %g = pp.wait.*/&\n  %lent = pp.send copy 0 (%g) : tensor<64xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: error: 'pp.send' op sends a value, and the copy is of a bucket

// RUN: sed 's/^pp.schedule 1 .*/pp.schedule 1 attributes {slots = array<i64: 256>} {/; s/^  %borrowed = .*/  %borrowed = pp.recv copy 0 slot 0 : !pp.future<tensor<64xf32>>/; s/^  pp.wait %borrowed.*/  %w = pp.wait %borrowed : !pp.future<tensor<64xf32>>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=FUTURE
// FUTURE: error: 'pp.recv' op receives a value of 'tensor<64xf32>', and the copy brings parameters to their buffer

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
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
pp.schedule 0 attributes {slots = array<i64: 256>} {
  %lent = pp.send copy 0
  pp.zero
  %coming = pp.recv copy 1 slot 0 : !pp.future<tensor<64xf32>>
  %g = pp.wait %coming : !pp.future<tensor<64xf32>>
  pp.run @p0_C microbatch 0 (%g) : (tensor<64xf32>) -> ()
  pp.run @p0_N microbatch 0 () : () -> ()
  pp.wait %lent : !pp.token
  pp.run @p0_U microbatch 0 () : () -> ()
}
pp.schedule 1 attributes {slots = array<i64>} {
  %borrowed = pp.recv copy 0 : !pp.token
  pp.wait %borrowed : !pp.token
  pp.run @s1_F microbatch 0 () : () -> ()
  pp.run @s1_B microbatch 0 () : () -> ()
  %back = pp.send copy 1
  pp.wait %back : !pp.token
}
