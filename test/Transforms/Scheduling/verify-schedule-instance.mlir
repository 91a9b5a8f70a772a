// RUN: ppopt opt %s --pp-verify-schedule

// A schedule is an instance of the step: each run and each end of a copy has the values that the step has there, of its own microbatch. Each of the others
// has another value there; all values are of one type.

// RUN: sed 's/@F1 microbatch 0 (%x0, /@F1 microbatch 0 (%x1, /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MICROBATCH
// MICROBATCH: error: 'pp.run' op reads the value of microbatch 1 as operand 0
// MICROBATCH: note: the step has this value there

// RUN: sed 's/@F1 microbatch 0 (%x0, %y0)/@F1 microbatch 0 (%y0, %x0)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SWAPPED
// SWAPPED: error: 'pp.run' op reads another value as operand 0
// SWAPPED: note: the step has this value there

// RUN: sed 's/@F1 microbatch 0 (%x0, %y0)/@F1 microbatch 0 (%x0, %x0)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'pp.run' op reads another value as operand 1
// TWICE: note: the step has this value there

// RUN: sed 's/^\(  %out0 = .*\)%x0/\1%x1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: error: 'pp.send' op reads the value of microbatch 1 as operand 0
// SENT: note: the step has this value there

// RUN: sed 's/^\(  %out0 = .*\)(%x0/\1(%y0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: error: 'pp.send' op reads another value as operand 0
// OTHER: note: the step has this value there

// RUN: sed 's/^\(  %out0 = .*\) (%x0) : .*/\1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: 'pp.send' op sends no value

// RUN: sed 's/^  %out0 = pp.send copy 0 microbatch 0/  %out0 = pp.send copy 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=WHICH
// WHICH: error: 'pp.send' op does not say of which microbatch

// RUN: sed 's/^  %out0 = pp.send copy 0/  %out0 = pp.send copy 7/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: 'pp.send' op is of copy 7, which the step does not make in training

// RUN: sed '/^  pp.run @F1 microbatch 0/d; /^  %[cx]0 = pp.[rw]/s/4x4xf32/2x4xf32/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: error: 'pp.recv' op receives a value of 'tensor<2x4xf32>', and the copy brings 'tensor<4x4xf32>'

// RUN: sed '/^  pp.run @F1 microbatch 0/d; s/^  %x0 = \(pp.wait %c0 : \).*/  \1!pp.token/; s/^\(  %c0 = .*\) slot 0 : .*/\1 : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TOKEN
// TOKEN: error: 'pp.recv' op receives no value, and the copy brings 'tensor<4x4xf32>'

// RUN: sed 's/^  pp.run @F1 microbatch 0.*/  pp.run @L microbatch 0 (%x0) : (tensor<4x4xf32>) -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TRAINING
// TRAINING: error: 'pp.run' op runs @L, which the step does not call in training

// RUN: sed 's/^pp.schedule \([01]\) attributes {/&evaluation, /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EVALUATION
// EVALUATION: error: 'pp.send' op is of copy 1, which the step does not make in an evaluation

// RUN: sed '/^  %out[13] = /d; /^  pp.wait %out[13] /d; /^  %c[13] = /d; /^  %y[01] = /d; s/(%x\([01]\), %y[01])/(%x\1, %x\1)/; s/^pp.schedule \([01]\) attributes {/&evaluation, /' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CALL
// CALL: error: 'pp.run' op runs @F1, which the step does not call in an evaluation

// RUN: sed 's/slots \[0, 1\]/slots [0, 0]/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RESULTS
// RESULTS: error: 'pp.run' op writes a result to slot 0, which it writes another result to

// RUN: sed '/^pp.step /,/^}$/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-STEP
// NO-STEP: error: there is no pp.step that the schedules could be instances of

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "a" {type = tensor<8x4xf32>, shift = 0 : i64}
pp.task forward stage 0 @F0(%a: tensor<4x4xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  pp.return %a, %a : tensor<4x4xf32>, tensor<4x4xf32>
}
pp.task forward stage 1 on 1 @F1(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  pp.return
}
pp.task loss stage 1 on 1 @L(%x: tensor<4x4xf32>) {
  pp.return
}
pp.step microbatch {
  %x, %y = pp.call @F0() : () -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %there = pp.copy %x from 0 to 1 {id = 0 : i64} : tensor<4x4xf32>
  %other = pp.copy %y from 0 to 1 {id = 1 : i64} : tensor<4x4xf32>
  pp.call @F1(%there, %other) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
} evaluation {
  %x, %y = pp.call @F0() : () -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %there = pp.copy %x from 0 to 1 {id = 0 : i64} : tensor<4x4xf32>
  pp.call @L(%there) : (tensor<4x4xf32>) -> ()
}
pp.schedule 0 attributes {slots = array<i64: 64, 64, 64, 64>} {
  %x0, %y0 = pp.run @F0 microbatch 0 () slots [0, 1] : () -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %x1, %y1 = pp.run @F0 microbatch 1 () slots [2, 3] : () -> (tensor<4x4xf32>, tensor<4x4xf32>)
  %out0 = pp.send copy 0 microbatch 0 (%x0) : tensor<4x4xf32>
  %out1 = pp.send copy 1 microbatch 0 (%y0) : tensor<4x4xf32>
  %out2 = pp.send copy 0 microbatch 1 (%x1) : tensor<4x4xf32>
  %out3 = pp.send copy 1 microbatch 1 (%y1) : tensor<4x4xf32>
  pp.wait %out0 : !pp.token
  pp.wait %out1 : !pp.token
  pp.wait %out2 : !pp.token
  pp.wait %out3 : !pp.token
}
pp.schedule 1 attributes {slots = array<i64: 64, 64, 64, 64>} {
  %c0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4x4xf32>>
  %c1 = pp.recv copy 1 microbatch 0 slot 1 : !pp.future<tensor<4x4xf32>>
  %c2 = pp.recv copy 0 microbatch 1 slot 2 : !pp.future<tensor<4x4xf32>>
  %c3 = pp.recv copy 1 microbatch 1 slot 3 : !pp.future<tensor<4x4xf32>>
  %x0 = pp.wait %c0 : !pp.future<tensor<4x4xf32>>
  %y0 = pp.wait %c1 : !pp.future<tensor<4x4xf32>>
  %x1 = pp.wait %c2 : !pp.future<tensor<4x4xf32>>
  %y1 = pp.wait %c3 : !pp.future<tensor<4x4xf32>>
  pp.run @F1 microbatch 0 (%x0, %y0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
  pp.run @F1 microbatch 1 (%x1, %y1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> ()
}
