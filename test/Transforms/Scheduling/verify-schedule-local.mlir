// RUN: %ppopt opt %s --pp-verify-schedule --split-input-file --verify-diagnostics

// The list of all places is checked like those of each, and no wait in it comes before the other ends have started.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.recv 0 @x0 microbatch 0 slot 1
  // expected-error @+1 {{reads 's0.v0' from a slot that does not hold it}}
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  // expected-error @+1 {{has no slot on place 1 for 'x0'}}
  pp.recv 0 @x0 microbatch 0 slot 0
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  // expected-note @+1 {{the first is here}}
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  // expected-error @+1 {{receives this microbatch a second time}}
  pp.recv 4 @x0 microbatch 0 slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  // expected-error @+1 {{receives microbatch 1 of 1}}
  pp.recv 0 @x0 microbatch 1 slot 1
  pp.send 1 @x0 microbatch 1 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  // expected-error @+1 {{sums over #pp.group<["pp"] among [0]>, which is one rank}}
  pp.start 2 on 0 all_reduce over <["pp"] among [0]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  // expected-note @+1 {{the sum is complete here}}
  pp.wait 2
  pp.wait 3
  // expected-error @+1 {{sums a value that is summed already}}
  pp.start 4 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
// expected-error @+1 {{needs #pp.role<loss, "loss"> of all ranks, which is not summed yet on place 0}}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
// expected-error @+1 {{never sends @x0 of microbatch 0}}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.run @s1_F microbatch 0 (<loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
// expected-error @+1 {{is of place 0, and the plan's launch is local}}
pp.schedule 0 attributes {slots = array<i64>} {
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}
// expected-error @+1 {{is a second schedule of all places}}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
// expected-error @+1 {{is of all places, and the plan's launch is ranks}}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  // expected-note @+1 {{this start is waited for}}
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  // expected-error @+1 {{comes before place 1 starts its end; all places are one process, which would wait for ever}}
  pp.wait 2
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  // expected-note @+1 {{this start is waited for}}
  pp.recv 0 @x0 microbatch 0 slot 1
  // expected-error @+1 {{comes before place 0 starts its end; all places are one process, which would wait for ever}}
  pp.wait 0
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  // expected-error @+1 {{has the id of an earlier start}}
  pp.send 0 @x0 microbatch 0 slot 0
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  // expected-error @+1 {{is on place 2, and the plan has 2}}
  pp.start 3 on 2 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  // expected-note @+1 {{the receive starts here}}
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  // expected-error @+1 {{reads 'x0' before its receive is waited for}}
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.wait 0
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
  pp.wait 3
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.recv 0 @x0 microbatch 0 slot 1
  pp.send 1 @x0 microbatch 0 slot 0
  pp.wait 1
  pp.wait 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.start 2 on 0 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  // expected-error @+1 {{is never waited for}}
  pp.start 3 on 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.wait 2
}

// -----

// Queues are those of the schedules of places.
// expected-error @+1 {{the schedules of the places do not fit together (rank N stands for place N)}}
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.transfer @x1 "s0.v1" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">})
    -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}, tensor<40xf32> {pp.role = #pp.role<saved, "s0.v1">}) {
  pp.return %a, %a : tensor<40xf32>, tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %y: tensor<40xf32> {pp.role = #pp.role<received, "x1">}) {
  pp.return
}
pp.schedule local attributes {slot_places = array<i64: 0, 0, 1, 1>, slots = array<i64: 192, 192, 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0, slot 1)
  pp.recv 0 @x0 microbatch 0 slot 2
  pp.recv 1 @x1 microbatch 0 slot 3
  pp.send 2 @x1 microbatch 0 slot 1
  pp.send 3 @x0 microbatch 0 slot 0
  pp.wait 0
  pp.wait 1
  pp.wait 2
  pp.wait 3
  pp.run @s1_F microbatch 0 (slot 2, slot 3)
}
