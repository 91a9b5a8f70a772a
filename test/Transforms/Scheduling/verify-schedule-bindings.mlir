// RUN: ppopt opt %s --pp-verify-schedule

// Each operand is bound to where its value is. The first is right; each of the others changes one binding.
// RUN: sed 's/@F microbatch 1 (<input, "x"> + 64,/@F microbatch 1 (<input, "x">,/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: 'pp.run' op binds operand 0, #pp.role<input, "x">, to #pp.address<<input, "x"> + 0>, but it is at #pp.address<<input, "x"> + 64>
// RUN: sed 's/<params, "b0"> + 256/<params, "b0">/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=PARAM
// PARAM: error: 'pp.run' op binds operand 1, #pp.role<param, "w">, to #pp.address<<params, "b0"> + 0>, but it is at #pp.address<<params, "b0"> + 256>
// RUN: sed 's/<grads, "b0"> + 256/<grads, "b1">/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: error: 'pp.run' op binds operand 1, #pp.role<grad, "w">, to #pp.address<<grads, "b1"> + 0>, but it is at #pp.address<<grads, "b0"> + 256>
// RUN: sed 's/@N microbatch 0 (<grads, "b0">,/@N microbatch 0 (slot 0,/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: 'pp.run' op binds operand 0, #pp.role<grad_range, "b0">, to #pp.slot<0>, but it is at #pp.address<<grads, "b0"> + 0>
// RUN: sed 's/ + 256, slot 0)/ + 256, <loss>)/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SAVED
// SAVED: error: 'pp.run' op binds operand 2, #pp.role<saved, "v">, to #pp.address<<loss> + 0>, which is not a slot
// RUN: sed 's/<step_state> + 216/<step_state> + 96/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: 'pp.run' op binds operand 2, #pp.role<step_state, "key">, to #pp.address<<step_state> + 96>, but it is at #pp.address<<step_state> + 216>
// RUN: sed 's/@F microbatch 0 (.*/@F microbatch 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'pp.run' op binds no operands of @F; run --pp-bind-operands before
// RUN: sed '/pp.input_decl/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNDECLARED
// UNDECLARED: error: 'pp.run' op binds operand 0, #pp.role<input, "x">, to #pp.buffer<input, "x">, which the module does not declare
// RUN: sed 's/pp.input_decl "x" {type = tensor<8x4xf32>/pp.input_decl "x" {type = tensor<6x4xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=END
// END: error: 'pp.run' op binds operand 0, #pp.role<input, "x">, up to byte 128 of #pp.buffer<input, "x">, which has 96

// A transfer of the step is of the buffer that it names, one of a microbatch of a slot.
// RUN: sed 's/pp.send 0 @to microbatch 0 <params, "b0">/pp.send 0 @to microbatch 0 slot 0/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SEND
// SEND: error: 'pp.send' op reads #pp.slot<0>, but the transfer is of #pp.buffer<params, "b0">
// RUN: sed 's/pp.recv 0 @to microbatch 0 <params, "b0">/pp.recv 0 @to microbatch 0 <params, "b1">/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RECV
// RECV: error: 'pp.recv' op writes #pp.address<<params, "b1"> + 0>, but the transfer is of #pp.buffer<params, "b0">
// RUN: sed 's/pp.send 1 @h microbatch 0 slot 0/pp.send 1 @h microbatch 0 <loss>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SLOT
// SLOT: error: 'pp.send' op reads #pp.address<<loss> + 0>, but 'v' is in a slot
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, tied = "owner"}
pp.input_decl "x" {type = tensor<8x4xf32>, shift = 0 : i64}
pp.bucket @b0 {borrowed, params = ["u", "w"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.bucket @b1 {params = ["c"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = false}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {step} : tensor<128xf32>
pp.transfer @h "v" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @F(%x: tensor<4x4xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">})
    -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  pp.return %w : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}, %k: tensor<15xi64> {pp.role = #pp.role<step_state, "key">})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task norm @N(%a: tensor<128xf32> {pp.role = #pp.role<grad_range, "b0">}, %b: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}) {
  pp.return
}
pp.task forward stage 1 on 1 @G(%h: tensor<40xf32> {pp.role = #pp.role<received, "h">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "u">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.run @F microbatch 0 (<input, "x">, <params, "b0"> + 256, slot 0)
  pp.send 1 @h microbatch 0 slot 0
  pp.wait 1
  pp.run @B microbatch 0 (slot 0, <grads, "b0"> + 256, <step_state> + 96)
  pp.run @F microbatch 1 (<input, "x"> + 64, <params, "b0"> + 256, slot 0)
  pp.send 2 @h microbatch 1 slot 0
  pp.wait 2
  pp.run @B microbatch 1 (slot 0, <grads, "b0"> + 256, <step_state> + 216)
  pp.run @N microbatch 0 (<grads, "b0">, <grads, "b1">)
  pp.wait 0
}
pp.schedule 1 attributes {slots = array<i64: 192>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.recv 1 @h microbatch 0 slot 0
  pp.wait 1
  pp.run @G microbatch 0 (slot 0, <params, "b0">)
  pp.recv 2 @h microbatch 1 slot 0
  pp.wait 2
  pp.run @G microbatch 1 (slot 0, <params, "b0">)
}
