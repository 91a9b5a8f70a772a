// RUN: ppopt opt %s --split-input-file --pp-lower-model-reshards --verify-diagnostics

// Six heads of four columns, and the columns of three parts are cut in four.
pp.plan {mesh = [#pp.axis<"tp" = 4>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @heads(%x: tensor<2x18xf32>) -> tensor<2x18x4xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {3 * tp}]> to <[{}, {}]> of [2, 72] {bytes = 108 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<2x18xf32> to tensor<2x72xf32>
  // expected-error @below {{reads operand 0 as #pp.sharding<[{}, {}]>, but it is #pp.sharding<[{}, {3 * tp}]>: tp=4 does not divide what it does along dimension 1; tp=2, 3 or 6 would cut it}}
  %1 = pp.reshape %0 : tensor<2x72xf32> to tensor<2x18x4xf32>
  return %1 : tensor<2x18x4xf32>
}

// -----

// Halves of the whole are no halves of its thirds.
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @overlap(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {tp}]> to <[{}, {3 * tp}]> of [2, 12] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {3 * tp}]>]} : tensor<2x6xf32> to tensor<2x6xf32>
  // expected-error @below {{no collective makes these parts of those: they overlap; annotate parameters (shard) so that their readers are cut alike}}
  %1 = pp.tanh %0 : tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}

// -----

// One axis after the other on one dimension.
pp.plan {mesh = [#pp.axis<"tp" = 2>, #pp.axis<"sp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @larger(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {tp}]> to <[{}, {sp}]> of [2, 12] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {sp}]>]} : tensor<2x6xf32> to tensor<2x6xf32>
  // expected-error @below {{on the way a rank would have 96 bytes of it, more than before and after; annotate parameters (shard) so that their readers are cut alike}}
  %1 = pp.tanh %0 : tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}

// -----

// A maximum is complete or was partial before.
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @most(%x: tensor<2x12xf32>) -> tensor<2x12xf32> {
  // expected-note @below {{it is made here}}
  %0 = pp.reshard %x from <[{}, {}]> to <[{}, {}], max = {tp}> of [2, 12] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {}], max = {tp}>]} : tensor<2x12xf32> to tensor<2x12xf32>
  // expected-error @below {{no collective makes a partial maximum; annotate parameters (shard) so that their readers are cut alike}}
  %1 = pp.tanh %0 : tensor<2x12xf32>
  return %1 : tensor<2x12xf32>
}
