// RUN: ppopt opt %s --pp-plan-arena --split-input-file | FileCheck %s

// One range after the other, aligned to 64 bytes; a rank has its share of the inputs; training and evaluation share the slots;
// the largest task's temporaries, the largest workspace at their end; a receive buffer of half a bucket for two ranks.
// CHECK: pp.region <step_state> at 0 bytes 384
// CHECK-NEXT: pp.region <loss> at 384 bytes 64
// CHECK-NEXT: pp.region <params, "b0"> at 448 bytes 512
// CHECK-NEXT: pp.region <param, "frozen"> at 960 bytes 64
// CHECK-NEXT: pp.region <grads, "b0"> at 1024 bytes 512
// CHECK-NEXT: pp.region <state, "b0", "momentum"> at 1536 bytes 512
// CHECK-NEXT: pp.region <input, "x"> at 2048 bytes 128
// CHECK-NEXT: pp.region <slots> at 2176 bytes 320
// CHECK-NEXT: pp.region <temps> at 2496 bytes 896
// CHECK-NEXT: pp.region <workspace> at 3392 bytes 128
// CHECK-NEXT: pp.region <scratch of <grads, "b0">> at 3520 bytes 256
// CHECK-NEXT: pp.region <scratch of <loss>> at 3776 bytes 64
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "x" {type = tensor<8x8xf32>, shift = 0 : i64}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "frozen" {type = tensor<3xf32>, init = #pp.init<zeros>, frozen}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}, %x: memref<2x8xf32> {pp.role = #pp.role<input, "x">}) attributes {temp_bytes = 1024 : i64, workspace_bytes = 64 : i64} {
  pp.return
}
pp.task backward stage 0 @s0_B(%l: memref<100xf32> {pp.role = #pp.role<grad, "w">}) attributes {temp_bytes = 512 : i64, workspace_bytes = 128 : i64} {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 64, 256>} {
  %t0 = pp.start all_reduce over <["dp"]> channel 1 <grads, "b0">
  %t1 = pp.start all_reduce over <["dp"]> channel 1 <loss>
  pp.run @s0_F microbatch 0 () : () -> ()
  pp.wait %t0 : !pp.token
  pp.wait %t1 : !pp.token
}
pp.schedule 0 attributes {evaluation, slots = array<i64: 128>} {
}

// -----

// Each place has an arena of its own with what its tasks need and its buckets hold; every place has every scalar. A receive
// buffer is a part of the bucket for each rank of the group.
// CHECK: pp.region <step_state> at 0 bytes 384
// CHECK-NEXT: pp.region <loss> at 384 bytes 64
// CHECK-NEXT: pp.region <norm> at 448 bytes 64
// CHECK-NEXT: pp.region <params, "b0"> at 512 bytes 512
// CHECK-NEXT: pp.region <grads, "b0"> at 1024 bytes 512
// CHECK-NEXT: pp.region <state, "b0", "momentum"> at 1536 bytes 512
// CHECK-NEXT: pp.region <input, "x"> at 2048 bytes 128
// CHECK-NEXT: pp.region <slots> at 2176 bytes 64
// CHECK-NEXT: pp.region <temps> at 2240 bytes 1024
// CHECK-NEXT: pp.region <workspace> at 3264 bytes 0
// CHECK-NEXT: pp.region <scratch of <grads, "b0">> at 3264 bytes 128
// CHECK-NEXT: pp.region <step_state> at 0 bytes 384 {place = 1 : i64}
// CHECK-NEXT: pp.region <loss> at 384 bytes 64 {place = 1 : i64}
// CHECK-NEXT: pp.region <norm> at 448 bytes 64 {place = 1 : i64}
// CHECK-NEXT: pp.region <params, "b0"> at 512 bytes 512 {place = 1 : i64}
// CHECK-NEXT: pp.region <param, "frozen"> at 1024 bytes 64 {place = 1 : i64}
// CHECK-NEXT: pp.region <grads, "b0"> at 1088 bytes 512 {place = 1 : i64}
// CHECK-NEXT: pp.region <state, "b0", "momentum"> at 1600 bytes 512 {place = 1 : i64}
// CHECK-NEXT: pp.region <input, "y"> at 2112 bytes 128 {place = 1 : i64}
// CHECK-NEXT: pp.region <slots> at 2240 bytes 192 {place = 1 : i64}
// CHECK-NEXT: pp.region <temps> at 2432 bytes 0 {place = 1 : i64}
// CHECK-NEXT: pp.region <workspace> at 2432 bytes 0 {place = 1 : i64}
// CHECK-NEXT: pp.region <scratch of <grads, "b0">> at 2432 bytes 128 {place = 1 : i64}
// CHECK-NEXT: }
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "x" {type = tensor<8x8xf32>, shift = 0 : i64}
pp.input_decl "y" {type = tensor<8x8xf32>, shift = 0 : i64}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.param_decl "frozen" {type = tensor<3xf32>, init = #pp.init<zeros>, frozen, places = array<i64: 1>}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 0 @s0_F(%x: memref<2x8xf32> {pp.role = #pp.role<input, "x">}) attributes {temp_bytes = 1024 : i64} {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%y: memref<2x8xf32> {pp.role = #pp.role<input, "y">}, %l: memref<f32> {pp.role = #pp.role<loss, "loss">}, %n: memref<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 64>} {
  %t0 = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel 1 <grads, "b0">
  pp.run @s0_F microbatch 0 () : () -> ()
  pp.wait %t0 : !pp.token
}
pp.schedule 1 attributes {slots = array<i64: 64, 128>} {
  %t0 = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel 1 <grads, "b0">
  pp.run @s1_F microbatch 0 () : () -> ()
  pp.wait %t0 : !pp.token
}

// -----

// The receive buffers of the buckets lie where activations were, if no task runs from the start to the wait: of @b0 in the
// temporaries, since a slot is still being sent; @b1's begins while a task is to run; @b2 is too large for what is left.
// CHECK: pp.region <slots> at {{[0-9]+}} bytes 256
// CHECK-NEXT: pp.region <temps> at [[TEMPS:[0-9]+]] bytes 1024
// CHECK-NEXT: pp.region <workspace>
// CHECK-NEXT: pp.region <scratch of <grads, "b1">> at {{[0-9]+}} bytes 64{{$}}
// CHECK-NEXT: pp.region <scratch of <grads, "b0">> at [[TEMPS]] bytes 256 {pp.overlaid}
// CHECK-NEXT: pp.region <scratch of <grads, "b2">> at {{[0-9]+}} bytes 2048{{$}}
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "a" {type = tensor<100xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0>}
pp.param_decl "b" {type = tensor<32xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0>}
pp.param_decl "c" {type = tensor<1024xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0>}
pp.bucket @b0 {params = ["a"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, places = array<i64: 0>}
pp.bucket @b1 {params = ["b"], offsets = array<i64: 0>, elements = 32 : i64, type = f32, places = array<i64: 0>}
pp.bucket @b2 {params = ["c"], offsets = array<i64: 0>, elements = 1024 : i64, type = f32, places = array<i64: 0>}
pp.task forward stage 0 @s0_F(%v: memref<64xf32>) attributes {temp_bytes = 1024 : i64, workspace_bytes = 0 : i64} {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<64xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  %t0 = pp.start all_reduce over <["dp"]> channel 1 <grads, "b1">
  %v0 = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<64xf32>
  %s0 = pp.send copy 0 microbatch 0 (%v0) : tensor<64xf32>
  %t1 = pp.start all_reduce over <["dp"]> channel 2 <grads, "b0">
  %t2 = pp.start all_reduce over <["dp"]> channel 3 <grads, "b2">
  pp.wait %t0 : !pp.token
  pp.wait %t1 : !pp.token
  pp.wait %t2 : !pp.token
  pp.wait %s0 : !pp.token
}
