// RUN: ppopt opt %s --pp-schedule --pp-overlap-transfers --pp-order-starts | FileCheck %s
// RUN: sed 's/, gpu = "sm_80"//' %s | ppopt opt --pp-schedule --pp-overlap-transfers --pp-order-starts | FileCheck %s --check-prefix=QUEUES

// Place 1 sends copy 1 of microbatch 0 after it has received copy 0 of microbatch 1. So place 0 starts the receive after that send,
// although the transfer before it could start earlier.

// CHECK: pp.schedule 0 attributes {slots
// CHECK: %[[F0:[0-9]+]] = pp.run @s0_F microbatch 0
// CHECK-NEXT: pp.send copy 0 microbatch 0 (%[[F0]]) :
// CHECK-NEXT: %[[F1:[0-9]+]] = pp.run @s0_F microbatch 1
// CHECK-NEXT: pp.send copy 0 microbatch 1 (%[[F1]]) :
// CHECK-NEXT: %[[G0:[0-9]+]] = pp.recv copy 1 microbatch 0 :
// CHECK: %[[H0:[0-9]+]] = pp.wait %[[G0]] :
// CHECK-NEXT: pp.run @s0_B microbatch 0 (%[[H0]], %[[F0]])

// CHECK: pp.schedule 1 attributes {slots
// CHECK: pp.recv copy 0 microbatch 1 :
// CHECK: pp.send copy 1 microbatch 0

// Where each pair of places has a queue of its own, nothing moves.

// QUEUES: pp.schedule 0 attributes {slots
// QUEUES: pp.send copy 0 microbatch 0
// QUEUES-NEXT: pp.recv copy 1 microbatch 0 :
// QUEUES-NEXT: pp.run @s0_F microbatch 1
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 6 : i64, microbatches = 3 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cuda", threads = 1, cpu = "x86-64-v3", features = "", gpu = "sm_80">}
pp.task forward stage 0 @s0_F(%x: tensor<40xf32> {pp.role = #pp.role<input, "x">}) -> tensor<40xf32> {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<40xf32>) -> tensor<40xf32> {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%x: tensor<40xf32>, %s: tensor<40xf32>) {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<40xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %2 = pp.call @s1_F(%1) : (tensor<40xf32>) -> tensor<40xf32>
  %3 = pp.call @s1_B(%2) : (tensor<40xf32>) -> tensor<40xf32>
  %4 = pp.copy %3 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<40xf32>
  pp.call @s0_B(%4, %0) : (tensor<40xf32>, tensor<40xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<40xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %2 = pp.call @s1_F(%1) : (tensor<40xf32>) -> tensor<40xf32>
}
