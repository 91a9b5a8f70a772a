// RUN: %mutate opt %s --test-print-addresses | FileCheck %s
// RUN: sed 's/"clip_scale"/"clap"/' %s | not %mutate opt --test-print-addresses 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: error: 'pp.run' op the step state has no field 'clap'
// RUN: sed 's/role<grad, "w">/role<grad, "u">/g' %s | not %mutate opt --test-print-addresses 2>&1 | FileCheck %s --check-prefix=GRADIENT
// GRADIENT: error: 'pp.run' op adds to the gradient of 'u', which no bucket holds
// RUN: sed '/pp.input_decl/d' %s | not %mutate opt --test-print-addresses 2>&1 | FileCheck %s --check-prefix=UNDECLARED
// UNDECLARED: error: 'pp.run' op has #pp.role<input, "x"> in #pp.buffer<input, "x">, which the module does not declare
// RUN: sed 's/type = tensor<8x4xf32>/type = tensor<6x4xf32>/' %s | not %mutate opt --test-print-addresses 2>&1 | FileCheck %s --check-prefix=END
// END: error: 'pp.run' op has #pp.role<input, "x"> up to byte 128 of #pp.buffer<input, "x">, which has 96

// A parameter is in its bucket after the parameters before it, its gradient at the same element of the bucket's gradients, which are
// wider than parameters of bf16. The rows of a microbatch follow those of the ones before it, and so does its key. Untied results come after the arguments.
// A value has no address.
// CHECK: %[[V:[0-9]+]] = pp.run @F microbatch 0 () {test.addresses = [#pp.address<<input, "x"> + 0>, #pp.address<<params, "b0"> + 128>, #pp.address<<param, "frozen"> + 0>, #pp.address<<step_state> + 104>, #pp.address<<loss> + 0>, #pp.address<<output, "logits"> + 0>]} : () -> tensor<40xbf16>
// CHECK-NEXT: pp.run @F microbatch 1 () {test.addresses = [#pp.address<<input, "x"> + 64>, #pp.address<<params, "b0"> + 128>, #pp.address<<param, "frozen"> + 0>, #pp.address<<step_state> + 224>, #pp.address<<loss> + 0>, #pp.address<<output, "logits"> + 0>]} : () -> tensor<40xbf16>
// CHECK-NEXT: pp.run @B microbatch 0 (%[[V]]) {test.addresses = [#pp.address<<grads, "b0"> + 256>]} : (tensor<40xbf16>) -> ()
// CHECK-NEXT: pp.run @U microbatch 0 () {test.addresses = [#pp.address<<params, "b0"> + 0>, #pp.address<<grads, "b0"> + 0>, #pp.address<<state, "b0", "m"> + 0>, #pp.address<<norm> + 0>, #pp.address<<global, "g0"> + 0>, #pp.address<<step_state> + 80>]} : () -> ()
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "adamw", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "x" {type = tensor<8x4xf32>, shift = 0 : i64}
pp.param_decl "frozen" {type = tensor<4xf32>, init = #pp.init<zeros>, frozen}
pp.bucket @b0 {params = ["v", "w"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = bf16}
pp.task forward stage 0 @F(
    %x: tensor<4x4xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<40xbf16> {pp.role = #pp.role<param, "w">},
    %f: tensor<4xf32> {pp.role = #pp.role<param, "frozen">}, %k: tensor<15xi64> {pp.role = #pp.role<step_state, "key">},
    %l: tensor<f64> {pp.role = #pp.role<loss, "loss">})
    -> (tensor<4xf32> {pp.role = #pp.role<output, "logits">}, tensor<f64> {pp.role = #pp.role<loss, "loss">}, tensor<40xbf16>) {
  pp.return %f, %l, %w : tensor<4xf32>, tensor<f64>, tensor<40xbf16>
}
pp.task backward stage 0 @B(%v: tensor<40xbf16>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task update @U(
    %p: tensor<128xbf16> {pp.role = #pp.role<param_range, "b0">}, %g: tensor<128xf32> {pp.role = #pp.role<grad_range, "b0">},
    %m: tensor<128xbf16> {pp.role = #pp.role<state_range, "b0", "m">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">},
    %c: tensor<f32> {pp.role = #pp.role<global, "g0">}, %s: tensor<f64> {pp.role = #pp.role<step_state, "clip_scale">})
    -> (tensor<128xbf16> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<128xbf16>
}
pp.step microbatch {
  %0 = pp.call @F() : () -> tensor<40xbf16>
  pp.call @B(%0) : (tensor<40xbf16>) -> ()
} evaluation {
  %0 = pp.call @F() : () -> tensor<40xbf16>
} end {
  pp.call @U() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64>} {
  %v0 = pp.run @F microbatch 0 () : () -> tensor<40xbf16>
  %v1 = pp.run @F microbatch 1 () : () -> tensor<40xbf16>
  pp.run @B microbatch 0 (%v0) : (tensor<40xbf16>) -> ()
  pp.run @U microbatch 0 () : () -> ()
}
