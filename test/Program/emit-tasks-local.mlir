// RUN: ppopt opt %s --pp-plan-arena --pp-emit-tasks | %python %S/Inputs/sorted_program.py | FileCheck %s
// A copy of a local schedule is both of its ends and their waits: a receive on the place that it comes to, in its slot there or in the
// bucket's buffer, and the send with the next number. What was sent is dead after the wait for the send, what was received after its last reader.
// CHECK: {"bytes":256,"channel":0,"do":"start","id":0,"microbatch":0,"offset":320,"op":"recv","peer":0,"place":1,"transfer":1},
// CHECK-NEXT: {"bytes":256,"channel":0,"do":"start","id":1,"microbatch":0,"offset":320,"op":"send","peer":1,"transfer":1},
// CHECK-NEXT: {"do":"wait","id":1},
// CHECK-NEXT: {"do":"wait","id":0,"place":1},
// CHECK-NEXT: {"args":[1088,1216],"do":"run","microbatch":0,"task":0,
// CHECK-NEXT: {"bytes":128,"channel":0,"do":"start","id":2,"microbatch":0,"offset":832,"op":"recv","peer":0,"place":1,"transfer":0},
// CHECK-NEXT: {"bytes":128,"channel":0,"do":"start","id":3,"microbatch":0,"offset":1216,"op":"send","peer":1,"transfer":0},
// CHECK-NEXT: {"dead":{{\[}}{"bytes":128,"offset":1216}],
// CHECK-NEXT: "do":"wait","id":3},
// CHECK-NEXT: {"do":"wait","id":2,"place":1},
// CHECK-NEXT: {"args":[832,320,256],"dead":{{\[}}{"bytes":128,"offset":832}],
// CHECK-NEXT: "do":"run","microbatch":0,"place":1,"task":1,
// CHECK-NEXT: {"bytes":256,"channel":0,"do":"start","id":4,"microbatch":0,"offset":1344,"op":"recv","peer":1,"transfer":2},
// CHECK-NEXT: {"bytes":256,"channel":0,"do":"start","id":5,"microbatch":0,"offset":576,"op":"send","peer":0,"place":1,"transfer":2},
// CHECK-NEXT: {"do":"wait","id":5,"place":1},
// CHECK-NEXT: {"do":"wait","id":4},
// CHECK-NEXT: {"args":[576,1344],"dead":{{\[}}{"bytes":256,"offset":1344}],
// CHECK-NEXT: "do":"run","microbatch":0,"task":2,
// CHECK: "transfers":[{"bytes":128,"from":0,"from_stage":0,"gradient_of":null,"name":"x0",{{.*}}"value":"s0.v0"},
// CHECK-NEXT: {{.*}}"gradient_of":null,"name":"b0_to_1","requires_grad":true,"step":true,{{.*}}"value":"b0"},
// CHECK-NEXT: {{.*}}"gradient_of":1,"name":"b0_from_1","requires_grad":false,"step":true,{{.*}}"value":"b0"}]
pp.plan {mesh = [#pp.axis<"pp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local", tied = "owner"}
pp.input_decl "x" {type = tensor<4x8xf32>, shift = 0 : i64}
pp.param_decl "w" {type = tensor<64xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 0 @s0_F(%x: memref<4x8xf32> {pp.role = #pp.role<input, "x">}, %h: memref<4x8xf32>) {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%h: memref<4x8xf32>, %w: memref<64xf32> {pp.role = #pp.role<param, "w">}, %l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.task collect @p0_C_b0(%g: memref<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %b: memref<64xf32>) {
  pp.return
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 1 : i64}
} microbatch {
  %0 = pp.call @s0_F() : () -> tensor<4x8xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
  pp.call @s1_F(%1) : (tensor<4x8xf32>) -> ()
} end {
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 1 : i64, id = 2 : i64} : tensor<64xf32>
  pp.call @p0_C_b0(%0) : (tensor<64xf32>) -> ()
}
pp.schedule local attributes {slot_places = array<i64: 0, 1, 0>, slots = array<i64: 128, 128, 256>} {
  pp.zero
  pp.copy_bucket @b0 from 0 to 1 {id = 1 : i64}
  %h = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<4x8xf32>
  %c = pp.copy %h from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 1 : i64} : tensor<4x8xf32>
  pp.run @s1_F microbatch 0 (%c) : (tensor<4x8xf32>) -> ()
  %g = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 1 : i64, id = 2 : i64, slot = 2 : i64} : tensor<64xf32>
  pp.run @p0_C_b0 microbatch 0 (%g) : (tensor<64xf32>) -> ()
}
