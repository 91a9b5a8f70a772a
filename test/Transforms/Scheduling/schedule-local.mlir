// RUN: ppopt opt %s --pp-schedule --pp-schedule-local --pp-insert-transfers --pp-insert-collectives --pp-bind-operands --pp-assign-slots | FileCheck %s
// RUN: sed 's/launch = "local"/launch = "ranks"/' %s | ppopt opt --pp-schedule-local | FileCheck %s --check-prefix=RANKS

// Three stages on two places, there and back. One list in the order of the program: what a run makes is sent right after it, to a
// slot of the place that reads it, where it stays until its last reader. Sums over places are started on each place before their reader.
// The transfer @x4, which no run reads, is not made; in evaluation nothing is that only a backward reads.
// CHECK: pp.schedule local attributes {slot_places = array<i64: 0, 0, 1, 1, 0, 1>, slots = array<i64: 64, 192, 192, 128, 128, 192>} {
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P microbatch 0
// CHECK-NEXT: pp.run @p1_P microbatch 1
// CHECK-NEXT: pp.start [[P0:[0-9]+]] on 0 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<global, "g0">
// CHECK-NEXT: pp.start [[P1:[0-9]+]] on 1 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<global, "g0">
// CHECK-NEXT: pp.wait [[P0]]
// CHECK-NEXT: pp.wait [[P1]]
// CHECK-NEXT: pp.run @s0_F microbatch 0 (<input, "a">, <input, "b">, slot 0, slot 1)
// CHECK-NEXT: pp.recv [[R:[0-9]+]] @x0 microbatch 0 slot 2
// CHECK-NEXT: pp.send [[S:[0-9]+]] @x0 microbatch 0 slot 1
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.wait [[R]]
// CHECK-NEXT: pp.run @s1_F microbatch 0 (slot 2, <input, "c">, slot 3)
// CHECK-NEXT: pp.recv [[R:[0-9]+]] @x1 microbatch 0 slot 4
// CHECK-NEXT: pp.send [[S:[0-9]+]] @x1 microbatch 0 slot 3
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.wait [[R]]
// CHECK-NEXT: pp.run @s2_F microbatch 0 (slot 4, <loss>)
// CHECK-NEXT: pp.run @s2_B microbatch 0 (<input, "c">, <grads, "b0">, slot [[G2:[0-9]+]])
// CHECK-NEXT: pp.recv [[R:[0-9]+]] @x2 microbatch 0 slot [[X2:[0-9]+]]
// CHECK-NEXT: pp.send [[S:[0-9]+]] @x2 microbatch 0 slot [[G2]]
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.wait [[R]]
// CHECK-NEXT: pp.run @s1_I microbatch 0 (slot 2, slot [[X2]], slot [[G1:[0-9]+]])
// CHECK-NEXT: pp.recv [[R:[0-9]+]] @x3 microbatch 0 slot [[X3:[0-9]+]]
// CHECK-NEXT: pp.send [[S:[0-9]+]] @x3 microbatch 0 slot [[G1]]
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.wait [[R]]
// CHECK-NEXT: pp.run @s1_W microbatch 0 (slot [[X2]], <grads, "b0">)
// CHECK-NEXT: pp.run @s0_B microbatch 0 (slot 0, slot [[X3]])
// CHECK-NEXT: pp.run @s0_F microbatch 1
// CHECK: pp.run @s0_B microbatch 1
// CHECK-NEXT: pp.start [[P0:[0-9]+]] on 0 all_reduce over <["pp"] among [0, 1]> channel {{[0-9]+}} @b0
// CHECK-NEXT: pp.start [[P1:[0-9]+]] on 1 all_reduce over <["pp"] among [0, 1]> channel {{[0-9]+}} @b0
// CHECK-NEXT: pp.wait [[P0]]
// CHECK-NEXT: pp.wait [[P1]]
// CHECK-NEXT: pp.run @p0_N microbatch 0
// CHECK-NEXT: pp.start [[P0:[0-9]+]] on 0 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<loss, "loss">
// CHECK-NEXT: pp.start [[P1:[0-9]+]] on 1 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<loss, "loss">
// CHECK-NEXT: pp.wait [[P0]]
// CHECK-NEXT: pp.wait [[P1]]
// CHECK-NEXT: pp.start [[P0:[0-9]+]] on 0 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<norm, "norm">
// CHECK-NEXT: pp.start [[P1:[0-9]+]] on 1 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<norm, "norm">
// CHECK-NEXT: pp.wait [[P0]]
// CHECK-NEXT: pp.wait [[P1]]
// CHECK-NEXT: pp.run @p0_D microbatch 0
// CHECK-NEXT: pp.run @p1_D microbatch 0
// CHECK-NEXT: pp.run @p0_U_b0 microbatch 0
// CHECK-NEXT: pp.run @p1_U_b0 microbatch 0
// CHECK-NEXT: {{^  }$}}
// CHECK: pp.schedule local attributes {evaluation
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P microbatch 0
// CHECK-NEXT: pp.run @p1_P microbatch 1
// CHECK-NEXT: pp.start [[P0:[0-9]+]] on 0 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<global, "g0">
// CHECK-NEXT: pp.start [[P1:[0-9]+]] on 1 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<global, "g0">
// CHECK-NEXT: pp.wait [[P0]]
// CHECK-NEXT: pp.wait [[P1]]
// CHECK-NEXT: pp.run @s0_F microbatch 0
// CHECK-NEXT: pp.recv [[R:[0-9]+]] @x0 microbatch 0
// CHECK-NEXT: pp.send [[S:[0-9]+]] @x0 microbatch 0
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.wait [[R]]
// CHECK-NEXT: pp.run @s1_F microbatch 0
// CHECK-NEXT: pp.recv [[R:[0-9]+]] @x1 microbatch 0
// CHECK-NEXT: pp.send [[S:[0-9]+]] @x1 microbatch 0
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.wait [[R]]
// CHECK-NEXT: pp.run @s2_F microbatch 0
// CHECK-NEXT: pp.run @s0_F microbatch 1
// CHECK-NOT: @b0
// CHECK-NOT: _D
// CHECK: pp.start [[P0:[0-9]+]] on 0 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<loss, "loss">
// CHECK-NEXT: pp.start [[P1:[0-9]+]] on 1 all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<loss, "loss">
// CHECK-NEXT: pp.wait [[P0]]
// CHECK-NEXT: pp.wait [[P1]]
// CHECK-NEXT: {{^  }$}}
// CHECK-NOT: pp.schedule

