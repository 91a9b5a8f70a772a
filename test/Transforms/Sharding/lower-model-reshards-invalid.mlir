// RUN: ppopt opt %s --split-input-file --pp-lower-model-reshards --verify-diagnostics

// Six heads of four columns, and the columns of three parts are cut in four.
pp.plan {mesh = [#pp.axis<"tp" = 4>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @heads(%x: tensor<2x18xf32>) -> tensor<2x18x4xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {3 * tp}]> to <[{}, {}]> of [2, 72] {bytes = 108 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<2x18xf32> to tensor<2x72xf32>
  // expected-error @below {{reads operand 0 as #pp.sharding<[{}, {}]>, but it is #pp.sharding<[{}, {3 * tp}]>: this needs an all-gather, and tasks have all-reduces only; tp=2, 3 or 6 would cut it}}
  %1 = pp.reshape %0 : tensor<2x72xf32> to tensor<2x18x4xf32>
  return %1 : tensor<2x18x4xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @scatter(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {}], sum = {tp}> to <[{}, {tp}]> of [2, 8] {bytes = 32 : i64, pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<2x8xf32> to tensor<2x4xf32>
  // expected-error @below {{this needs a reduce-scatter, and tasks have all-reduces only; annotate parameters (shard) so that their readers are cut alike}}
  %1 = pp.tanh %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @slice(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {}]> to <[{}, {tp}]> of [2, 8] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<2x8xf32> to tensor<2x4xf32>
  // expected-error @below {{this needs a slice, and tasks have all-reduces only}}
  %1 = pp.tanh %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @exchange(%x: tensor<1x8xf32>) -> tensor<2x4xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{tp}, {}]> to <[{}, {tp}]> of [2, 8] {bytes = 16 : i64, pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<1x8xf32> to tensor<2x4xf32>
  // expected-error @below {{this needs an all-to-all, and tasks have all-reduces only}}
  %1 = pp.tanh %0 : tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @maximum(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {}], max = {tp}> to <[{}, {}]> of [2, 8] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<2x8xf32> to tensor<2x8xf32>
  // expected-error @below {{this needs a maximum over ranks, and tasks have all-reduces only}}
  %1 = pp.tanh %0 : tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
