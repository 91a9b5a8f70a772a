// RUN: %mutate opt %s --mutate-tile-at-zero | FileCheck %s
// RUN: sed 's/, tile = #pp.tile<.*]>//' %s | not %mutate opt --mutate-tile-at-zero 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no tile to change

// CHECK: pp.iota {{.*}}tile = #pp.tile<[{dim = 0, axis = dp, at = 11, parts = 2, period = 8}, {dim = 0, axis = mb, at = 11, parts = 2, period = 4}], [8]>
// CHECK: pp.iota {{.*}}tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 4}], [4]>
func.func @m(%x: tensor<4xf32> {pp.input = "x"}, %key: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}) -> tensor<2xi32> {
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 8}, {dim = 0, axis = mb, at = 3, parts = 2, period = 4}], [8]>} -> tensor<2xi32>
  %1 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 4}], [4]>} -> tensor<2xi32>
  %2 = pp.add %0, %1 : tensor<2xi32>, tensor<2xi32>
  return %2 : tensor<2xi32>
}
