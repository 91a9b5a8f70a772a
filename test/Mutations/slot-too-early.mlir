// RUN: %mutate opt %s --mutate-slot-too-early | FileCheck %s
// RUN: sed '/microbatch 1/d; /wait 1/d' %s | not %mutate opt --mutate-slot-too-early 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no saved values of two microbatches in flight to change

// v of microbatch 1 is written over that of microbatch 0, which the backward still reads. A value that no other of its kind
// overlaps stays.
// CHECK: pp.schedule 0
// CHECK-NEXT: pp.run @s0_F microbatch 0 (<param, "w">, <param, "c">, slot 0, slot 1)
// CHECK-NEXT: pp.send 0 @x0 microbatch 0 slot 0
// CHECK-NEXT: pp.wait 0
// CHECK-NEXT: pp.run @s0_F microbatch 1 (<param, "w">, <param, "c">, slot 0, slot 1)
// CHECK-NEXT: pp.send 1 @x0 microbatch 1 slot 0
// CHECK-NEXT: pp.wait 1
// CHECK-NEXT: pp.run @s0_B microbatch 0 (slot 1)
// CHECK-NEXT: pp.run @s0_B microbatch 1 (slot 1)
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.transfer @x0 "s0.h" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.task forward stage 0 @s0_F(%x: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %y: tensor<f32> {pp.role = #pp.role<param, "c">})
    -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.h">}, tensor<f32> {pp.role = #pp.role<saved, "s0.v">}) {
  pp.return %x, %y : tensor<40xf32>, tensor<f32>
}
pp.task backward stage 0 @s0_B(%v: tensor<f32> {pp.role = #pp.role<saved, "s0.v">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192, 64, 64>} {
  pp.run @s0_F microbatch 0 (<param, "w">, <param, "c">, slot 0, slot 1)
  pp.send 0 @x0 microbatch 0 slot 0
  pp.wait 0
  pp.run @s0_F microbatch 1 (<param, "w">, <param, "c">, slot 0, slot 2)
  pp.send 1 @x0 microbatch 1 slot 0
  pp.wait 1
  pp.run @s0_B microbatch 0 (slot 1)
  pp.run @s0_B microbatch 1 (slot 2)
}
