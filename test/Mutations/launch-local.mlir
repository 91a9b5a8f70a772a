// RUN: %mutate opt %s --mutate-tied-not-summed | FileCheck %s --check-prefix=TIED
// RUN: %mutate opt %s --mutate-local-clip-norm | FileCheck %s --check-prefix=NORM
// RUN: %mutate opt %s --mutate-gradient-not-summed | FileCheck %s --check-prefix=NOT-SUMMED

// One list of all places: a sum is a start and a wait of each. Still no wait comes before all starts of its sum.

// TIED: pp.zero
// TIED-NEXT: %[[P0:[0-9]+]] = pp.start on 0 all_reduce over <["pp"] among [0, 1]> channel 3 <grads, "tied">
// TIED-NEXT: %[[P1:[0-9]+]] = pp.start on 1 all_reduce over <["pp"] among [0, 1]> channel 3 <grads, "tied">
// TIED-NEXT: pp.wait %[[P0]] :
// TIED-NEXT: pp.wait %[[P1]] :
// TIED-NEXT: pp.run @p0_N

// NORM: pp.zero
// NORM-NEXT: pp.run @p0_N
// NORM-NEXT: pp.run @p0_D
// NORM-NEXT: %[[P0:[0-9]+]] = pp.start on 0 {{.*}} <grads, "tied">
// NORM-NEXT: %[[P1:[0-9]+]] = pp.start on 1 {{.*}} <grads, "tied">
// NORM-NEXT: %[[P2:[0-9]+]] = pp.start on 2 {{.*}} <grads, "tied">
// NORM-NEXT: pp.wait %[[P0]] :
// NORM-NEXT: pp.wait %[[P1]] :
// NORM-NEXT: pp.wait %[[P2]] :
// NORM-NEXT: {{^  }$}}

// NOT-SUMMED: pp.zero
// NOT-SUMMED-NEXT: pp.run @p0_N
// NOT-SUMMED-NEXT: pp.start on 0 {{.*}} <norm>
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.bucket @tied {params = ["b"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1, 2>}
pp.task norm @p0_N(%n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @p0_D() {
  pp.return
}
pp.schedule local attributes {slot_places = array<i64>, slots = array<i64>} {
  pp.zero
  %tied0 = pp.start on 0 all_reduce over <["pp"] among [0, 1, 2]> channel 1 <grads, "tied">
  %tied1 = pp.start on 1 all_reduce over <["pp"] among [0, 1, 2]> channel 1 <grads, "tied">
  %tied2 = pp.start on 2 all_reduce over <["pp"] among [0, 1, 2]> channel 1 <grads, "tied">
  pp.wait %tied0 : !pp.token
  pp.wait %tied1 : !pp.token
  pp.wait %tied2 : !pp.token
  pp.run @p0_N microbatch 0 () : () -> ()
  %norm0 = pp.start on 0 all_reduce over <["pp"]> channel 2 <norm>
  %norm1 = pp.start on 1 all_reduce over <["pp"]> channel 2 <norm>
  %norm2 = pp.start on 2 all_reduce over <["pp"]> channel 2 <norm>
  pp.wait %norm0 : !pp.token
  pp.wait %norm1 : !pp.token
  pp.wait %norm2 : !pp.token
  pp.run @p0_D microbatch 0 () : () -> ()
}
