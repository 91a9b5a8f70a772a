// RUN: ppopt opt %s --pp-plan-arena --pp-emit-tasks | %python %S/Inputs/sorted_program.py | FileCheck %s

// A parameter that an axis of the model cuts says which part each rank has. `shape` is that of a rank.

// Columns, inside each of q, k and v: coordinate 0 has 0 to 3, 8 to 11 and 16 to 19 of 24.
// CHECK{LITERAL}: "name":"qkv","places":[0],"shape":[5,12],"tile":{"cuts":[[],[{"axis":"tp","parts":2,"period":8}]],
// CHECK-NEXT: "global_shape":[5,24]}

// Rows, over an axis and within its parts over another.
// CHECK{LITERAL}: "name":"rows","places":[0],"shape":[2,3],"tile":{"cuts":[[{"axis":"ep","parts":3,"period":12},
// CHECK-NEXT: {"axis":"tp","parts":2,"period":4}],
// CHECK-NEXT{LITERAL}: []],"global_shape":[12,3]}

// Minor parts, and minor parts of these: tp cuts each half in two, ep each quarter of such a part in three.
// CHECK{LITERAL}: "name":"minor","places":[0],"shape":[4],"tile":{"cuts":[[{"axis":"tp","parts":2,"period":12},
// CHECK-NEXT{LITERAL}: {"axis":"ep","parts":3,"period":3}]],
// CHECK-NEXT: "global_shape":[24]}

// CHECK: "name":"whole","places":[0],"shape":[3],"trained":true,"type":"f32"}
// CHECK: "name":"said_whole","places":[0],"shape":[3],"trained":true,"type":"f32"}
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"ep" = 3>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "qkv" {type = tensor<5x12xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{}, {3 * tp}]>}
pp.param_decl "rows" {type = tensor<2x3xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{ep, tp}, {}]>}
pp.param_decl "minor" {type = tensor<4xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{2 * tp, 4 * ep}]>}
pp.param_decl "whole" {type = tensor<3xf32>, init = #pp.init<zeros>}
pp.param_decl "said_whole" {type = tensor<3xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{}]>}
pp.task forward stage 0 @s0_F(%l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
}
