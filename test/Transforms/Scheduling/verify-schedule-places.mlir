// RUN: ppopt opt %s --pp-verify-schedule

// The schedules below are right; each of the others has something out of its place.

// RUN: sed '/^  %in0 = /d; s/^  pp.run @F1 microbatch 0 (%in0)/  pp.run @F1 microbatch 0 (%c0)/; s/^  %g0 = .*/&\n  %in0 = pp.wait %c0 : !pp.future<tensor<16xf32>>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READ
// READ: error: use of value '%c0' expects different type than prior uses: 'tensor<16xf32>' vs '!pp.future<tensor<16xf32>>'

// RUN: sed '/^  %up0 = /d; s/^\(  %c1 = .*\) slot 0\(.*\)/\1 slot 1\2\n  %up0 = pp.send copy 1 microbatch 0 (%g0) : tensor<16xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=HELD
// HELD: error: {{.*}}reads a value from a slot that something else was written to
// HELD: note: the value is made here
// HELD: note: the slot was written here

// RUN: sed 's/^\(  %h1 = .*\) slots \[1\]/\1 slots [0]/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BUSY
// BUSY: error: {{.*}}writes to slot 0, which a transfer still uses
// BUSY: note: this transfer is not waited for

// RUN: sed 's/^\(  %g0 = .*\) slots \[1\]/\1 slots [0]/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: error: {{.*}}writes a result to slot 0, which it reads

// RUN: sed 's/^pp.schedule 0 .*/pp.schedule 0 attributes {slots = array<i64: 32, 64>} {/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: error: {{.*}}writes 64 bytes to slot 0 of 32

// RUN: sed 's/^\(  %c0 = .*\) slot 0/\1 slot 2/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOSLOT
// NOSLOT: error: {{.*}}has no slot on place 1 for result 0
// RUN: sed 's/^\(  %c0 = .*\) slot 0/\1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOSLOT
// RUN: sed 's/^\(  %g0 = .*\) slots \[1\]/\1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOSLOT

// RUN: sed '/^  %out1 = /d; /^  pp.wait %out1/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSENT
// UNSENT: error: 'pp.schedule' op never sends copy 0 of microbatch 1
// UNSENT: note: the step has it

// RUN: sed 's/^\(  %c1 = .*\) microbatch 1/\1 microbatch 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: {{.*}}receives microbatch 0 a second time
// AGAIN: note: the first is here

// RUN: sed 's/^  %in = .*/&\n  %other = pp.copy %h from 0 to 1 {id = 2 : i64} : tensor<16xf32>/; s/^  %out\([01]\) = .*/&\n  %other\1 = pp.send copy 2 microbatch \1 (%h\1) : tensor<16xf32>\n  pp.wait %other\1 : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNRECEIVED
// UNRECEIVED: error: 'pp.schedule' op never receives copy 2 of microbatch 0

// RUN: sed 's/^  %up0 = pp.send copy 1/  %up0 = pp.send copy 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: {{.*}}stands on place 1, but place 0 sends it

// RUN: sed 's/^\(  %c0 = .*\) microbatch 0/\1 microbatch 2/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: {{.*}}receives microbatch 2 of 2

// RUN: sed 's/^  pp.run @F1 microbatch 0.*/  %own = pp.run @F0 microbatch 0 () slots [1] : () -> tensor<16xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: error: {{.*}}runs a task of place 0 on place 1

// RUN: sed 's/^  %reduce = .*/  %reduce = pp.start all_reduce over <["pp"] among [0, 1]> channel 1 <grads, "b0">/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: 'pp.start' op sums #pp.buffer<grads, "b0"> over 2 ranks, and not the 4 that have a part of it

// RUN: sed '/^  %reduce = /d; /^  pp.wait %reduce/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSUMMED
// UNSUMMED: error: 'pp.run' op needs #pp.buffer<grads, "b0"> of all ranks, which is not summed yet

// RUN: sed '/^  pp.run @B0 microbatch 1/d; s/^  pp.wait %reduce .*/&\n  pp.run @B0 microbatch 1 (%back1) : (tensor<16xf32>) -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'pp.run' op adds to #pp.buffer<grads, "b0">, which is summed already
// LATE: note: the sum is complete here

// RUN: sed 's/^  pp.wait %reduce .*/&\n  %again = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel 1 <grads, "b0">\n  pp.wait %again : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}sums a value that is summed already
// TWICE: note: the sum is complete here

// RUN: sed 's/^\(  %reduce = .* channel\) 1/\1 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CHANNEL
// CHANNEL: error: {{.*}}is on channel 0, which is for transfers

// RUN: sed 's/^  pp.wait %reduce .*/&\n  %loss = pp.start all_reduce over <["pp"]> channel 1 <norm>\n  pp.wait %loss : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: error: {{.*}}is on channel 1, which belongs to another group
// SHARED: note: that group's start is here

