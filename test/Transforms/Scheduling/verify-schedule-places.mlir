// RUN: ppopt opt %s --pp-verify-schedule

// The schedules below are right; each of the others has something out of its place.

// RUN: sed '/^  pp.wait 10/d; s/^  pp.run @F1 microbatch 0.*/&\n  pp.wait 10/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READ
// READ: error: {{.*}}reads 'x0' before its receive is waited for
// READ: note: the receive starts here

// RUN: sed 's/^  pp.send 13 @x1 microbatch 1 slot 1/  pp.send 13 @x1 microbatch 1 slot 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=HELD
// HELD: error: {{.*}}reads 'g' from a slot that does not hold it
// HELD: note: the slot was last written here

// RUN: sed 's/^  pp.run @F0 microbatch 1.*/  pp.run @F0 microbatch 1 (<params, "b0">, slot 0)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BUSY
// BUSY: error: {{.*}}writes 'h' to slot 0, which a transfer still uses
// BUSY: note: this transfer is not waited for

// RUN: sed 's/^  pp.run @B1 microbatch 0.*/  pp.run @B1 microbatch 0 (slot 0, <grads, "b0">, slot 0)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: error: {{.*}}writes 'g' to slot 0, which it reads

// RUN: sed 's/^pp.schedule 0 .*/pp.schedule 0 attributes {slots = array<i64: 32, 64>} {/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SMALL
// SMALL: error: {{.*}}writes the 64 bytes of 'h' to slot 0 of 32

// RUN: sed 's/^  pp.recv 10 .*/  pp.recv 10 @x0 microbatch 0 slot 2/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOSLOT
// NOSLOT: error: {{.*}}has no slot on place 1 for 'x0'

// RUN: sed '/^  pp.send 1 /d; /^  pp.wait 1$/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSENT
// UNSENT: error: {{.*}}never sends @x0 of microbatch 1

// RUN: sed 's/^  pp.recv 12 .*/  pp.recv 12 @x0 microbatch 0 slot 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: {{.*}}receives this microbatch a second time
// AGAIN: note: the first is here

// RUN: sed 's/^pp.bucket/pp.transfer @x2 "h" from 0 to 1 stage 0 to 1 : tensor<16xf32>\n&/; s/^  pp.send 0 .*/&\n  pp.send 20 @x2 microbatch 0 slot 0\n  pp.wait 20/; s/^  pp.send 1 .*/&\n  pp.send 21 @x2 microbatch 1 slot 1\n  pp.wait 21/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNRECEIVED
// UNRECEIVED: error: {{.*}}never receives @x2 of microbatch 0

// RUN: sed 's/^  pp.send 11 .*/  pp.send 11 @x0 microbatch 0 slot 1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: {{.*}}stands on place 1, but place 0 sends it

// RUN: sed 's/^  pp.recv 10 .*/  pp.recv 10 @x0 microbatch 2 slot 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: {{.*}}receives microbatch 2 of 2

// RUN: sed 's/^  pp.run @F1 microbatch 0.*/  pp.run @F0 microbatch 0 (<params, "b0">, slot 0)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: error: {{.*}}runs a task of place 0 on place 1

// RUN: sed 's/^  pp.start 4 .*/  pp.start 4 all_reduce over <["pp"] among [0, 1]> channel 1 @b0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: {{.*}}sums @b0 over 2 ranks, and not the 4 that have a part of it

// RUN: sed '/^  pp.start 4 /d; /^  pp.wait 4/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSUMMED
// UNSUMMED: error: {{.*}}needs @b0 of all ranks, which is not summed yet

// RUN: sed '/^  pp.run @B0 microbatch 1/d; s/^  pp.wait 4/&\n  pp.run @B0 microbatch 1 (slot 1, <grads, "b0">)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: {{.*}}adds to #pp.role<grad, "w">, which is summed already
// LATE: note: the sum is complete here

// RUN: sed 's/^  pp.wait 4/&\n  pp.start 5 all_reduce over <["dp", "pp"] among [0, 1]> channel 1 @b0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}sums a value that is summed already
// TWICE: note: the sum is complete here

// RUN: sed 's/^\(  pp.start 4 .* channel\) 1/\1 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CHANNEL
// CHANNEL: error: {{.*}}is on channel 0, which is for transfers

// RUN: sed 's/^  pp.wait 4/&\n  pp.start 5 all_reduce over <["dp", "pp"]> channel 1 #pp.role<loss, "loss">\n  pp.wait 5/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SHARED
// SHARED: error: {{.*}}is on channel 1, which belongs to another group
// SHARED: note: that group's start is here

