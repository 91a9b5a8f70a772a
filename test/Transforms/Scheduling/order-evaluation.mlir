// What an evaluation repeats for each batch is together: prologues by level, then the forwards with all transfers. Collectives are between; the sum of the loss is
// last, before what the evaluation leaves in flight. Training stays as it is.
// RUN: ppopt opt %s --pp-order-evaluation | FileCheck %s

// CHECK: pp.schedule 1 attributes {slots
// CHECK: %[[G:[0-9]+]] = pp.start {{.*}} <global, "g0">
// CHECK-NEXT: %[[R:[0-9]+]] = pp.recv copy 0 microbatch 0
// CHECK-NEXT: pp.wait %[[G]] :
// CHECK: pp.schedule 1 attributes {evaluation
// CHECK-NEXT: ^bb0(%[[P:[a-z0-9]+]]: !pp.token):
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P microbatch 0
// CHECK-NEXT: %[[G:[0-9]+]] = pp.start all_reduce over <["pp"]> channel 1 <global, "g0">
// CHECK-NEXT: pp.wait %[[G]] :
// CHECK-NEXT: %[[R0:[0-9]+]] = pp.recv copy 0 microbatch 0 slot 0 :
// CHECK-NEXT: %[[H0:[0-9]+]] = pp.wait %[[R0]] :
// CHECK-NEXT: pp.wait %[[P]] :
// CHECK-NEXT: pp.run @s1_F microbatch 0 (%[[H0]])
// CHECK-NEXT: %[[R1:[0-9]+]] = pp.recv copy 0 microbatch 1 slot 0 :
// CHECK-NEXT: %[[H1:[0-9]+]] = pp.wait %[[R1]] :
// CHECK-NEXT: pp.run @s1_F microbatch 1 (%[[H1]])
// CHECK-NEXT: %[[L:[0-9]+]] = pp.start all_reduce over <["pp"]> channel 1 <loss>
// CHECK-NEXT: pp.wait %[[L]] :
// CHECK-NEXT: %[[N:[0-9]+]] = pp.done
// CHECK-NEXT: pp.yield %[[N]] : !pp.token
pp.plan {mesh = [#pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task prologue on 1 @p1_P(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return
}
pp.task forward stage 0 @s0_F(%x: tensor<4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4xf32> {
  pp.return %x : tensor<4xf32>
}
pp.task forward stage 1 on 1 @s1_F(%h: tensor<4xf32>, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return
}
pp.step prologue {
  pp.call @p1_P() : () -> ()
} microbatch {
  %0 = pp.call @s0_F() : () -> tensor<4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<4xf32>
  pp.call @s1_F(%1) : (tensor<4xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<4xf32>
  pp.call @s1_F(%1) : (tensor<4xf32>) -> ()
}
pp.schedule 1 attributes {slots = array<i64: 64>} {
^bb0(%p: !pp.token):
  pp.zero
  pp.run @p1_P microbatch 0 () : () -> ()
  %t0 = pp.start all_reduce over <["pp"]> channel 1 <global, "g0">
  %c0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
  pp.wait %t0 : !pp.token
  %h0 = pp.wait %c0 : !pp.future<tensor<4xf32>>
  pp.wait %p : !pp.token
  pp.run @s1_F microbatch 0 (%h0) : (tensor<4xf32>) -> ()
  %t1 = pp.start all_gather over <["dp"]> channel 2 <params, "b0">
  pp.yield %t1 : !pp.token
}
pp.schedule 1 attributes {evaluation, slots = array<i64: 64>} {
^bb0(%p: !pp.token):
  pp.zero
  pp.run @p1_P microbatch 0 () : () -> ()
  %t0 = pp.start all_reduce over <["pp"]> channel 1 <global, "g0">
  %t1 = pp.start all_reduce over <["pp"]> channel 1 <loss>
  %c0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4xf32>>
  pp.wait %t0 : !pp.token
  %h0 = pp.wait %c0 : !pp.future<tensor<4xf32>>
  pp.wait %p : !pp.token
  pp.run @s1_F microbatch 0 (%h0) : (tensor<4xf32>) -> ()
  %c1 = pp.recv copy 0 microbatch 1 slot 0 : !pp.future<tensor<4xf32>>
  pp.wait %t1 : !pp.token
  %h1 = pp.wait %c1 : !pp.future<tensor<4xf32>>
  pp.run @s1_F microbatch 1 (%h1) : (tensor<4xf32>) -> ()
  %none = pp.done
  pp.yield %none : !pp.token
}
