// RUN: ppopt opt %s --split-input-file --pp-lower-model-reshards | FileCheck %s

// The outermost dimension: the flat result is the value.
// CHECK-LABEL: func.func @gather_rows
// CHECK: %[[FLAT:.*]] = pp.reshape %{{.*}} : tensor<4x4xf32> to tensor<16xf32>
// CHECK-NEXT: %[[ALL:.*]] = pp.all_gather %[[FLAT]] over <["tp"]> "pp.tanh at {{[^"]*}}" : tensor<16xf32> to tensor<32xf32>
// CHECK-NEXT: %[[Y:.*]] = pp.reshape %[[ALL]] {pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<32xf32> to tensor<8x4xf32>
// CHECK-NEXT: return %[[Y]]
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @gather_rows(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %a = pp.tanh %x : tensor<4x4xf32>
  %b = pp.reshard %a from <[{tp}, {}]> to <[{}, {}]> of [8, 4] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<4x4xf32> to tensor<8x4xf32>
  return %b : tensor<8x4xf32>
}

// -----

// Columns inside each of three parts: ranks, rows, parts, columns of a rank.
// CHECK-LABEL: func.func @gather_parts
// CHECK: pp.all_gather %{{.*}} : tensor<48xf32> to tensor<96xf32>
// CHECK-NEXT: %[[SEEN:.*]] = pp.reshape %{{.*}} : tensor<96xf32> to tensor<2x8x3x2xf32>
// CHECK-NEXT: %[[MOVED:.*]] = pp.transpose %[[SEEN]] [1, 2, 0, 3] : tensor<2x8x3x2xf32>
// CHECK-NEXT: pp.reshape %[[MOVED]] {pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<8x3x2x2xf32> to tensor<8x12xf32>
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @gather_parts(%x: tensor<8x6xf32>) -> tensor<8x12xf32> {
  %a = pp.tanh %x : tensor<8x6xf32>
  %b = pp.reshard %a from <[{}, {3 * tp}]> to <[{}, {}]> of [8, 12] {bytes = 192 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<8x6xf32> to tensor<8x12xf32>
  return %b : tensor<8x12xf32>
}

// -----

// Two axes on a dimension, one after the other. The rows of the batch stay cut.
// CHECK-LABEL: func.func @gather_nested
// CHECK: pp.all_gather %{{.*}} over <["tp"]> "pp.tanh at {{[^"]*}}" : tensor<8xf32> to tensor<16xf32>
// CHECK-NEXT: pp.reshape %{{.*}} : tensor<16xf32> to tensor<2x4x2xf32>
// CHECK-NEXT: pp.transpose %{{.*}} [1, 0, 2] : tensor<2x4x2xf32>
// CHECK-NEXT: pp.reshape %{{.*}} : tensor<4x2x2xf32> to tensor<16xf32>
// CHECK-NEXT: pp.all_gather %{{.*}} over <["sp"]> "pp.tanh at {{[^"]*}}" : tensor<16xf32> to tensor<48xf32>
// CHECK-NEXT: pp.reshape %{{.*}} : tensor<48xf32> to tensor<3x4x2x2xf32>
// CHECK-NEXT: pp.transpose %{{.*}} [1, 2, 0, 3] : tensor<3x4x2x2xf32>
// CHECK-NEXT: pp.reshape %{{.*}} {pp.shardings = [#pp.sharding<[{dp}, {}]>]} : tensor<4x2x3x2xf32> to tensor<4x12xf32>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>, #pp.axis<"sp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @gather_nested(%x: tensor<4x2xf32>) -> tensor<4x12xf32> {
  %a = pp.tanh %x : tensor<4x2xf32>
  %b = pp.reshard %a from <[{dp}, {tp, sp}]> to <[{dp}, {}]> of [8, 12] {bytes = 160 : i64, pp.shardings = [#pp.sharding<[{dp}, {}]>]} : tensor<4x2xf32> to tensor<4x12xf32>
  return %b : tensor<4x12xf32>
}

// -----

// Nothing is sent: a rank reads its part, at its coordinate. Element 5 of the random key is the coordinate on the second axis.
// CHECK-LABEL: func.func @slice
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<{{[0-9]+}}xi64> {pp.role = #pp.role<step_state, "key">}
// CHECK: %[[SEEN:.*]] = pp.reshape %{{.*}} : tensor<4x12xf32> to tensor<4x3x2x2xf32>
// CHECK-NEXT: %[[PART:.*]] = pp.own_part %[[SEEN]] key %[[KEY]] : tensor<{{.*}}xi64> {at = 5 : i64, dim = 2 : i64} : tensor<4x3x2x2xf32> to tensor<4x3x1x2xf32>
// CHECK-NEXT: pp.reshape %[[PART]] {pp.shardings = [#pp.sharding<[{dp}, {3 * tp}]>]} : tensor<4x3x1x2xf32> to tensor<4x6xf32>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @slice(%x: tensor<4x12xf32>) -> tensor<4x6xf32> {
  %a = pp.tanh %x : tensor<4x12xf32>
  %b = pp.reshard %a from <[{dp}, {}]> to <[{dp}, {3 * tp}]> of [8, 12] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{dp}, {3 * tp}]>]} : tensor<4x12xf32> to tensor<4x6xf32>
  return %b : tensor<4x6xf32>
}

