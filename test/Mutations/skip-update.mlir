// RUN: %mutate opt %s --mutate-skip-update | FileCheck %s
// RUN: sed '/pp.run @p0_U/d' %s | not %mutate opt --mutate-skip-update 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no update on place 0 to change

// CHECK-LABEL: pp.schedule 0
// CHECK-NOT: _U_
// CHECK-LABEL: pp.schedule 1
// CHECK: pp.run @p1_U_tied
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @only {params = ["a"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0>}
pp.bucket @tied {params = ["b"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1, 2>}
pp.task norm @p0_N(%n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @p0_D() {
  pp.return
}
pp.task decide on 1 @p1_D() {
  pp.return
}
pp.task decide on 2 @p2_D() {
  pp.return
}
pp.task update @p0_U_only() {
  pp.return
}
pp.task update @p0_U_tied() {
  pp.return
}
pp.task update on 1 @p1_U_tied() {
  pp.return
}
pp.task update on 2 @p2_U_tied() {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.zero
  %only = pp.start all_reduce over <["dp"]> channel 1 <grads, "only">
  %tied = pp.start all_reduce over <["dp", "pp"] among [0, 1, 2]> channel 2 <grads, "tied">
  pp.wait %only : !pp.token
  pp.wait %tied : !pp.token
  pp.run @p0_N microbatch 0 () : () -> ()
  %norm = pp.start all_reduce over <["pp"]> channel 3 <norm>
  pp.wait %norm : !pp.token
  pp.run @p0_D microbatch 0 () : () -> ()
  pp.run @p0_U_only microbatch 0 () : () -> ()
  pp.run @p0_U_tied microbatch 0 () : () -> ()
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.zero
  %tied = pp.start all_reduce over <["dp", "pp"] among [0, 1, 2]> channel 2 <grads, "tied">
  pp.wait %tied : !pp.token
  %norm = pp.start all_reduce over <["pp"]> channel 3 <norm>
  pp.wait %norm : !pp.token
  pp.run @p1_D microbatch 0 () : () -> ()
  pp.run @p1_U_tied microbatch 0 () : () -> ()
}
pp.schedule 2 attributes {slots = array<i64>} {
  pp.zero
  %tied = pp.start all_reduce over <["dp", "pp"] among [0, 1, 2]> channel 2 <grads, "tied">
  pp.wait %tied : !pp.token
  %norm = pp.start all_reduce over <["pp"]> channel 3 <norm>
  pp.wait %norm : !pp.token
  pp.run @p2_D microbatch 0 () : () -> ()
  pp.run @p2_U_tied microbatch 0 () : () -> ()
}
