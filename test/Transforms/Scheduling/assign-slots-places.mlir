// RUN: ppopt opt %s --pp-assign-slots | FileCheck %s

// A received value has its slot from the receive's start to its last reader, one that a run makes from its run to its last reader or to
// the wait of its send, whichever is later. Only values of one size share: h of microbatch 1 is made while h of microbatch 0 is
// still being sent; that of microbatch 2 takes its slot.
// CHECK: pp.schedule 0 attributes {slots = array<i64: 192, 64, 192, 64>}
// CHECK-NEXT: %[[F0:[0-9]+]]:2 = pp.run @s0_F microbatch 0 () slots [0, 1]
// CHECK-NEXT: %[[S0:[0-9]+]] = pp.send copy 0 microbatch 0 (%[[F0]]#0)
// CHECK-NEXT: %[[F1:[0-9]+]]:2 = pp.run @s0_F microbatch 1 () slots [2, 3]
// CHECK-NEXT: %[[S1:[0-9]+]] = pp.send copy 0 microbatch 1 (%[[F1]]#0)
// CHECK-NEXT: pp.wait %[[S0]] :
// CHECK-NEXT: %[[R0:[0-9]+]] = pp.recv copy 1 microbatch 0 slot 0 :
// CHECK-NEXT: %[[G0:[0-9]+]] = pp.wait %[[R0]] :
// CHECK-NEXT: pp.run @s0_B microbatch 0 (%[[F0]]#1, %[[G0]])
// CHECK-NEXT: pp.wait %[[S1]] :
// CHECK-NEXT: pp.run @s0_F microbatch 2 () slots [2, 1]
// CHECK-NEXT: pp.send copy 0 microbatch 2
// CHECK: pp.schedule 0 attributes {evaluation, slots = array<i64: 192, 64>}
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 3 : i64, microbatches = 3 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %y: tensor<f32> {pp.role = #pp.role<param, "c">})
    -> (tensor<40xf32>, tensor<f32>) {
  pp.return %x, %y : tensor<40xf32>, tensor<f32>
}
pp.task backward stage 0 @s0_B(%v: tensor<f32>, %g: tensor<40xf32>) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%h: tensor<40xf32>) -> tensor<40xf32> {
  pp.return %h : tensor<40xf32>
}
pp.step microbatch {
  %0:2 = pp.call @s0_F() : () -> (tensor<40xf32>, tensor<f32>)
  %1 = pp.copy %0#0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %2 = pp.call @s1_B(%1) : (tensor<40xf32>) -> tensor<40xf32>
  %3 = pp.copy %2 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<40xf32>
  pp.call @s0_B(%0#1, %3) : (tensor<f32>, tensor<40xf32>) -> ()
} evaluation {
  %0:2 = pp.call @s0_F() : () -> (tensor<40xf32>, tensor<f32>)
  %1 = pp.copy %0#0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
}
pp.schedule 0 attributes {slots = array<i64>} {
  %v0:2 = pp.run @s0_F microbatch 0 () : () -> (tensor<40xf32>, tensor<f32>)
  %s0 = pp.send copy 0 microbatch 0 (%v0#0) : tensor<40xf32>
  %v1:2 = pp.run @s0_F microbatch 1 () : () -> (tensor<40xf32>, tensor<f32>)
  %s1 = pp.send copy 0 microbatch 1 (%v1#0) : tensor<40xf32>
  pp.wait %s0 : !pp.token
  %c0 = pp.recv copy 1 microbatch 0 : !pp.future<tensor<40xf32>>
  %h0 = pp.wait %c0 : !pp.future<tensor<40xf32>>
  pp.run @s0_B microbatch 0 (%v0#1, %h0) : (tensor<f32>, tensor<40xf32>) -> ()
  pp.wait %s1 : !pp.token
  %v2:2 = pp.run @s0_F microbatch 2 () : () -> (tensor<40xf32>, tensor<f32>)
  %s2 = pp.send copy 0 microbatch 2 (%v2#0) : tensor<40xf32>
  pp.wait %s2 : !pp.token
}
pp.schedule 0 attributes {evaluation, slots = array<i64>} {
  %v0:2 = pp.run @s0_F microbatch 0 () : () -> (tensor<40xf32>, tensor<f32>)
  %s0 = pp.send copy 0 microbatch 0 (%v0#0) : tensor<40xf32>
  pp.wait %s0 : !pp.token
  %v1:2 = pp.run @s0_F microbatch 1 () : () -> (tensor<40xf32>, tensor<f32>)
}
