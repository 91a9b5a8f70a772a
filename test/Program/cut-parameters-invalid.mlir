// RUN: ppopt opt %s --pp-plan-arena --pp-emit-tasks --split-input-file --verify-diagnostics

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @+1 {{"w" is #pp.sharding<[{}], sum = {tp}>, but a parameter is not a partial result}}
pp.param_decl "w" {type = tensor<2xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{}], sum = {tp}>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @+1 {{"w" of 'tensor<2xf32>' is #pp.sharding<[{tp}, {}]>, of other dimensions}}
pp.param_decl "w" {type = tensor<2xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{tp}, {}]>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @+1 {{"w" is #pp.sharding<[{cp}]>, but the plan has no axis cp that cuts}}
pp.param_decl "w" {type = tensor<2xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{cp}]>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @+1 {{"w" is #pp.sharding<[{mb}]>, but all microbatches read the same parameters}}
pp.param_decl "w" {type = tensor<2xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{mb}]>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @+1 {{"w" has dimension 0 of 4 elements, which tp=2 does not divide in each of 3 parts}}
pp.param_decl "w" {type = tensor<2xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{3 * tp}]>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
}
