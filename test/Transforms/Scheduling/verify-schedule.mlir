// RUN: ppopt opt %s --pp-verify-schedule

// The schedule below is right; each of the others has one action less, more, or out of its place.

// RUN: sed 's/^  %v1 = .*/  pp.zero\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ZERO
// ZERO: error: 'pp.zero' op comes after the first use of #pp.buffer<grads, "b0"> on place 0
// RUN: sed 's/^  %v0 = .*/  pp.zero\n&/' %s | ppopt opt --pp-verify-schedule

// RUN: sed '/^  %v0 = /d; s/^  pp.run @B microbatch 0.*/&\n  %v0 = pp.run @F microbatch 0 () slots [0] : () -> tensor<40xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: operand #0 does not dominate this use

// RUN: sed '/^  pp.run @B microbatch 0/d; s/^  %v1 = .*/&\n  pp.run @B microbatch 0 (%v0) : (tensor<40xf32>) -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT: error: 'pp.run' op reads a value from a slot that something else was written to
// SLOT: note: the value is made here
// SLOT: note: the slot was written here

// RUN: sed 's/^\(  %v1 = .*\) slots \[0\]/\1 slots [1]/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-SLOT
// NO-SLOT: error: 'pp.run' op has no slot on place 0 for result 0

// RUN: sed 's/^  pp.run @B microbatch 0.*/&\n  %again = pp.run @F microbatch 0 () slots [0] : () -> tensor<40xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.run' op runs microbatch 0 a second time
// AGAIN: note: the first is here

// RUN: sed '/^  pp.run @B microbatch 1/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: error: 'pp.schedule' op never runs @B on microbatch 1

// RUN: sed 's/@F microbatch 1/@F microbatch 2/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: 'pp.run' op runs microbatch 2 of 2

// RUN: sed '/^  pp.wait/d; s/^  pp.run @N.*/&\n  pp.wait %reduce : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SUMMING
// SUMMING: error: 'pp.run' op reads #pp.buffer<grads, "b0"> while it is being summed over ranks
// SUMMING: note: this is not waited for

// RUN: sed '/^  pp.run @B microbatch 1/d; s/^  %reduce = .*/&\n  pp.run @B microbatch 1 (%v1) : (tensor<40xf32>) -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ADDING
// ADDING: error: 'pp.run' op writes #pp.buffer<grads, "b0"> while it is being summed over ranks
// ADDING: note: this is not waited for

// RUN: sed 's/^  %reduce = .*/&\n  %again = pp.start all_reduce over <["dp"]> channel 1 <grads, "b0">/; s/^  pp.wait.*/&\n  pp.wait %again : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'pp.start' op writes #pp.buffer<grads, "b0"> while it is being summed over ranks

// RUN: sed 's/"dp"\]/"tp"]/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: 'pp.start' op the mesh has no axis 'tp'; its axes are: dp

// RUN: sed 's/^  %reduce = /  %gather = pp.start all_gather over <["dp"]> channel 1 <params, "b0">\n  pp.wait %gather : !pp.token\n&/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GATHER
// GATHER: error: 'pp.start' op gathers #pp.buffer<params, "b0">, of which ranks do not have chunks

// What is in flight is waited for once.
// RUN: sed 's/^  pp.wait %reduce.*/&\n  pp.wait %reduce : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=WAITS
// WAITS: error: 'pp.start' op is waited for 2 times
// WAITS: note: here

// RUN: sed '/^  pp.wait/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-WAIT
// NO-WAIT: error: 'pp.start' op is never waited for

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.step microbatch {
  %v = pp.call @F() : () -> tensor<40xf32>
  pp.call @B(%v) : (tensor<40xf32>) -> ()
} evaluation {
  %v = pp.call @F() : () -> tensor<40xf32>
} end {
  pp.call @N() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  %v0 = pp.run @F microbatch 0 () slots [0] : () -> tensor<40xf32>
  pp.run @B microbatch 0 (%v0) : (tensor<40xf32>) -> ()
  %v1 = pp.run @F microbatch 1 () slots [0] : () -> tensor<40xf32>
  pp.run @B microbatch 1 (%v1) : (tensor<40xf32>) -> ()
  %reduce = pp.start all_reduce over <["dp"]> channel 1 <grads, "b0">
  pp.wait %reduce : !pp.token
  pp.run @N microbatch 0 () : () -> ()
}
