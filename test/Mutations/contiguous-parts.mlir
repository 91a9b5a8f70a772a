// RUN: %mutate opt %s --mutate-contiguous-parts | FileCheck %s
// RUN: sed 's/3 [*] tp/tp/' %s | not %mutate opt --mutate-contiguous-parts 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no parameter that is cut inside of parts to change

// CHECK: pp.param "v" {init = #pp.init<zeros>, pp.shardings = [#pp.sharding<[{tp}, {sp}]>]}
// CHECK: pp.param "w" {init = #pp.init<zeros>, pp.shardings = [#pp.sharding<[{}, {tp}]>]}
func.func @m(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  %v = pp.param "v" {init = #pp.init<zeros>, pp.shardings = [#pp.sharding<[{tp}, {sp}]>]} : tensor<2x3xf32>
  %w = pp.param "w" {init = #pp.init<zeros>, pp.shardings = [#pp.sharding<[{}, {3 * tp}]>]} : tensor<4x6xf32>
  return %x : tensor<4xf32>
}
