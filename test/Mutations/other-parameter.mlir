// RUN: %mutate opt %s --mutate-other-parameter | FileCheck %s
// RUN: sed 's/param, "w"/input, "x"/; s/param, "b"/input, "y"/' %s | not %mutate opt --mutate-other-parameter 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no task with two parameters of a type to change

// In the first task of a place that can, the two largest of one type: v and w, not b and c.
// CHECK: pp.task forward stage 0 @F(
// CHECK-SAME: {pp.role = #pp.role<param, "w">}
// CHECK-SAME: {pp.role = #pp.role<param, "v">}
// CHECK-SAME: {pp.role = #pp.role<param, "b">}
// CHECK-SAME: {pp.role = #pp.role<param, "c">}
// CHECK: pp.task forward stage 1 @G(
// CHECK-SAME: {pp.role = #pp.role<param, "v">}
// CHECK-SAME: {pp.role = #pp.role<param, "w">}
pp.task forward stage 0 @F(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">},
    %b: tensor<8xf32> {pp.role = #pp.role<param, "b">}, %c: tensor<8xf32> {pp.role = #pp.role<param, "c">}) {
  pp.return
}
pp.task forward stage 1 @G(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
