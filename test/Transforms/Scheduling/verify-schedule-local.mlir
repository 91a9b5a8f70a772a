// RUN: ppopt opt %s --pp-verify-schedule

// The list of all places is checked like those of each, and no wait in it comes before the other ends have started. Each of the others has something out
// of its place.

// RUN: sed '/^  %v = pp.run/d; s/^  %x = .*slot.*/&\n  %v = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<40xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ORDER
// ORDER: error: operand #0 does not dominate this use

// RUN: sed 's/slot = 1/slot = 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-SLOT
// NO-SLOT: error: 'pp.copy' op has no slot on place 1 for result 0

// RUN: sed 's/^  %x = .*slot.*/&\n  %y = pp.copy %v from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 1 : i64} : tensor<40xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.copy' op copies microbatch 0 a second time
// AGAIN: note: the first is here

// RUN: sed 's/microbatch = 0/microbatch = 1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: 'pp.copy' op copies microbatch 1 of 1

// RUN: sed 's/microbatch = 0 : i64, //' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: error: 'pp.copy' op does not say of which microbatch

// RUN: sed '/slot = 1/s/from 0 to 1/from 1 to 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER-WAY
// OTHER-WAY: error: 'pp.copy' op is not as the step's copy 0

// RUN: sed '/slot = 1/s/id = 0/id = 1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: 'pp.copy' op is of copy 1, which the step does not make in training

// RUN: sed 's/@s1_F microbatch 0 (%x)/@s1_F microbatch 0 (%v)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: 'pp.run' op reads another value as operand 0
// ELSEWHERE: note: the step has this value there

// A step without the copy, which pp-verify-tasks refuses.
// RUN: sed '/ = pp.copy /d; s/(%x)/(%v)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER-PLACE
// OTHER-PLACE: error: 'pp.run' op reads a value of another place than its own, 1
// OTHER-PLACE: note: the value is made here

// RUN: sed '/^  %r1 = /d; /^  pp.wait %r1/d; s/over <\["pp"\]>/over <["pp"] among [0]>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ONE-RANK
// ONE-RANK: error: 'pp.start' op sums over #pp.group<["pp"] among [0]>, which is one rank

// RUN: sed 's/^  pp.wait %r1.*/&\n  %r2 = pp.start on 0 all_reduce over <["pp"]> channel 1 <loss>\n  pp.wait %r2 : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'pp.start' op sums a value that is summed already
// TWICE: note: the sum is complete here

// RUN: sed '/^  %r[01] = /d; /^  pp.wait/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSUMMED
// UNSUMMED: error: 'pp.schedule' op needs #pp.buffer<loss> of all ranks, which is not summed yet on place 0

// RUN: sed 's/@s1_F(%x: tensor<40xf32>, /@s1_F(/; s/@s1_F(%x) : (tensor<40xf32>)/@s1_F() : ()/; s/@s1_F microbatch 0 (%x)\(.*\)(tensor<40xf32>)/@s1_F microbatch 0 ()\1()/; /slot = 1/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NEVER
// NEVER: error: 'pp.schedule' op never makes copy 0 of microbatch 0
// NEVER: note: the step has it

// RUN: sed 's/^pp.schedule local .*/pp.schedule 0 attributes {slots = array<i64>} {/; /^  %v = pp.run/,/^  pp.wait %r1/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: 'pp.schedule' op is of place 0, and the plan's launch is local

// RUN: sed '/^pp.schedule/,$ { p; H; $!d; g; }' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SECOND
// SECOND: error: 'pp.schedule' op is a second schedule of all places

// RUN: sed 's/launch = "local"/launch = "ranks"/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANKS
// RANKS: error: 'pp.schedule' op is of all places, and the plan's launch is ranks

// RUN: sed '/^  %r1 = /d; s/^  pp.wait %r0.*/&\n  %r1 = pp.start on 1 all_reduce over <["pp"]> channel 1 <loss>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BEFORE
// BEFORE: error: 'pp.wait' op comes before place 1 starts its end; all places are one process, which would wait for ever
// BEFORE: note: this start is waited for

// RUN: sed 's/start on 1/start on 2/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=BEYOND-PLACES
// BEYOND-PLACES: error: 'pp.start' op is on place 2, and the plan has 2

// RUN: sed '/^  pp.wait %r1/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-WAIT
// NO-WAIT: error: 'pp.start' op is never waited for

// One process has both ends.
// RUN: sed 's/^  %v = pp.run.*/&\n  %out = pp.send copy 0 microbatch 0 (%v) : tensor<40xf32>\n  pp.wait %out : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SEND
// SEND: error: 'pp.send' op is an end of a copy, and one process has both: it copies

// Queues are those of the schedules of places.
// RUN: sed 's/^pp.step /pp.task prologue @P(%g: tensor<f32> {pp.count = "targets", pp.role = #pp.role<global, "g">}) -> (tensor<f32> {pp.role = #pp.role<global, "g">}) {\n  pp.return %g : tensor<f32>\n}\npp.step prologue {\n  pp.call @P() : () -> ()\n} /; s/^  %v = pp.run/  pp.run @P microbatch 0 () : () -> ()\n&/; s/^  %r1 = .*/  %g0 = pp.start on 0 all_reduce over <["pp"]> channel 1 <global, "g">\n  %g1 = pp.start on 1 all_reduce over <["pp"]> channel 1 <global, "g">\n&/; s/^  pp.wait %r1.*/&\n  pp.wait %g0 : !pp.token\n  pp.wait %g1 : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=QUEUE
// QUEUE: error: the schedules of the places do not fit together (rank N stands for place N): the ends of a queue do not agree on its order

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> tensor<40xf32> {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32>, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.step microbatch {
  %v = pp.call @s0_F() : () -> tensor<40xf32>
  %x = pp.copy %v from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  pp.call @s1_F(%x) : (tensor<40xf32>) -> ()
} evaluation {
  %v = pp.call @s0_F() : () -> tensor<40xf32>
  %x = pp.copy %v from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  pp.call @s1_F(%x) : (tensor<40xf32>) -> ()
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  %v = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<40xf32>
  %x = pp.copy %v from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 1 : i64} : tensor<40xf32>
  pp.run @s1_F microbatch 0 (%x) : (tensor<40xf32>) -> ()
  %r0 = pp.start on 0 all_reduce over <["pp"]> channel 1 <loss>
  %r1 = pp.start on 1 all_reduce over <["pp"]> channel 1 <loss>
  pp.wait %r0 : !pp.token
  pp.wait %r1 : !pp.token
}
