// RUN: %mutate opt %s --mutate-drop-reshard | FileCheck %s
// RUN: sed '/pp.reshard %1/d; s/%2/%1/' %s | not %mutate opt --mutate-drop-reshard 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no reshard that completes a sum to change

// What changes the shape stays, and so does a division.
// CHECK: %[[CUT:.*]] = pp.reshard
// CHECK: %[[SHARE:.*]] = pp.reshard
// CHECK-NOT: pp.reshard
// CHECK: pp.tanh %[[SHARE]]
func.func @m(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<2xf32> {
  %0 = pp.reshard %x from #pp.sharding<[{}], sum = {sp}> to #pp.sharding<[{tp}]> of [4] {bytes = 0 : i64} : tensor<4xf32> to tensor<2xf32>
  %1 = pp.reshard %0 from #pp.sharding<[{tp}]> to #pp.sharding<[{tp}], sum = {sp}> of [4] {bytes = 0 : i64} : tensor<2xf32> to tensor<2xf32>
  %2 = pp.reshard %1 from #pp.sharding<[{tp}], sum = {sp}> to #pp.sharding<[{tp}]> of [4] {bytes = 0 : i64} : tensor<2xf32> to tensor<2xf32>
  %3 = pp.tanh %2 : tensor<2xf32>
  return %3 : tensor<2xf32>
}
