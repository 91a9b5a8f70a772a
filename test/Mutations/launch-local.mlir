// RUN: %mutate opt %s --mutate-tied-not-summed | FileCheck %s --check-prefix=TIED
// RUN: %mutate opt %s --mutate-local-clip-norm | FileCheck %s --check-prefix=NORM
// RUN: %mutate opt %s --mutate-gradient-not-summed | FileCheck %s --check-prefix=NOT-SUMMED

// One list of all places: a sum is a start and a wait of each. Still no wait comes before all starts of its sum.

// TIED: pp.zero
// TIED-NEXT: pp.start 0 on 0 all_reduce over <["pp"] among [0, 1]> channel 3 @tied
// TIED-NEXT: pp.start 1 on 1 all_reduce over <["pp"] among [0, 1]> channel 3 @tied
// TIED-NEXT: pp.wait 0
// TIED-NEXT: pp.wait 1
// TIED-NEXT: pp.run @p0_N

// NORM: pp.zero
// NORM-NEXT: pp.run @p0_N
// NORM-NEXT: pp.run @p0_D
// NORM-NEXT: pp.start 0 on 0 {{.*}} @tied
// NORM-NEXT: pp.start 1 on 1 {{.*}} @tied
// NORM-NEXT: pp.start 2 on 2 {{.*}} @tied
// NORM-NEXT: pp.wait 0
// NORM-NEXT: pp.wait 1
// NORM-NEXT: pp.wait 2
// NORM-NEXT: {{^  }$}}

// NOT-SUMMED: pp.zero
// NOT-SUMMED-NEXT: pp.run @p0_N
// NOT-SUMMED-NEXT: pp.start 3 on 0
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}
pp.bucket @tied {params = ["b"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1, 2>}
pp.task norm @p0_N(%n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @p0_D() {
  pp.return
}
pp.schedule local attributes {slot_places = array<i64>, slots = array<i64>} {
  pp.zero
  pp.start 0 on 0 all_reduce over <["pp"] among [0, 1, 2]> channel 1 @tied
  pp.start 1 on 1 all_reduce over <["pp"] among [0, 1, 2]> channel 1 @tied
  pp.start 2 on 2 all_reduce over <["pp"] among [0, 1, 2]> channel 1 @tied
  pp.wait 0
  pp.wait 1
  pp.wait 2
  pp.run @p0_N microbatch 0 (<norm>)
  pp.start 3 on 0 all_reduce over <["pp"]> channel 2 #pp.role<norm, "norm">
  pp.start 4 on 1 all_reduce over <["pp"]> channel 2 #pp.role<norm, "norm">
  pp.start 5 on 2 all_reduce over <["pp"]> channel 2 #pp.role<norm, "norm">
  pp.wait 3
  pp.wait 4
  pp.wait 5
  pp.run @p0_D microbatch 0 ()
}
