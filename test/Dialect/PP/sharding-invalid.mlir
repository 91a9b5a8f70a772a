// RUN: ppopt opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{names the axis "tp" twice}}
func.func private @twice_in_dim(tensor<4x4xf32> {pp.shard = #pp.sharding<[{tp, 2 * tp}, {}]>})

// -----

// expected-error @+1 {{names the axis "tp" twice}}
func.func private @twice(tensor<4x4xf32> {pp.shard = #pp.sharding<[{tp}, {sp, tp}]>})

// -----

// expected-error @+1 {{names the axis "tp" twice}}
func.func private @cut_and_partial(tensor<4x4xf32> {pp.shard = #pp.sharding<[{tp}, {}], sum = {tp}>})

// -----

// expected-error @+1 {{names the axis "sp" twice}}
func.func private @sum_and_maximum(tensor<4x4xf32> {pp.shard = #pp.sharding<[{tp}, {}], sum = {sp}, max = {sp}>})

// -----

// expected-error @+1 {{has 3 outer parts before "sp", but needs a multiple of 2}}
func.func private @multiple(tensor<12x4xf32> {pp.shard = #pp.sharding<[{2 * tp, 3 * sp}, {}]>})

// -----

// expected-error @+1 {{has 0 outer parts before "tp", but needs a multiple of 1}}
func.func private @no_parts(tensor<12x4xf32> {pp.shard = #pp.sharding<[{0 * tp}, {}]>})

// -----

func.func @types(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'pp.reshard' op says that 'tensor<4xf32>' has 2 dimensions}}
  %0 = pp.reshard %x from <[{tp}, {}]> to <[{}, {}]> of [8, 4] {bytes = 0 : i64} : tensor<4x4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @dimensions(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{'pp.reshard' op has a sharding of 1 dimensions for a tensor of 2}}
  %0 = pp.reshard %x from <[{tp}]> to <[{}, {}]> of [8, 4] {bytes = 0 : i64} : tensor<4x4xf32> to tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @elements(%x: tensor<4x4xf32>) -> tensor<8x4xf64> {
  // expected-error @+1 {{'pp.reshard' op failed to verify that all of {x, result} have same element type}}
  %0 = pp.reshard %x from <[{tp}, {}]> to <[{}, {}]> of [8, 4] {bytes = 0 : i64} : tensor<4x4xf32> to tensor<8x4xf64>
  return %0 : tensor<8x4xf64>
}
