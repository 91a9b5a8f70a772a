// RUN: ppopt opt %s --pp-bind-operands --pp-assign-slots | FileCheck %s
// RUN: not ppopt opt %s --pp-assign-slots 2>&1 | FileCheck %s --check-prefix=UNBOUND
// UNBOUND: error: 'pp.run' op binds no operands; run --pp-bind-operands before --pp-assign-slots

// A received value has its slot from the receive's start to its last reader, a saved one from its run to its last reader or to
// the wait of its send, whichever is later. Only values of one size share: h of microbatch 1 is made while h of microbatch 0 is
// still being sent; that of microbatch 2 takes its slot.
// CHECK: pp.schedule 0 attributes {slots = array<i64: 192, 64, 192, 64>}
// CHECK-NEXT: pp.run @s0_F microbatch 0 (<param, "w">, <param, "c">, slot 0, slot 1)
// CHECK-NEXT: pp.send 0 @x0 microbatch 0 slot 0
// CHECK-NEXT: pp.run @s0_F microbatch 1 (<param, "w">, <param, "c">, slot 2, slot 3)
// CHECK-NEXT: pp.send 1 @x0 microbatch 1 slot 2
// CHECK-NEXT: pp.wait 0
// CHECK-NEXT: pp.recv 2 @x1 microbatch 0 slot 0
// CHECK-NEXT: pp.wait 2
// CHECK-NEXT: pp.run @s0_B microbatch 0 (slot 1, slot 0)
// CHECK-NEXT: pp.wait 1
// CHECK-NEXT: pp.run @s0_F microbatch 2 (<param, "w">, <param, "c">, slot 2, slot 1)
// CHECK-NEXT: pp.send 3 @x0 microbatch 2 slot 2
// CHECK-NEXT: pp.wait 3
// CHECK: pp.schedule 0 attributes {evaluation, slots = array<i64: 192, 64>}
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 3 : i64, microbatches = 3 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.transfer @x0 "s0.h" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<40xf32>
pp.transfer @x1 "s1.g" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<40xf32>
pp.task forward stage 0 @s0_F(%x: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %y: tensor<f32> {pp.role = #pp.role<param, "c">})
    -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.h">}, tensor<f32> {pp.role = #pp.role<saved, "s0.v">}) {
  pp.return %x, %y : tensor<40xf32>, tensor<f32>
}
pp.task backward stage 0 @s0_B(%v: tensor<f32> {pp.role = #pp.role<saved, "s0.v">}, %g: tensor<40xf32> {pp.role = #pp.role<received, "x1">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.run @s0_F microbatch 0
  pp.send 0 @x0 microbatch 0 slot -1
  pp.run @s0_F microbatch 1
  pp.send 1 @x0 microbatch 1 slot -1
  pp.wait 0
  pp.recv 2 @x1 microbatch 0 slot -1
  pp.wait 2
  pp.run @s0_B microbatch 0
  pp.wait 1
  pp.run @s0_F microbatch 2
  pp.send 3 @x0 microbatch 2 slot -1
  pp.wait 3
}
pp.schedule 0 attributes {evaluation, slots = array<i64>} {
  pp.run @s0_F microbatch 0
  pp.send 0 @x0 microbatch 0 slot -1
  pp.wait 0
  pp.run @s0_F microbatch 1
}
