// RUN: ppopt opt %s --pp-schedule --pp-insert-transfers | FileCheck %s
// RUN: ppopt opt %s --pp-schedule | FileCheck %s --check-prefix=TABLE

// A send starts after the run that makes the value, and is waited for only when the receive has started for sure. A receive
// starts one run ahead.

// TABLE: pp.schedule 0 attributes {slots
// TABLE: pp.run @s0_F microbatch 0
// TABLE-NEXT: pp.run @s0_F microbatch 1
// TABLE-NEXT: pp.run @s0_B microbatch 0
// TABLE-NEXT: pp.run @s0_F microbatch 2
// TABLE-NEXT: pp.run @s0_B microbatch 1
// TABLE-NEXT: pp.run @s0_B microbatch 2
// TABLE-NEXT: {{^  }$}}

// CHECK: pp.schedule 0 attributes {slots
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @s0_F microbatch 0
// CHECK-NEXT: pp.send [[A0:.*]] @x0 microbatch 0 slot -1
// CHECK-NEXT: pp.recv [[G0:.*]] @x1 microbatch 0 slot -1
// CHECK-NEXT: pp.run @s0_F microbatch 1
// CHECK-NEXT: pp.send [[A1:.*]] @x0 microbatch 1 slot -1
// CHECK: pp.wait [[A0]]
// CHECK: pp.wait [[G0]]
// CHECK-NEXT: pp.run @s0_B microbatch 0

// CHECK: pp.schedule 0 attributes {evaluation
// CHECK-NOT: pp.recv
// CHECK: pp.run @s0_F microbatch 0
// CHECK-NEXT: pp.send {{.*}} @x0 microbatch 0

// CHECK: pp.schedule 1 attributes {slots
// CHECK: pp.recv [[R0:.*]] @x0 microbatch 0 slot -1
// CHECK-NEXT: pp.wait [[R0]]
// CHECK-NEXT: pp.run @s1_F microbatch 0
// CHECK-NEXT: pp.recv [[R1:.*]] @x0 microbatch 1 slot -1
// CHECK-NEXT: pp.run @s1_B microbatch 0
// CHECK-NEXT: pp.send [[S0:.*]] @x1 microbatch 0 slot -1
// CHECK: pp.wait [[R1]]
// CHECK: pp.run @s1_F microbatch 1
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 6 : i64, microbatches = 3 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<40xf32> {pp.role = #pp.role<input, "x">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s1.v0">}) {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<40xf32> {pp.role = #pp.role<saved, "s1.v0">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s1.g0">}) {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%x: tensor<40xf32> {pp.role = #pp.role<received, "x1">}, %s: tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  %0 = pp.neg %x : tensor<40xf32>
  pp.return
}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<40xf32>
pp.transfer @x1 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<40xf32>