// RANKS-NOT: pp.schedule
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.transfer @x0 "s0.v1" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<40xf32>
pp.transfer @x1 "s1.v0" from 1 to 0 stage 1 to 2 {requires_grad} : tensor<20xf32>
pp.transfer @x2 "s2.g0" from 0 to 1 stage 2 to 1 {gradient_of = @x1} : tensor<20xf32>
pp.transfer @x3 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<40xf32>
pp.transfer @x4 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<8xf32>
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>, shard_group = #pp.group<["pp"] among [0, 1]>}
pp.task prologue on 1 @p1_P(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return %g : tensor<f32>
}
pp.task forward stage 0 @s0_F(%a: tensor<8xf32> {pp.role = #pp.role<input, "a">}, %b: tensor<40xf32> {pp.role = #pp.role<input, "b">})
    -> (tensor<8xf32> {pp.role = #pp.role<saved, "s0.v0">}, tensor<40xf32> {pp.role = #pp.role<saved, "s0.v1">}) {
  pp.return %a, %b : tensor<8xf32>, tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%v: tensor<8xf32> {pp.role = #pp.role<saved, "s0.v0">}, %g: tensor<40xf32> {pp.role = #pp.role<received, "x3">}) {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %b: tensor<20xf32> {pp.role = #pp.role<input, "c">})
    -> (tensor<20xf32> {pp.role = #pp.role<saved, "s1.v0">}) {
  pp.return %b : tensor<20xf32>
}
pp.task backward_input stage 1 on 1 @s1_I(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %g: tensor<20xf32> {pp.role = #pp.role<received, "x2">})
    -> (tensor<40xf32> {pp.role = #pp.role<saved, "s1.g0">}) {
  pp.return %x : tensor<40xf32>
}
pp.task backward_weight stage 1 on 1 @s1_W(%g: tensor<20xf32> {pp.role = #pp.role<received, "x2">}, %d: tensor<64xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<64xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<64xf32>
}
pp.task forward stage 2 @s2_F(%x: tensor<20xf32> {pp.role = #pp.role<received, "x1">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.task backward stage 2 @s2_B(%b: tensor<20xf32> {pp.role = #pp.role<input, "c">}, %d: tensor<64xf32> {pp.role = #pp.role<grad, "w">})
    -> (tensor<20xf32> {pp.role = #pp.role<saved, "s2.g0">}, tensor<64xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %b, %d : tensor<20xf32>, tensor<64xf32>
}
pp.task norm @p0_N(%n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @p0_D(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return
}
pp.task decide on 1 @p1_D(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return
}
pp.task update @p0_U_b0() {
  pp.return
}
pp.task update on 1 @p1_U_b0() {
  pp.return
}
