// RUN: ppopt opt %s --pp-insert-collectives | FileCheck %s

// Two places, two ranks each. @tied and @more are held by both places: their sums start in one order on both, though place 1
// has @more complete first. A place without a part in a sum starts it too, after the zeros or its prologues.
// Every group has a channel of its own; the norm is summed over the places only.
// CHECK-LABEL: pp.schedule 0 attributes {slots
// CHECK-NEXT: pp.zero
// CHECK-NEXT: %[[G:[0-9]+]] = pp.start all_reduce over <["dp", "pp"]> channel [[ALL:[0-9]+]] <global, "g0">
// CHECK-NEXT: %[[L:[0-9]+]] = pp.start all_reduce over <["dp", "pp"]> channel [[ALL]] <loss>
// CHECK-NEXT: pp.wait %[[G]] :
// CHECK-NEXT: pp.run @s0_F
// CHECK-NEXT: pp.run @s0_B
// CHECK-NEXT: %[[ONLY_SUM:[0-9]+]] = pp.start all_reduce over <["dp"]> channel [[DP:[0-9]+]] <grads, "only">
// CHECK-NEXT: %[[TIED_SUM:[0-9]+]] = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel [[COPIES:[0-9]+]] <grads, "tied">
// CHECK-NEXT: %[[MORE_SUM:[0-9]+]] = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel [[COPIES]] <grads, "more">
// CHECK-NEXT: pp.wait %[[ONLY_SUM]] :
// CHECK-NEXT: pp.wait %[[TIED_SUM]] :
// CHECK-NEXT: pp.wait %[[MORE_SUM]] :
// CHECK-NEXT: pp.run @p0_N
// CHECK-NEXT: %[[N:[0-9]+]] = pp.start all_reduce over <["pp"]> channel [[PP:[0-9]+]] <norm>
// CHECK-NEXT: pp.wait %[[L]] :
// CHECK-NEXT: pp.wait %[[N]] :
// CHECK-NEXT: pp.run @p0_D
// CHECK-NEXT: pp.run @p0_U_only
// CHECK-NEXT: pp.run @p0_U_tied
// CHECK-NEXT: pp.run @p0_U_more
// CHECK-NEXT: {{^  }$}}
// CHECK-LABEL: pp.schedule 1 attributes {slots
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.run @p1_P
// CHECK-NEXT: %[[G:[0-9]+]] = pp.start all_reduce over <["dp", "pp"]> channel [[ALL]] <global, "g0">
// CHECK-NEXT: %[[N:[0-9]+]] = pp.start all_reduce over <["pp"]> channel [[PP]] <norm>
// CHECK-NEXT: pp.wait %[[G]] :
// CHECK-NEXT: pp.run @s1_F
// CHECK-NEXT: %[[L:[0-9]+]] = pp.start all_reduce over <["dp", "pp"]> channel [[ALL]] <loss>
// CHECK-NEXT: pp.run @s1_B
// CHECK-NEXT: pp.run @s2_B
// CHECK-NEXT: %[[TIED_SUM:[0-9]+]] = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel [[COPIES]] <grads, "tied">
// CHECK-NEXT: %[[MORE_SUM:[0-9]+]] = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel [[COPIES]] <grads, "more">
// CHECK-NEXT: pp.wait %[[N]] :
// CHECK-NEXT: pp.wait %[[L]] :
// CHECK-NEXT: pp.wait %[[TIED_SUM]] :
// CHECK-NEXT: pp.wait %[[MORE_SUM]] :
// CHECK-NEXT: pp.run @p1_D
// CHECK-NEXT: pp.run @p1_U_tied
// CHECK-NEXT: pp.run @p1_U_more
// CHECK-NEXT: {{^  }$}}
// CHECK-LABEL: pp.schedule 0 attributes {evaluation
// CHECK-NEXT: pp.zero
// CHECK-NEXT: %[[G:[0-9]+]] = pp.start {{.*}} <global, "g0">
// CHECK-NEXT: %[[L:[0-9]+]] = pp.start {{.*}} <loss>
// CHECK-NEXT: pp.wait %[[G]] :
// CHECK-NEXT: pp.run @s0_F
// CHECK-NEXT: pp.wait %[[L]] :
// CHECK-NEXT: {{^  }$}}
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @only {params = ["a"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0>, shard_group = #pp.group<["dp"]>}
pp.bucket @tied {params = ["b"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>, shard_group = #pp.group<["dp", "pp"] among [0, 1]>}
pp.bucket @more {params = ["c"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decay_scale = 0.000000e+00 : f64, places = array<i64: 0, 1>, shard_group = #pp.group<["dp", "pp"] among [0, 1]>}
pp.task prologue on 1 @p1_P(%g: tensor<f32> {pp.role = #pp.role<global, "g0">, pp.sharding = #pp.sharding<[], sum = {dp}>}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">, pp.sharding = #pp.sharding<[], sum = {dp}>}) {
  pp.return %g : tensor<f32>
}
pp.task forward stage 0 @s0_F() {
  pp.return
}
pp.task forward stage 1 on 1 @s1_F(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp}>}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp}>}) {
  pp.return %l : tensor<f32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<64xf32> {pp.role = #pp.role<grad, "c">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) -> (tensor<64xf32> {pp.role = #pp.role<grad, "c">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  pp.return %a : tensor<64xf32>
}
pp.task backward stage 1 on 1 @s2_B(%a: tensor<64xf32> {pp.role = #pp.role<grad, "b">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) -> (tensor<64xf32> {pp.role = #pp.role<grad, "b">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  pp.return %a : tensor<64xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<64xf32> {pp.role = #pp.role<grad, "a">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, %b: tensor<64xf32> {pp.role = #pp.role<grad, "b">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, %c: tensor<64xf32> {pp.role = #pp.role<grad, "c">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<64xf32> {pp.role = #pp.role<grad, "a">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, tensor<64xf32> {pp.role = #pp.role<grad, "b">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, tensor<64xf32> {pp.role = #pp.role<grad, "c">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  pp.return %a, %b, %c : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
pp.task norm @p0_N(%n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @p0_D(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}, %g: tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return
}
pp.task decide on 1 @p1_D(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}, %g: tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return
}
pp.task update @p0_U_only() {
  pp.return
}
pp.task update @p0_U_tied() {
  pp.return
}
pp.task update @p0_U_more() {
  pp.return
}
pp.task update on 1 @p1_U_tied() {
  pp.return
}
pp.task update on 1 @p1_U_more() {
  pp.return
}
pp.step prologue {
  pp.call @p1_P() : () -> ()
} microbatch {
  pp.call @s0_F() : () -> ()
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
  pp.call @s2_B() : () -> ()
  pp.call @s0_B() : () -> ()
} evaluation {
  pp.call @s0_F() : () -> ()
  pp.call @s1_F() : () -> ()
} end {
  pp.call @p0_N() : () -> ()
  pp.call @p0_D() : () -> ()
  pp.call @p1_D() : () -> ()
  pp.call @p0_U_only() : () -> ()
  pp.call @p0_U_tied() : () -> ()
  pp.call @p0_U_more() : () -> ()
  pp.call @p1_U_tied() : () -> ()
  pp.call @p1_U_more() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
  pp.run @s0_F microbatch 0 () : () -> ()
  pp.run @s0_B microbatch 0 () : () -> ()
  pp.run @p0_N microbatch 0 () : () -> ()
  pp.run @p0_D microbatch 0 () : () -> ()
  pp.run @p0_U_only microbatch 0 () : () -> ()
  pp.run @p0_U_tied microbatch 0 () : () -> ()
  pp.run @p0_U_more microbatch 0 () : () -> ()
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.zero
  pp.run @p1_P microbatch 0 () : () -> ()
  pp.run @s1_F microbatch 0 () : () -> ()
  pp.run @s1_B microbatch 0 () : () -> ()
  pp.run @s2_B microbatch 0 () : () -> ()
  pp.run @p1_D microbatch 0 () : () -> ()
  pp.run @p1_U_tied microbatch 0 () : () -> ()
  pp.run @p1_U_more microbatch 0 () : () -> ()
}
pp.schedule 0 attributes {evaluation, slots = array<i64>} {
  pp.zero
  pp.run @s0_F microbatch 0 () : () -> ()
}
