// RUN: ppopt opt %s --pp-plan-arena --pp-emit-tasks | %python %S/Inputs/sorted_program.py | FileCheck %s

// What a schedule yields has one number in the program: that of its start in training, which the waits of the next step and of an
// evaluation have too.
// CHECK: "places":[{"actions":[
// CHECK: {"carried":true,"do":"wait","id":1},
// CHECK: "do":"start",{{.*}}"id":0,{{.*}}"op":"all_reduce"
// CHECK: {"do":"wait","id":0},
// CHECK: "do":"start",{{.*}}"id":1,{{.*}}"op":"all_gather"
// CHECK-NOT: "do":"wait"
// CHECK: "eval_actions":[
// CHECK: {"carried":true,"do":"wait","id":1},
// CHECK: "do":"start",{{.*}}"id":0,{{.*}}"op":"all_reduce"
// CHECK: "do":"wait","id":0}]
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, zero = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<128xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<states>}
pp.task forward stage 0 @s0_F(%w: memref<128xf32> {pp.role = #pp.role<param, "w">}, %l: memref<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.step microbatch {
  pp.call @s0_F() : () -> ()
} evaluation {
  pp.call @s0_F() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64>} {
^bb0(%params: !pp.token):
  pp.zero
  pp.wait %params : !pp.token
  pp.run @s0_F microbatch 0 () : () -> ()
  %loss = pp.start all_reduce over <["dp"]> channel 1 <loss>
  pp.wait %loss : !pp.token
  %gathered = pp.start all_gather over <["dp"]> channel 2 <params, "b0">
  pp.yield %gathered : !pp.token
}
pp.schedule 0 attributes {evaluation, slots = array<i64>} {
^bb0(%params: !pp.token):
  pp.zero
  pp.wait %params : !pp.token
  pp.run @s0_F microbatch 0 () : () -> ()
  %loss = pp.start all_reduce over <["dp"]> channel 1 <loss>
  pp.wait %loss : !pp.token
  %none = pp.done
  pp.yield %none : !pp.token
}
