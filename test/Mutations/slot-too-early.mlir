// RUN: %mutate opt %s --mutate-slot-too-early | FileCheck %s
// RUN: sed '/microbatch 1/d; /wait .s1/d' %s | not %mutate opt --mutate-slot-too-early 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no saved values of two microbatches in flight to change

// v of microbatch 1 is written over that of microbatch 0, which the backward still reads. A value that no other of its kind
// overlaps stays.
// CHECK: pp.schedule 0
// CHECK-NEXT: %[[F0:[0-9]+]]:2 = pp.run @s0_F microbatch 0 () slots [0, 1]
// CHECK-NEXT: pp.send copy 0 microbatch 0 (%[[F0]]#0) :
// CHECK-NEXT: pp.wait
// CHECK-NEXT: %[[F1:[0-9]+]]:2 = pp.run @s0_F microbatch 1 () slots [0, 1]
// CHECK-NEXT: pp.send copy 0 microbatch 1 (%[[F1]]#0) :
// CHECK-NEXT: pp.wait
// CHECK-NEXT: pp.run @s0_B microbatch 0 (%[[F0]]#1)
// CHECK-NEXT: pp.run @s0_B microbatch 1 (%[[F1]]#1)
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %y: tensor<f32> {pp.role = #pp.role<param, "c">})
    -> (tensor<40xf32>, tensor<f32>) {
  pp.return %x, %y : tensor<40xf32>, tensor<f32>
}
pp.task backward stage 0 @s0_B(%v: tensor<f32>) {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%h: tensor<40xf32>) {
  pp.return
}
pp.step microbatch {
  %0:2 = pp.call @s0_F() : () -> (tensor<40xf32>, tensor<f32>)
  %1 = pp.copy %0#0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  pp.call @s1_F(%1) : (tensor<40xf32>) -> ()
  pp.call @s0_B(%0#1) : (tensor<f32>) -> ()
}
pp.schedule 0 attributes {slots = array<i64: 192, 64, 64>} {
  %v0:2 = pp.run @s0_F microbatch 0 () slots [0, 1] : () -> (tensor<40xf32>, tensor<f32>)
  %s0 = pp.send copy 0 microbatch 0 (%v0#0) : tensor<40xf32>
  pp.wait %s0 : !pp.token
  %v1:2 = pp.run @s0_F microbatch 1 () slots [0, 2] : () -> (tensor<40xf32>, tensor<f32>)
  %s1 = pp.send copy 0 microbatch 1 (%v1#0) : tensor<40xf32>
  pp.wait %s1 : !pp.token
  pp.run @s0_B microbatch 0 (%v0#1) : (tensor<f32>) -> ()
  pp.run @s0_B microbatch 1 (%v1#1) : (tensor<f32>) -> ()
}