// RUN: sed '/^  pp.send 0 /d; /^  pp.wait 0$/d; /^  pp.run @F0 microbatch 1/d; /^  pp.send 1 /d; s/^  pp.recv 2 .*/  pp.recv 2 @x1 microbatch 0 slot 1/; s/^  pp.run @B0 microbatch 0.*/  pp.run @B0 microbatch 0 (slot 1, <grads, "b0">)\n  pp.send 0 @x0 microbatch 0 slot 0\n  pp.run @F0 microbatch 1 (<params, "b0">, slot 1)\n  pp.send 1 @x0 microbatch 1 slot 1\n  pp.wait 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CYCLE
// CYCLE: error: the schedules of the places do not fit together (rank N stands for all of place N): deadlock:
// CYCLE-NEXT: rank 0 waits for @x1 (g) of microbatch 0, place 1 to 0 (action 2, after @F0 on microbatch 0), which rank 1 starts only after
// CYCLE-NEXT: rank 1 waits for @x0 (h) of microbatch 0, place 0 to 1

// RUN: sed '/^  pp.send 0 /d; s/^  pp.send 1 .*/&\n  pp.send 0 @x0 microbatch 0 slot 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: the ends of a queue do not agree on its order: rank 0 starts @x0 (h) of microbatch 1, place 0 to 1 where rank 1 starts @x0 (h) of microbatch 0

// RUN: sed 's/^pp.schedule 1 /pp.schedule 2 /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: {{.*}}is of place 2, and the plan has 2

// RUN: sed 's/^pp.schedule 1 /pp.schedule 0 /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: error: {{.*}}is a second schedule of place 0
// SECOND: note: the first is here

// RUN: sed '/^pp.schedule 1 /,$d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: {{.*}}has place 1 without a schedule

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.transfer @x0 "h" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<16xf32>
pp.transfer @x1 "g" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<16xf32>
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 16 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.task forward stage 0 @F0(%w: tensor<16xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<16xf32> {pp.role = #pp.role<saved, "h">}) {
  pp.return %w : tensor<16xf32>
}
pp.task backward stage 0 @B0(%g: tensor<16xf32> {pp.role = #pp.role<received, "x1">}, %d: tensor<16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<16xf32>
}
pp.task forward stage 1 on 1 @F1(%h: tensor<16xf32> {pp.role = #pp.role<received, "x0">}) {
  pp.return
}
pp.task backward stage 1 on 1 @B1(%h: tensor<16xf32> {pp.role = #pp.role<received, "x0">}, %d: tensor<16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16xf32> {pp.role = #pp.role<grad, "w">}, tensor<16xf32> {pp.role = #pp.role<saved, "g">}) {
  pp.return %d, %h : tensor<16xf32>, tensor<16xf32>
}
pp.task norm @N(%g: tensor<16xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 64, 64>} {
  pp.run @F0 microbatch 0 (<params, "b0">, slot 0)
  pp.send 0 @x0 microbatch 0 slot 0
  pp.run @F0 microbatch 1 (<params, "b0">, slot 1)
  pp.send 1 @x0 microbatch 1 slot 1
  pp.wait 0
  pp.recv 2 @x1 microbatch 0 slot 0
  pp.wait 2
  pp.run @B0 microbatch 0 (slot 0, <grads, "b0">)
  pp.wait 1
  pp.recv 3 @x1 microbatch 1 slot 1
  pp.wait 3
  pp.run @B0 microbatch 1 (slot 1, <grads, "b0">)
  pp.start 4 all_reduce over <["dp", "pp"] among [0, 1]> channel 1 @b0
  pp.wait 4
  pp.run @N microbatch 0 (<grads, "b0">)
}
pp.schedule 1 attributes {slots = array<i64: 64, 64>} {
  pp.recv 10 @x0 microbatch 0 slot 0
  pp.wait 10
  pp.run @F1 microbatch 0 (slot 0)
  pp.run @B1 microbatch 0 (slot 0, <grads, "b0">, slot 1)
  pp.send 11 @x1 microbatch 0 slot 1
  pp.recv 12 @x0 microbatch 1 slot 0
  pp.wait 12
  pp.run @F1 microbatch 1 (slot 0)
  pp.wait 11
  pp.run @B1 microbatch 1 (slot 0, <grads, "b0">, slot 1)
  pp.send 13 @x1 microbatch 1 slot 1
  pp.wait 13
  pp.start 14 all_reduce over <["dp", "pp"] among [0, 1]> channel 1 @b0
  pp.wait 14
}
