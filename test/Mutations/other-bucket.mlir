// RUN: %mutate opt %s --mutate-other-bucket | FileCheck %s
// RUN: sed 's/@b1 {.*elements = 128/@b1 {params = ["c"], offsets = array<i64: 0>, elements = 32/' %s | not %mutate opt --mutate-other-bucket 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no gradient that another bucket has room for to change

// @b2 is on another place, and @b0 has no room for the gradient of c. That of w goes where the one of d is.
// CHECK: pp.task backward stage 0 @B(
// CHECK-SAME: {pp.role = #pp.role<grad, "d">}
// CHECK-SAME: {pp.role = #pp.role<grad, "c">}
// CHECK-SAME: -> (tensor<40xf32> {pp.role = #pp.role<grad, "d">}, tensor<70xf32> {pp.role = #pp.role<grad, "c">})
// CHECK: pp.task norm
// CHECK-SAME: #pp.role<grad_range, "b0">
pp.bucket @b2 {params = ["e"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, decay_scale = 0.000000e+00 : f64, places = array<i64: 1>}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32}
pp.bucket @b1 {params = ["d", "c"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, decay_scale = 0.000000e+00 : f64}
pp.task backward stage 0 @B(%w: tensor<40xf32> {pp.role = #pp.role<grad, "w">}, %c: tensor<70xf32> {pp.role = #pp.role<grad, "c">})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}, tensor<70xf32> {pp.role = #pp.role<grad, "c">}) {
  pp.return %w, %c : tensor<40xf32>, tensor<70xf32>
}
pp.task norm @N(%w: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
