// RUN: ppopt opt %s --pp-plan-arena | FileCheck %s --check-prefix=ARENA
// RUN: ppopt opt %s --pp-plan-arena --pp-emit-tasks | %python %S/Inputs/sorted_program.py | FileCheck %s

// Only what a rank adds to needs a receive buffer: an all-gather has none.
// ARENA: pp.region <scratch of <grads, "b0">> at {{[0-9]+}} bytes 128
// ARENA-NOT: scratch
// ARENA: pp.region <scratch of <grads, "b0">> at {{[0-9]+}} bytes 128 {{.*}}place = 2
// ARENA-NOT: scratch

// 101 elements over 4 ranks are chunks of 26, 25, 25, 25, and 6 are 2, 2, 1, 1. A reduce-scatter sends all but the rank's own chunk, an
// all-gather all but the next rank's: (75 + 4)·4 bytes on place 0, whose first rank is the first, (76 + 5)·4 on the second.
// CHECK: {"among":[0,2],"axes":["dp","pp"],"channel":1,"do":"start","elements":101,"id":0,"offset":{{[0-9]+}},"op":"reduce_scatter","scratch":{"bytes":104,"offset":{{[0-9]+}}}
// CHECK: {"among":[0,2],"axes":["dp","pp"],"channel":1,"do":"start","elements":6,"id":1,"offset":{{[0-9]+}},"op":"all_gather","scratch":{"bytes":0,"offset":0}
// CHECK: "place":0,"predicted":{"bytes_sent":316,
// CHECK: "place":1,"predicted":{"bytes_sent":0,
// CHECK: "place":2,"predicted":{"bytes_sent":324,
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "v" {type = tensor<6xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 2>}
pp.param_decl "w" {type = tensor<101xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 2>}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 101 : i64, type = f32, places = array<i64: 0, 2>}
pp.bucket @b1 {params = ["v"], offsets = array<i64: 0>, elements = 6 : i64, type = f32, places = array<i64: 0, 2>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F() {
  pp.return
}
pp.task forward stage 2 on 2 @s2_F() {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
  %b0 = pp.start reduce_scatter over <["dp", "pp"] among [0, 2]> channel 1 <grads, "b0">
  pp.wait %b0 : !pp.token
  %b1 = pp.start all_gather over <["dp", "pp"] among [0, 2]> channel 1 <grads, "b1">
  pp.wait %b1 : !pp.token
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.zero
}
pp.schedule 2 attributes {slots = array<i64>} {
  pp.zero
  %b0 = pp.start reduce_scatter over <["dp", "pp"] among [0, 2]> channel 1 <grads, "b0">
  pp.wait %b0 : !pp.token
  %b1 = pp.start all_gather over <["dp", "pp"] among [0, 2]> channel 1 <grads, "b1">
  pp.wait %b1 : !pp.token
}