// RUN: sed '/^  %out0 = /d; /^  pp.wait %out0/d; /^  %h1 = /d; /^  %out1 = /d; s/^\(  %coming0 = .*\) slot 0/\1 slot 1/; s/^  pp.run @B0 microbatch 0 .*/&\n  %out0 = pp.send copy 0 microbatch 0 (%h0) : tensor<16xf32>\n  %h1 = pp.run @F0 microbatch 1 () slots [1] : () -> tensor<16xf32>\n  %out1 = pp.send copy 0 microbatch 1 (%h1) : tensor<16xf32>\n  pp.wait %out0 : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CYCLE
// CYCLE: error: the schedules of the places do not fit together (rank N stands for all of place N): deadlock:
// CYCLE-NEXT: rank 0 waits for @x1 (s1.g0) of microbatch 0, place 1 to 0 (action 2, after @F0 on microbatch 0), which rank 1 starts only after
// CYCLE-NEXT: rank 1 waits for @x0 (s0.v0) of microbatch 0, place 0 to 1

// RUN: sed '/^  %out0 = /d; s/^  %out1 = .*/&\n  %out0 = pp.send copy 0 microbatch 0 (%h0) : tensor<16xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: the ends of a queue do not agree on its order: rank 0 starts @x0 (s0.v0) of microbatch 1, place 0 to 1 where rank 1 starts @x0 (s0.v0) of microbatch 0

// RUN: sed 's/^pp.schedule 1 /pp.schedule 2 /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: {{.*}}is of place 2, and the plan has 2

// RUN: sed 's/^pp.schedule 1 /pp.schedule 0 /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: error: {{.*}}is a second schedule of place 0
// SECOND: note: the first is here

// RUN: sed '/^pp.schedule 1 /,$d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}has place 1 without a schedule

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 16 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 0 @F0(%w: tensor<16xf32> {pp.role = #pp.role<param, "w">}) -> tensor<16xf32> {
  pp.return %w : tensor<16xf32>
}
pp.task backward stage 0 @B0(%g: tensor<16xf32>, %d: tensor<16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<16xf32>
}
pp.task forward stage 1 on 1 @F1(%h: tensor<16xf32>) {
  pp.return
}
pp.task backward stage 1 on 1 @B1(%h: tensor<16xf32>, %d: tensor<16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16xf32> {pp.role = #pp.role<grad, "w">}, tensor<16xf32>) {
  pp.return %d, %h : tensor<16xf32>, tensor<16xf32>
}
pp.task norm @N(%g: tensor<16xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.step microbatch {
  %h = pp.call @F0() : () -> tensor<16xf32>
  %in = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<16xf32>
  pp.call @F1(%in) : (tensor<16xf32>) -> ()
  %g = pp.call @B1(%in) : (tensor<16xf32>) -> tensor<16xf32>
  %back = pp.copy %g from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<16xf32>
  pp.call @B0(%back) : (tensor<16xf32>) -> ()
} evaluation {
  %h = pp.call @F0() : () -> tensor<16xf32>
  %in = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<16xf32>
  pp.call @F1(%in) : (tensor<16xf32>) -> ()
} end {
  pp.call @N() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64: 64, 64>} {
  %h0 = pp.run @F0 microbatch 0 () slots [0] : () -> tensor<16xf32>
  %out0 = pp.send copy 0 microbatch 0 (%h0) : tensor<16xf32>
  %h1 = pp.run @F0 microbatch 1 () slots [1] : () -> tensor<16xf32>
  %out1 = pp.send copy 0 microbatch 1 (%h1) : tensor<16xf32>
  pp.wait %out0 : !pp.token
  %coming0 = pp.recv copy 1 microbatch 0 slot 0 : !pp.future<tensor<16xf32>>
  %back0 = pp.wait %coming0 : !pp.future<tensor<16xf32>>
  pp.run @B0 microbatch 0 (%back0) : (tensor<16xf32>) -> ()
  pp.wait %out1 : !pp.token
  %coming1 = pp.recv copy 1 microbatch 1 slot 1 : !pp.future<tensor<16xf32>>
  %back1 = pp.wait %coming1 : !pp.future<tensor<16xf32>>
  pp.run @B0 microbatch 1 (%back1) : (tensor<16xf32>) -> ()
  %reduce = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel 1 <grads, "b0">
  pp.wait %reduce : !pp.token
  pp.run @N microbatch 0 () : () -> ()
}
pp.schedule 1 attributes {slots = array<i64: 64, 64>} {
  %c0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<16xf32>>
  %in0 = pp.wait %c0 : !pp.future<tensor<16xf32>>
  pp.run @F1 microbatch 0 (%in0) : (tensor<16xf32>) -> ()
  %g0 = pp.run @B1 microbatch 0 (%in0) slots [1] : (tensor<16xf32>) -> tensor<16xf32>
  %up0 = pp.send copy 1 microbatch 0 (%g0) : tensor<16xf32>
  %c1 = pp.recv copy 0 microbatch 1 slot 0 : !pp.future<tensor<16xf32>>
  %in1 = pp.wait %c1 : !pp.future<tensor<16xf32>>
  pp.run @F1 microbatch 1 (%in1) : (tensor<16xf32>) -> ()
  pp.wait %up0 : !pp.token
  %g1 = pp.run @B1 microbatch 1 (%in1) slots [1] : (tensor<16xf32>) -> tensor<16xf32>
  %up1 = pp.send copy 1 microbatch 1 (%g1) : tensor<16xf32>
  pp.wait %up1 : !pp.token
  %all = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel 1 <grads, "b0">
  pp.wait %all : !pp.token
}
