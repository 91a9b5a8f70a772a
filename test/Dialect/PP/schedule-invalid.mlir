// RUN: %ppopt opt %s --split-input-file --verify-diagnostics

// What is in flight has one wait.
pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{'pp.start' op is never waited for}}
  %t = pp.start all_reduce over <["dp"]> channel 1 <grads, "b0">
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{'pp.send' op is never waited for}}
  %t = pp.send copy 0
}

// -----

pp.schedule 0 attributes {slots = array<i64: 64>} {
  // expected-error @+1 {{'pp.recv' op is never waited for}}
  %c = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
}

// -----

pp.schedule 0 attributes {slots = array<i64>, evaluation} {
  // expected-error @+1 {{'pp.done' op is never waited for}}
  %t = pp.done
}

// -----

// expected-error @+1 {{'pp.schedule' op is never waited for}}
pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%gathered: !pp.token):
  %t = pp.start all_gather over <["dp"]> channel 1 <params, "b0">
  pp.yield %t : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64: 64>} {
  // expected-error @+1 {{'pp.recv' op is waited for 2 times}}
  %c = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
  %x = pp.wait %c : !pp.future<tensor<4xf32>>
  // expected-note @+1 {{here}}
  %y = pp.wait %c : !pp.future<tensor<4xf32>>
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%gathered: !pp.token):
  pp.wait %gathered : !pp.token
  // expected-error @+1 {{'pp.start' op is waited for 2 times}}
  %t = pp.start all_gather over <["dp"]> channel 1 <params, "b0">
  pp.wait %t : !pp.token
  // expected-note @+1 {{here}}
  pp.yield %t : !pp.token
}

// -----

// What is being received is no value yet.
pp.task forward stage 0 @F(%x: tensor<4xf32>) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 64>} {
  // expected-note @+1 {{prior use here}}
  %c = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
  // expected-error @+1 {{use of value '%c' expects different type than prior uses: 'tensor<4xf32>' vs '!pp.future<tensor<4xf32>>'}}
  pp.run @F microbatch 0 (%c) : (tensor<4xf32>) -> ()
  %x = pp.wait %c : !pp.future<tensor<4xf32>>
}

// -----

pp.schedule 0 attributes {slots = array<i64: 64>} {
  // expected-error @+1 {{operand #0 does not dominate this use}}
  %x = pp.wait %c : !pp.future<tensor<4xf32>>
  // expected-note @+1 {{operand defined here}}
  %c = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
}

// -----

// The next schedule of the place waits for what a step leaves in flight: collectives on memory.
pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%before: !pp.token):
  pp.wait %before : !pp.token
  %t = pp.send copy 0
  // expected-error @+1 {{leaves in flight what a wait must complete}}
  pp.yield %t : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%before: !pp.token):
  // expected-error @+1 {{leaves in flight what a wait must complete}}
  pp.yield %before : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64: 64>} {
^bb0(%before: !pp.token):
  pp.wait %before : !pp.token
  %c = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
  // expected-error @+1 {{leaves in flight what a wait must complete}}
  pp.yield %c : !pp.future<tensor<4xf32>>
}

// -----

// expected-error @+1 {{takes 2 tokens and yields 1}}
pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%a: !pp.token, %b: !pp.token):
  pp.wait %a : !pp.token
  pp.wait %b : !pp.token
  %t = pp.start all_gather over <["dp"]> channel 1 <params, "b0">
  pp.yield %t : !pp.token
}

// -----

// expected-error @+1 {{takes 1 tokens and yields 0}}
pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%a: !pp.token):
  pp.wait %a : !pp.token
}

// -----

// expected-error @+1 {{takes 0 tokens and yields 1}}
pp.schedule 0 attributes {slots = array<i64>, evaluation} {
  %t = pp.done
  pp.yield %t : !pp.token
}

// -----

// expected-error @+1 {{takes 'tensor<4xf32>'; what a step leaves in flight are tokens}}
pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%x: tensor<4xf32>):
  %t = pp.start all_gather over <["dp"]> channel 1 <params, "b0">
  pp.yield %t : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{is no action of a schedule}}
  %0 = pp.constant dense<0.0> : tensor<4xf32>
}

// -----

// A place has one end of a copy, one process has both.
pp.task forward stage 0 @F() -> tensor<4xf32> {
  %0 = pp.constant dense<0.0> : tensor<4xf32>
  pp.return %0 : tensor<4xf32>
}
pp.schedule 0 attributes {slots = array<i64: 64, 64>} {
  %x = pp.run @F microbatch 0 () slots [0] : () -> tensor<4xf32>
  // expected-error @+1 {{has both ends: a place has one, a send or a receive}}
  %y = pp.copy %x from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 1 : i64} : tensor<4xf32>
}

// -----

pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{has both ends: a place has one, a send or a receive}}
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
}

// -----

pp.schedule local attributes {slots = array<i64>, slot_places = array<i64>} {
  // expected-error @+1 {{is an end of a copy, and one process has both: it copies}}
  %t = pp.send copy 0
  pp.wait %t : !pp.token
}

// -----

pp.schedule local attributes {slots = array<i64: 64>, slot_places = array<i64: 0>} {
  // expected-error @+1 {{is an end of a copy, and one process has both: it copies}}
  %c = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
  %x = pp.wait %c : !pp.future<tensor<4xf32>>
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{runs @F, which is not a task}}
  pp.run @F microbatch 0 () : () -> ()
}

// -----

pp.task forward stage 0 @F(%x: tensor<4xf32>) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{has 0 operands and @F 1, 'tensor<4xf32>'}}
  pp.run @F microbatch 0 () : () -> ()
}

// -----

pp.task forward stage 0 @F(%w: tensor<4xf32> {pp.role = #pp.role<param, "w">}) -> tensor<4xf32> {
  pp.return %w : tensor<4xf32>
}
pp.schedule 0 attributes {slots = array<i64: 64>} {
  // expected-error @+1 {{has 1 results, 'tensor<8xf32>', and @F 1, 'tensor<4xf32>'}}
  %x = pp.run @F microbatch 0 () slots [0] : () -> tensor<8xf32>
}

// -----

pp.task forward stage 0 @F(%w: tensor<4xf32> {pp.role = #pp.role<param, "w">}) -> tensor<4xf32> {
  pp.return %w : tensor<4xf32>
}
pp.schedule 0 attributes {slots = array<i64: 64, 64>} {
  // expected-error @+1 {{has 2 slots, and 1 results}}
  %x = pp.run @F microbatch 0 () slots [0, 1] : () -> tensor<4xf32>
}
