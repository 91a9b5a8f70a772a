// RUN: ppopt opt %s --pp-plan-arena --pp-emit-tasks | %python %S/Inputs/sorted_program.py | FileCheck %s
// RUN: sed 's/ slots \[1\]//' %s | not ppopt opt --pp-plan-arena --pp-emit-tasks 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: error: 'pp.run' op has values without slots; run --pp-assign-slots before

// Each place has its own part of the document: its memory, its actions, and what its rank with dp coordinate 0 will send: a place's
// position in the group of a sum decides of which chunks (101 elements over 4 ranks: 26, 25, 25, 25). Every place knows the
// count that place 1 computes. A transfer's offset is that of its slot; a value is dead after its last reader's run or the wait of its
// send, temporaries are after their run.
// CHECK: "counts":[{"name":"targets, ignore_index -1"
// CHECK: "parameters":
// CHECK: "name":"v","places":[1]
// CHECK: "name":"w","places":[0,2]
// CHECK: "places":[{"actions":[{"bytes":128,"do":"zero","offset":256},
// CHECK-NEXT: {"bytes":448,"do":"zero","offset":832},
// CHECK-NEXT: {"args":[1728,1920],"dead":{{\[}}{"bytes":64,"offset":2048}],
// CHECK-NEXT: "do":"run","microbatch":0,"task":1,"temps":2048},
// CHECK-NEXT: {"bytes":128,"channel":0,"do":"start","id":0,"microbatch":0,"offset":1920,"op":"send","peer":1,"transfer":0},
// CHECK-NEXT: {"dead":{{\[}}{"bytes":128,"offset":1920}],
// CHECK-NEXT: "do":"wait","id":0},
// CHECK-NEXT: {"among":[0,2],"axes":["dp","pp"],"channel":1,"do":"start","elements":101,"id":1,"offset":832,"op":"all_reduce","scratch":{"bytes":104,"offset":1856},
// CHECK: "counts":[{"offset":256}],
// CHECK-NEXT: "inputs":[{"input":0,"offset":1728}],
// CHECK: "parameters":[{"gradient":832,"offset":384,"parameter":1,
// CHECK: "place":0,"predicted":{"bytes_sent":732,
// CHECK: {"bytes":128,"channel":0,"do":"start","id":0,"microbatch":0,"offset":448,"op":"recv","peer":0,"transfer":0},
// CHECK-NEXT: {"do":"wait","id":0},
// CHECK-NEXT: {"args":[448,320],"dead":{{\[}}{"bytes":128,"offset":448}],
// CHECK-NEXT: "do":"run"
// CHECK: "arena":{"bytes":576
// CHECK: "counts":[{"offset":256}],
// CHECK-NEXT: "inputs":[]
// CHECK: "parameters":[{"gradient":null,"offset":384,"parameter":0,"states":[]}],
// CHECK-NEXT: "place":1,"predicted":{"bytes_sent":0,
// CHECK: "inputs":[{"input":1,
// CHECK: "place":2,"predicted":{"bytes_sent":608,
// CHECK: "stages":[{"place":0},
// CHECK-NEXT: {"place":1},
// CHECK-NEXT: {"place":2}],
// CHECK: "transfers":[{"bytes":128,"from":0,"from_stage":0,"gradient_of":null,"name":"x0","requires_grad":false,"to":1,"to_stage":1,"type":"f32","value":"s0.v0"}]
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "x" {type = tensor<8x8xf32>, shift = 0 : i64}
pp.input_decl "y" {type = tensor<8x8xf32>, shift = 0 : i64}
pp.param_decl "v" {type = tensor<3xf32>, init = #pp.init<zeros>, frozen, places = array<i64: 1>}
pp.param_decl "w" {type = tensor<101xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 2>}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 101 : i64, type = f32, places = array<i64: 0, 2>}
pp.task prologue on 1 @p1_P(%g: memref<f32> {pp.count = "targets, ignore_index -1", pp.role = #pp.role<global, "g0">}) {
  pp.return
}
pp.task forward stage 0 @s0_F(%x: memref<4x8xf32> {pp.role = #pp.role<input, "x">}, %h: memref<4x8xf32>) attributes {temp_bytes = 64 : i64} {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%h: memref<4x8xf32>, %l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.task forward stage 2 on 2 @s2_F(%y: memref<4x8xf32> {pp.role = #pp.role<input, "y">}) {
  pp.return
}
pp.step prologue {
  pp.call @p1_P() : () -> ()
} microbatch {
  %0 = pp.call @s0_F() : () -> tensor<4x8xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
  pp.call @s1_F(%1) : (tensor<4x8xf32>) -> ()
  pp.call @s2_F() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64: 64, 128>} {
  pp.zero
  %v0 = pp.run @s0_F microbatch 0 () slots [1] : () -> tensor<4x8xf32>
  %s0 = pp.send copy 0 microbatch 0 (%v0) : tensor<4x8xf32>
  pp.wait %s0 : !pp.token
  %t0 = pp.start all_reduce over <["dp", "pp"] among [0, 2]> channel 1 <grads, "b0">
  pp.wait %t0 : !pp.token
}
pp.schedule 1 attributes {slots = array<i64: 128>} {
  pp.zero
  %c0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4x8xf32>>
  %h0 = pp.wait %c0 : !pp.future<tensor<4x8xf32>>
  pp.run @s1_F microbatch 0 (%h0) : (tensor<4x8xf32>) -> ()
}
pp.schedule 2 attributes {slots = array<i64>} {
  pp.zero
  %t0 = pp.start all_reduce over <["dp", "pp"] among [0, 2]> channel 1 <grads, "b0">
  pp.wait %t0 : !pp.token
}
