// RUN: ppopt opt %s --pp-schedule --pp-overlap-transfers | FileCheck %s
// RUN: ppopt opt %s --pp-schedule | FileCheck %s --check-prefix=TABLE

// A send starts after the run that makes the value, and is waited for only when the receive has started for sure. A receive
// starts one run ahead. Before, both are waited for at once.

// TABLE: pp.schedule 0 attributes {slots
// TABLE-NEXT: pp.zero
// TABLE-NEXT: %[[F0:[0-9]+]] = pp.run @s0_F microbatch 0 ()
// TABLE-NEXT: %[[A0:[0-9]+]] = pp.send copy 0 microbatch 0 (%[[F0]]) : tensor<40xf32>
// TABLE-NEXT: pp.wait %[[A0]] : !pp.token
// TABLE-NEXT: %[[F1:[0-9]+]] = pp.run @s0_F microbatch 1 ()
// TABLE-NEXT: %[[A1:[0-9]+]] = pp.send copy 0 microbatch 1 (%[[F1]]) : tensor<40xf32>
// TABLE-NEXT: pp.wait %[[A1]] : !pp.token
// TABLE-NEXT: %[[R0:[0-9]+]] = pp.recv copy 1 microbatch 0 : !pp.future<tensor<40xf32>>
// TABLE-NEXT: %[[G0:[0-9]+]] = pp.wait %[[R0]] : !pp.future<tensor<40xf32>>
// TABLE-NEXT: pp.run @s0_B microbatch 0 (%[[G0]], %[[F0]])
// TABLE-NEXT: pp.run @s0_F microbatch 2
// TABLE: pp.run @s0_B microbatch 1
// TABLE: pp.run @s0_B microbatch 2
// TABLE-NEXT: {{^  }$}}

// CHECK: pp.schedule 0 attributes {slots
// CHECK-NEXT: pp.zero
// CHECK-NEXT: %[[F0:[0-9]+]] = pp.run @s0_F microbatch 0
// CHECK-NEXT: %[[A0:[0-9]+]] = pp.send copy 0 microbatch 0 (%[[F0]]) :
// CHECK-NEXT: %[[G0:[0-9]+]] = pp.recv copy 1 microbatch 0 :
// CHECK-NEXT: %[[F1:[0-9]+]] = pp.run @s0_F microbatch 1
// CHECK-NEXT: %[[A1:[0-9]+]] = pp.send copy 0 microbatch 1 (%[[F1]]) :
// CHECK: pp.wait %[[A0]] :
// CHECK: %[[H0:[0-9]+]] = pp.wait %[[G0]] :
// CHECK-NEXT: pp.run @s0_B microbatch 0 (%[[H0]], %[[F0]])

// CHECK: pp.schedule 0 attributes {evaluation
// CHECK-NOT: pp.recv
// CHECK: pp.run @s0_F microbatch 0
// CHECK-NEXT: pp.send copy 0 microbatch 0

// CHECK: pp.schedule 1 attributes {slots
// CHECK: %[[R0:[0-9]+]] = pp.recv copy 0 microbatch 0 :
// CHECK-NEXT: %[[X0:[0-9]+]] = pp.wait %[[R0]] :
// CHECK-NEXT: %[[F0:[0-9]+]] = pp.run @s1_F microbatch 0 (%[[X0]])
// CHECK-NEXT: %[[R1:[0-9]+]] = pp.recv copy 0 microbatch 1 :
// CHECK-NEXT: %[[B0:[0-9]+]] = pp.run @s1_B microbatch 0 (%[[F0]])
// CHECK-NEXT: pp.send copy 1 microbatch 0 (%[[B0]]) :
// CHECK: %[[X1:[0-9]+]] = pp.wait %[[R1]] :
// CHECK: pp.run @s1_F microbatch 1 (%[[X1]])
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 6 : i64, microbatches = 3 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
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
