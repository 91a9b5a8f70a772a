// RUN: ppopt opt %s --pp-verify-schedule

// Each operand that is no value has an address: where its value is. The first is right; each of the others changes one binding.
// RUN: sed 's/@F microbatch 1 () at (<input, "x"> + 64,/@F microbatch 1 () at (<input, "x">,/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: 'pp.run' op binds operand 0, #pp.role<input, "x">, to #pp.address<<input, "x"> + 0>, but it is at #pp.address<<input, "x"> + 64>
// RUN: sed 's/<params, "b0"> + 256/<params, "b0">/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=PARAM
// PARAM: error: 'pp.run' op binds operand 1, #pp.role<param, "w">, to #pp.address<<params, "b0"> + 0>, but it is at #pp.address<<params, "b0"> + 256>
// RUN: sed 's/<grads, "b0"> + 256/<grads, "b1">/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: error: 'pp.run' op binds operand 0, #pp.role<grad, "w">, to #pp.address<<grads, "b1"> + 0>, but it is at #pp.address<<grads, "b0"> + 256>
// RUN: sed 's/@N microbatch 0 () at (<grads, "b0">,/@N microbatch 0 () at (<params, "b0">,/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: 'pp.run' op binds operand 0, #pp.role<grad_range, "b0">, to #pp.address<<params, "b0"> + 0>, but it is at #pp.address<<grads, "b0"> + 0>
// RUN: sed 's/<step_state> + 216/<step_state> + 96/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=KEY
// KEY: error: 'pp.run' op binds operand 1, #pp.role<step_state, "key">, to #pp.address<<step_state> + 96>, but it is at #pp.address<<step_state> + 216>
// RUN: sed 's/\(@F microbatch 0 ()\) at ([^)]*)/\1/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'pp.run' op has no addresses for @F; run --pp-bind-operands before
// RUN: sed '/pp.input_decl/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNDECLARED
// UNDECLARED: error: 'pp.run' op binds operand 0, #pp.role<input, "x">, to #pp.buffer<input, "x">, which the module does not declare
// RUN: sed 's/pp.input_decl "x" {type = tensor<8x4xf32>/pp.input_decl "x" {type = tensor<6x4xf32>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=END
// END: error: 'pp.run' op binds operand 0, #pp.role<input, "x">, up to byte 128 of #pp.buffer<input, "x">, which has 96
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, tied = "owner"}
pp.input_decl "x" {type = tensor<8x4xf32>, shift = 0 : i64}
pp.bucket @b0 {borrowed, params = ["u", "w"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.bucket @b1 {params = ["c"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = false}
pp.task forward stage 0 @F(%x: tensor<4x4xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<40xf32> {
  pp.return %w : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}, %k: tensor<15xi64> {pp.role = #pp.role<step_state, "key">})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task norm @N(%a: tensor<128xf32> {pp.role = #pp.role<grad_range, "b0">}, %b: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}) {
  pp.return
}
pp.task forward stage 1 on 1 @G(%h: tensor<40xf32>, %w: tensor<40xf32> {pp.role = #pp.role<param, "u">}) {
  pp.return
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 1 : i64}
} microbatch {
  %v = pp.call @F() : () -> tensor<40xf32>
  %h = pp.copy %v from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  pp.call @G(%h) : (tensor<40xf32>) -> ()
  pp.call @B(%v) : (tensor<40xf32>) -> ()
} end {
  pp.call @N() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  %lent = pp.send copy 1
  pp.zero
  %v0 = pp.run @F microbatch 0 () at (<input, "x">, <params, "b0"> + 256) slots [0] : () -> tensor<40xf32>
  %sent0 = pp.send copy 0 microbatch 0 (%v0) : tensor<40xf32>
  pp.wait %sent0 : !pp.token
  pp.run @B microbatch 0 (%v0) at (<grads, "b0"> + 256, <step_state> + 96) : (tensor<40xf32>) -> ()
  %v1 = pp.run @F microbatch 1 () at (<input, "x"> + 64, <params, "b0"> + 256) slots [0] : () -> tensor<40xf32>
  %sent1 = pp.send copy 0 microbatch 1 (%v1) : tensor<40xf32>
  pp.wait %sent1 : !pp.token
  pp.run @B microbatch 1 (%v1) at (<grads, "b0"> + 256, <step_state> + 216) : (tensor<40xf32>) -> ()
  pp.run @N microbatch 0 () at (<grads, "b0">, <grads, "b1">) : () -> ()
  pp.wait %lent : !pp.token
}
pp.schedule 1 attributes {slots = array<i64: 192>} {
  %borrowed = pp.recv copy 1 : !pp.token
  pp.wait %borrowed : !pp.token
  %c0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<40xf32>>
  %h0 = pp.wait %c0 : !pp.future<tensor<40xf32>>
  pp.run @G microbatch 0 (%h0) at (<params, "b0">) : (tensor<40xf32>) -> ()
  %c1 = pp.recv copy 0 microbatch 1 slot 0 : !pp.future<tensor<40xf32>>
  %h1 = pp.wait %c1 : !pp.future<tensor<40xf32>>
  pp.run @G microbatch 1 (%h1) at (<params, "b0">) : (tensor<40xf32>) -> ()
}