// -----

// What is sent lies one rank after the other.
// CHECK-LABEL: func.func @scatter
// CHECK: %[[SEEN:.*]] = pp.reshape %{{.*}} : tensor<8x4xf32> to tensor<8x2x2xf32>
// CHECK-NEXT: %[[MOVED:.*]] = pp.transpose %[[SEEN]] [1, 0, 2] : tensor<8x2x2xf32>
// CHECK-NEXT: %[[FLAT:.*]] = pp.reshape %[[MOVED]] : tensor<2x8x2xf32> to tensor<32xf32>
// CHECK-NEXT: %[[SUM:.*]] = pp.reduce_scatter %[[FLAT]] over <["tp"]> "pp.tanh at {{[^"]*}}" : tensor<32xf32> to tensor<16xf32>
// CHECK-NEXT: pp.reshape %[[SUM]] {pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<16xf32> to tensor<8x2xf32>
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @scatter(%x: tensor<8x4xf32>) -> tensor<8x2xf32> {
  %a = pp.tanh %x : tensor<8x4xf32>
  %b = pp.reshard %a from <[{}, {}], sum = {tp}> to <[{}, {tp}]> of [8, 4] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<8x4xf32> to tensor<8x2xf32>
  return %b : tensor<8x2xf32>
}

// -----

// Rows become columns.
// CHECK-LABEL: func.func @exchange
// CHECK: %[[MOVED:.*]] = pp.transpose %{{.*}} [1, 0, 2] : tensor<4x2x2xf32>
// CHECK-NEXT: %[[FLAT:.*]] = pp.reshape %[[MOVED]] : tensor<2x4x2xf32> to tensor<16xf32>
// CHECK-NEXT: %[[GOT:.*]] = pp.all_to_all %[[FLAT]] over <["tp"]> "pp.tanh at {{[^"]*}}" : tensor<16xf32> to tensor<16xf32>
// CHECK-NEXT: pp.reshape %[[GOT]] {pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<16xf32> to tensor<8x2xf32>
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @exchange(%x: tensor<4x4xf32>) -> tensor<8x2xf32> {
  %a = pp.tanh %x : tensor<4x4xf32>
  %b = pp.reshard %a from <[{tp}, {}]> to <[{}, {tp}]> of [8, 4] {bytes = 32 : i64, pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<4x4xf32> to tensor<8x2xf32>
  return %b : tensor<8x2xf32>
}

// -----

// A maximum is of values that each rank has.
// CHECK-LABEL: func.func @maximum
// CHECK: pp.all_reduce_max %{{.*}} over <["tp"]> "pp.tanh at {{[^"]*}}" {pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<8x4xf32> to tensor<8x4xf32>
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @maximum(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %a = pp.tanh %x : tensor<8x4xf32>
  %b = pp.reshard %a from <[{}, {}], max = {tp}> to <[{}, {}]> of [8, 4] {bytes = 128 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<8x4xf32> to tensor<8x4xf32>
  return %b : tensor<8x4xf32>
}

// -----

// A reduce-scatter overwrites what it reads: what another op reads is copied.
// CHECK-LABEL: func.func @shared
// CHECK: %[[PART:.*]] = pp.tanh
// CHECK: %[[COPY:.*]] = pp.detach %[[PART]]
// CHECK-NEXT: %[[FLAT:.*]] = pp.reshape %[[COPY]]
// CHECK-NEXT: pp.reduce_scatter %[[FLAT]]
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @shared(%x: tensor<8x4xf32>) -> (tensor<4x4xf32>, tensor<8x4xf32>) {
  %a = pp.tanh %x : tensor<8x4xf32>
  %b = pp.reshard %a from <[{}, {}], sum = {tp}> to <[{tp}, {}]> of [8, 4] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{tp}, {}]>]} : tensor<8x4xf32> to tensor<4x4xf32>
  return %b, %a : tensor<4x4xf32>, tensor<8x4xf32>
}
