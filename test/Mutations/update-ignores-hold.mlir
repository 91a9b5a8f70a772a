// RUN: %mutate opt %s --mutate-update-ignores-hold | FileCheck %s
// RUN: sed 's/pp.select .*/pp.mul %m, %m : tensor<64xf32>, tensor<64xf32>/' %s | not %mutate opt --mutate-update-ignores-hold 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no state that a step may hold to change

// CHECK: pp.task update @p0_U_b0(%[[P:[^:]*]]: {{.*}}, %[[M:[^:]*]]: {{.*}}"m">}, %[[V:[^:]*]]: {{.*}}"v">}, %{{.*}}"hold">})
// CHECK: %[[MM:.*]] = pp.select %{{.*}}, %[[M]], %{{.*}}
// CHECK: pp.return %[[P]], %[[MM]], %[[P]]
pp.task update @p0_U_b0(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, %m: tensor<64xf32> {pp.role = #pp.role<state_range, "b0", "m">}, %v: tensor<64xf32> {pp.role = #pp.role<state_range, "b0", "v">}, %h: tensor<f64> {pp.role = #pp.role<step_state, "hold">})
    -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, tensor<64xf32> {pp.role = #pp.role<state_range, "b0", "m">}, tensor<64xf32> {pp.role = #pp.role<state_range, "b0", "v">}) {
  %zero = pp.constant dense<0.0> : tensor<f64>
  %held = pp.compare ne %h, %zero : tensor<f64>, tensor<f64>
  %mm = pp.select %held, %m, %p : tensor<i1>, tensor<64xf32>, tensor<64xf32>
  %vv = pp.select %held, %v, %p : tensor<i1>, tensor<64xf32>, tensor<64xf32>
  pp.return %p, %mm, %vv : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
