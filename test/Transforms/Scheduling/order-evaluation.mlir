// What an evaluation repeats for each batch is together: prologues by level, then the forwards with all transfers. Collectives are between; the sum of the loss is
// last. Training stays as it is.
// RUN: ppopt opt %s --pp-order-evaluation | FileCheck %s

// CHECK: pp.schedule 1 attributes {slots
// CHECK: pp.recv 3
// CHECK-NEXT: pp.wait 0
// CHECK: pp.schedule 1 attributes {evaluation
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P microbatch 0
// CHECK-NEXT: pp.start 0 all_reduce over <["pp"]> channel 1 #pp.role<global, "g0">
// CHECK-NEXT: pp.wait 0
// CHECK-NEXT: pp.recv 3 @x0 microbatch 0 slot 0
// CHECK-NEXT: pp.wait 3
// CHECK-NEXT: pp.run @s1_F microbatch 0
// CHECK-NEXT: pp.recv 4 @x0 microbatch 1 slot 0
// CHECK-NEXT: pp.wait 4
// CHECK-NEXT: pp.run @s1_F microbatch 1
// CHECK-NEXT: pp.start 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
// CHECK-NEXT: pp.wait 1
pp.plan {mesh = [#pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task prologue on 1 @p1_P(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%h: tensor<4xf32> {pp.role = #pp.role<received, "x0">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<4xf32>
pp.schedule 1 attributes {slots = array<i64: 64>} {
  pp.zero
  pp.run @p1_P microbatch 0
  pp.start 0 all_reduce over <["pp"]> channel 1 #pp.role<global, "g0">
  pp.recv 3 @x0 microbatch 0 slot 0
  pp.wait 0
  pp.wait 3
  pp.run @s1_F microbatch 0
}
pp.schedule 1 attributes {evaluation, slots = array<i64: 64>} {
  pp.zero
  pp.run @p1_P microbatch 0
  pp.start 0 all_reduce over <["pp"]> channel 1 #pp.role<global, "g0">
  pp.start 1 all_reduce over <["pp"]> channel 1 #pp.role<loss, "loss">
  pp.recv 3 @x0 microbatch 0 slot 0
  pp.wait 0
  pp.wait 3
  pp.run @s1_F microbatch 0
  pp.recv 4 @x0 microbatch 1 slot 0
  pp.wait 1
  pp.wait 4
  pp.run @s1_F microbatch 1
}
