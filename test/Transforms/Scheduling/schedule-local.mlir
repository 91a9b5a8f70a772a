// RUN: ppopt opt %s --pp-schedule --pp-schedule-local --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots | FileCheck %s
// RUN: sed 's/launch = "local"/launch = "ranks"/' %s | ppopt opt --pp-schedule-local | FileCheck %s --check-prefix=RANKS
// RUN: sed '/^pp.step/,/^}$/d' %s | not ppopt opt --pp-schedule-local 2>&1 | FileCheck %s --check-prefix=STEP
// STEP: error: there is no pp.step to make a schedule of

// Three stages on two places, there and back. One list in the order of the program: what a run makes is copied right after it, to a
// slot of the place that reads it, where it stays until its last reader. Sums over places are started on each place before their reader.
// In evaluation nothing is that only a backward reads.
// CHECK: pp.schedule local attributes {slot_places = array<i64: 0, 0, 1, 1, 0, 1>, slots = array<i64: 64, 192, 192, 128, 128, 192>} {
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P microbatch 0
// CHECK-NEXT: pp.run @p1_P microbatch 1
// CHECK-NEXT: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"]> channel {{[0-9]+}} <global, "g0">
// CHECK-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"]> channel {{[0-9]+}} <global, "g0">
// CHECK-NEXT: pp.wait %[[P0]]
// CHECK-NEXT: pp.wait %[[P1]]
// CHECK-NEXT: %[[F0:[0-9]+]]:2 = pp.run @s0_F microbatch 0 () slots [0, 1]
// CHECK-NEXT: %[[X0:[0-9]+]] = pp.copy %[[F0]]#1 from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 2 : i64}
// CHECK-NEXT: %[[F1:[0-9]+]] = pp.run @s1_F microbatch 0 (%[[X0]]) slots [3]
// CHECK-NEXT: %[[X1:[0-9]+]] = pp.copy %[[F1]] from 1 to 0 {id = 1 : i64, microbatch = 0 : i64, slot = 4 : i64}
// CHECK-NEXT: pp.run @s2_F microbatch 0 (%[[X1]])
// CHECK-NEXT: %[[B2:[0-9]+]] = pp.run @s2_B microbatch 0 () slots [4]
// CHECK-NEXT: %[[X2:[0-9]+]] = pp.copy %[[B2]] from 0 to 1 {gradient_of = 1 : i64, id = 2 : i64, microbatch = 0 : i64, slot = 3 : i64}
// CHECK-NEXT: %[[I1:[0-9]+]] = pp.run @s1_I microbatch 0 (%[[X0]], %[[X2]]) slots [5]
// CHECK-NEXT: %[[X3:[0-9]+]] = pp.copy %[[I1]] from 1 to 0 {gradient_of = 0 : i64, id = 3 : i64, microbatch = 0 : i64, slot = 1 : i64}
// CHECK-NEXT: pp.run @s1_W microbatch 0 (%[[X2]])
// CHECK-NEXT: pp.run @s0_B microbatch 0 (%[[F0]]#0, %[[X3]])
// CHECK-NEXT: pp.run @s0_F microbatch 1
// CHECK: pp.run @s0_B microbatch 1
// CHECK-NEXT: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"] among [0, 1]> channel {{[0-9]+}} <grads, "b0">
// CHECK-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"] among [0, 1]> channel {{[0-9]+}} <grads, "b0">
// CHECK-NEXT: pp.wait %[[P0]]
// CHECK-NEXT: pp.wait %[[P1]]
// CHECK-NEXT: pp.run @p0_N microbatch 0
// CHECK-NEXT: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"]> channel {{[0-9]+}} <loss>
// CHECK-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"]> channel {{[0-9]+}} <loss>
// CHECK-NEXT: pp.wait %[[P0]]
// CHECK-NEXT: pp.wait %[[P1]]
// CHECK-NEXT: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"]> channel {{[0-9]+}} <norm>
// CHECK-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"]> channel {{[0-9]+}} <norm>
// CHECK-NEXT: pp.wait %[[P0]]
// CHECK-NEXT: pp.wait %[[P1]]
// CHECK-NEXT: pp.run @p0_D microbatch 0
// CHECK-NEXT: pp.run @p1_D microbatch 0
// CHECK-NEXT: pp.run @p0_U_b0 microbatch 0
// CHECK-NEXT: pp.run @p1_U_b0 microbatch 0
// CHECK-NEXT: {{^  }$}}
// CHECK: pp.schedule local attributes {evaluation
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P microbatch 0
// CHECK-NEXT: pp.run @p1_P microbatch 1
// CHECK-NEXT: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"]> channel {{[0-9]+}} <global, "g0">
// CHECK-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"]> channel {{[0-9]+}} <global, "g0">
// CHECK-NEXT: pp.wait %[[P0]]
// CHECK-NEXT: pp.wait %[[P1]]
// CHECK-NEXT: %[[F0:[0-9]+]]:2 = pp.run @s0_F microbatch 0
// CHECK-NEXT: %[[X0:[0-9]+]] = pp.copy %[[F0]]#1 from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = {{[0-9]+}} : i64}
// CHECK-NEXT: %[[F1:[0-9]+]] = pp.run @s1_F microbatch 0 (%[[X0]])
// CHECK-NEXT: %[[X1:[0-9]+]] = pp.copy %[[F1]] from 1 to 0 {id = 1 : i64, microbatch = 0 : i64, slot = {{[0-9]+}} : i64}
// CHECK-NEXT: pp.run @s2_F microbatch 0 (%[[X1]])
// CHECK-NEXT: pp.run @s0_F microbatch 1
// CHECK-NOT: @b0
// CHECK-NOT: _D
// CHECK: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"]> channel {{[0-9]+}} <loss>
// CHECK-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"]> channel {{[0-9]+}} <loss>
// CHECK-NEXT: pp.wait %[[P0]]
// CHECK-NEXT: pp.wait %[[P1]]
// CHECK-NEXT: {{^  }$}}
// CHECK-NOT: pp.schedule

