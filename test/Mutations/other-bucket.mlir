// RUN: %mutate opt %s --mutate-other-bucket | FileCheck %s
// RUN: sed '/pp.bucket @b1/d' %s | not %mutate opt --mutate-other-bucket 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no gradient of a type that another bucket has to change

// The first gradient of which another bucket of the place has the type: @b2 is on another place, and d has another type than w.
// CHECK: pp.task backward stage 0 @B(
// CHECK-SAME: {pp.role = #pp.role<grad, "c">}
// CHECK-SAME: {pp.role = #pp.role<grad, "d">}
// CHECK-SAME: -> (tensor<40xf32> {pp.role = #pp.role<grad, "c">}, tensor<70xf32> {pp.role = #pp.role<grad, "d">})
// CHECK: pp.task norm
// CHECK-SAME: #pp.role<grad_range, "b0">
pp.param_decl "c" {type = tensor<40xf32>, init = #pp.init<ones>, learns}
pp.param_decl "d" {type = tensor<70xf32>, init = #pp.init<ones>, learns}
pp.param_decl "e" {type = tensor<40xf32>, init = #pp.init<ones>, learns, places = array<i64: 1>}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<ones>, learns}
pp.bucket @b2 {params = ["e"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, decayed = false, places = array<i64: 1>}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.bucket @b1 {params = ["d", "c"], offsets = array<i64: 0, 128>, elements = 192 : i64, type = f32, decayed = false}
pp.task backward stage 0 @B(%w: tensor<40xf32> {pp.role = #pp.role<grad, "w">}, %d: tensor<70xf32> {pp.role = #pp.role<grad, "d">})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}, tensor<70xf32> {pp.role = #pp.role<grad, "d">}) {
  pp.return %w, %d : tensor<40xf32>, tensor<70xf32>
}
pp.task norm @N(%w: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
