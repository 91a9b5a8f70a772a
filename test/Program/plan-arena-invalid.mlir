// RUN: ppopt opt %s --pp-plan-arena --split-input-file --verify-diagnostics

// expected-error @+3 {{place 1 (ranks 1, 3) needs 2.56 KiB, 624 B more than the 1.95 KiB that --device-memory allows}}
// expected-note @+2 {{the largest parts: activations 1.06 KiB, parameters 1.06 KiB, step_state 448 B}}
// expected-note @+1 {{what would help: more places: --mesh pp=3}}
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, device_memory = 2000 : i64}
pp.param_decl "w" {type = tensor<272xf32>, init = #pp.init<zeros>, frozen, places = array<i64: 1>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 1 attributes {slots = array<i64: 1088>} {
}

// -----

// expected-error @+3 {{place 0 (rank 0) needs 1.44 KiB, 272 B more than the 1.17 KiB that --device-memory allows}}
// expected-note @+2 {{the largest parts: activations 1.00 KiB, step_state 448 B}}
// expected-note @+1 {{what would help: --recompute layer, which keeps only what layers return; smaller microbatches: --microbatches above 2; --schedule 1f1b, which keeps fewer microbatches in flight than gpipe; more places: --mesh pp=2; more ranks for the rows: --mesh dp=2}}
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, device_memory = 1200 : i64}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 1024>} {
}

// -----

// expected-error @+3 {{place 0 (rank 0) needs 3.00 KiB, 1.05 KiB more than the 1.95 KiB that --device-memory allows}}
// expected-note @+2 {{the largest parts: optimizer 1.00 KiB, activations 576 B, gradients 512 B}}
// expected-note @+1 {{what would help: more places: --mesh pp=2; --optimizer sgd, which has one state in place of two}}
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "adamw", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, device_memory = 2000 : i64}
pp.param_decl "w" {type = tensor<128xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 576>} {
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{sums #pp.buffer<grads, "b1">, which is of no bucket, and no task adds to it}}
  %t0 = pp.start all_reduce over <["dp"]> channel 1 <grads, "b1">
  pp.wait %t0 : !pp.token
}