// RANKS-NOT: pp.schedule
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>, shard_group = #pp.group<["pp"] among [0, 1]>}
pp.task prologue on 1 @p1_P(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return %g : tensor<f32>
}
pp.task forward stage 0 @s0_F(%a: tensor<8xf32> {pp.role = #pp.role<input, "a">}, %b: tensor<40xf32> {pp.role = #pp.role<input, "b">})
    -> (tensor<8xf32>, tensor<40xf32>) {
  pp.return %a, %b : tensor<8xf32>, tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%v: tensor<8xf32>, %g: tensor<40xf32>) {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32>, %b: tensor<20xf32> {pp.role = #pp.role<input, "c">})
    -> tensor<20xf32> {
  pp.return %b : tensor<20xf32>
}
pp.task backward_input stage 1 on 1 @s1_I(%x: tensor<40xf32>, %g: tensor<20xf32>)
    -> tensor<40xf32> {
  pp.return %x : tensor<40xf32>
}
pp.task backward_weight stage 1 on 1 @s1_W(%g: tensor<20xf32>, %d: tensor<64xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<64xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<64xf32>
}
pp.task forward stage 2 @s2_F(%x: tensor<20xf32>, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  pp.return %l : tensor<f32>
}
pp.task backward stage 2 @s2_B(%b: tensor<20xf32> {pp.role = #pp.role<input, "c">}, %d: tensor<64xf32> {pp.role = #pp.role<grad, "w">})
    -> (tensor<20xf32>, tensor<64xf32> {pp.role = #pp.role<grad, "w">}) {
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
pp.step prologue {
  pp.call @p1_P() : () -> ()
} microbatch {
  %0:2 = pp.call @s0_F() : () -> (tensor<8xf32>, tensor<40xf32>)
  %1 = pp.copy %0#1 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %2 = pp.call @s1_F(%1) : (tensor<40xf32>) -> tensor<20xf32>
  %3 = pp.copy %2 from 1 to 0 {id = 1 : i64} : tensor<20xf32>
  pp.call @s2_F(%3) : (tensor<20xf32>) -> ()
  %4 = pp.call @s2_B() : () -> tensor<20xf32>
  %5 = pp.copy %4 from 0 to 1 {gradient_of = 1 : i64, id = 2 : i64} : tensor<20xf32>
  %6 = pp.call @s1_I(%1, %5) : (tensor<40xf32>, tensor<20xf32>) -> tensor<40xf32>
  %7 = pp.copy %6 from 1 to 0 {gradient_of = 0 : i64, id = 3 : i64} : tensor<40xf32>
  pp.call @s1_W(%5) : (tensor<20xf32>) -> ()
  pp.call @s0_B(%0#0, %7) : (tensor<8xf32>, tensor<40xf32>) -> ()
} evaluation {
  %0:2 = pp.call @s0_F() : () -> (tensor<8xf32>, tensor<40xf32>)
  %1 = pp.copy %0#1 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %2 = pp.call @s1_F(%1) : (tensor<40xf32>) -> tensor<20xf32>
  %3 = pp.copy %2 from 1 to 0 {id = 1 : i64} : tensor<20xf32>
  pp.call @s2_F(%3) : (tensor<20xf32>) -> ()
} end {
  pp.call @p0_N() : () -> ()
  pp.call @p0_D() : () -> ()
  pp.call @p1_D() : () -> ()
  pp.call @p0_U_b0() : () -> ()
  pp.call @p1_U_b0() : () -> ()
}
