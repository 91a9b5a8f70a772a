// RUN: %ppopt opt %s --pp-verify-schedule --split-input-file --verify-diagnostics

// The list of all places is held to what those of each are: a copy is a send and a receive at once.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  // expected-error @+1 {{reads 's0.v0' from a slot that does not hold it}}
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 0
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  // expected-error @+1 {{copies this microbatch a second time}}
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  // expected-error @+1 {{copies microbatch 1 of 1}}
  pp.copy_value @x0 microbatch 1 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  // expected-error @+1 {{sums #pp.role<loss, "loss"> over places 0, and places 0, 1 have a part of it}}
  pp.sum_places #pp.role<loss, "loss"> over [0]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  // expected-note @+1 {{the sum is complete here}}
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
  // expected-error @+1 {{sums a value that is summed already}}
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
pp.input_decl "a" {type = tensor<40xf32>, shift = 0 : i64}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%a: tensor<40xf32> {pp.role = #pp.role<input, "a">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %a : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
// expected-error @+1 {{needs #pp.role<loss, "loss"> of all ranks, which is not summed yet}}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "local"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}
// expected-error @+1 {{is a second schedule of all places}}
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 192, 192>} {
  pp.run @s0_F microbatch 0 (<input, "a">, slot 0)
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks"}
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
  pp.copy_value @x0 microbatch 0 from slot 0 to slot 1
  pp.run @s1_F microbatch 0 (slot 1, <loss>)
  pp.sum_places #pp.role<loss, "loss"> over [0, 1]
}
