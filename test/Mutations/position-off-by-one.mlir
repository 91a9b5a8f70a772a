// RUN: %mutate opt %s --mutate-position-off-by-one | FileCheck %s
// RUN: sed s/position/place/ %s | not %mutate opt --mutate-position-off-by-one 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no position of a program that generates to change

// The next position, but none beyond the last.
// CHECK: func.func @m(%[[TOKEN:.*]]: tensor<1x1xi32> {{.*}}, %[[AT:.*]]: tensor<1xi64>
// CHECK: %[[ONE:.*]] = pp.constant dense<1> : tensor<1xi64>
// CHECK: %[[NEXT:.*]] = pp.add %[[AT]], %[[ONE]]
// CHECK: %[[LAST:.*]] = pp.constant dense<4> : tensor<1xi64>
// CHECK: %[[MIN:.*]] = pp.minimum %[[NEXT]], %[[LAST]]
// CHECK: pp.embedding %{{.*}}, %[[MIN]]
func.func @m(%token: tensor<1x1xi32> {pp.range = 7 : i64, pp.role = #pp.role<input, "token">},
             %at: tensor<1xi64> {pp.range = 5 : i64, pp.role = #pp.role<input, "position">}) -> (tensor<1x6xf32> {pp.role = #pp.role<output, "logits">}) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<5x6xf32>
  %e = pp.embedding %w, %at : tensor<5x6xf32>, tensor<1xi64>
  return %e : tensor<1x6xf32>
}
