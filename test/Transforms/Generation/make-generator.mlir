// RUN: ppopt opt %s --pp-insert-plan --pp-make-generator --split-input-file | FileCheck %s

// A row of the batch, a position of the row. The targets and the loss are gone; the position embedding is looked up at the position; the
// parameter that nothing uses stays. Keys and values of both layers are caches.
// CHECK: pp.plan {batch = 1 : i64
// CHECK-LABEL: func.func @gpt(%arg0: tensor<1x1xi32> {pp.range = 16 : i64, pp.role = #pp.role<input, "token">},
// CHECK-SAME: %arg1: tensor<1xi64> {pp.range = 8 : i64, pp.role = #pp.role<input, "position">},
// CHECK-SAME: %arg2: tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache0">}, %arg3: tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache1">})
// CHECK-SAME: -> (tensor<16xf32> {pp.role = #pp.role<output, "logits">}, tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache0">}, tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache1">})
// CHECK-DAG: %[[WTE:.*]] = pp.param "wte"
// CHECK-DAG: %[[WPE:.*]] = pp.param "wpe"
// CHECK-DAG: pp.param "unused"
// CHECK: %[[E:.*]] = pp.embedding %[[WTE]], %arg0 : tensor<16x4xf32>, tensor<1x1xi32>
// CHECK: %[[P:.*]] = pp.embedding %[[WPE]], %arg1 : tensor<8x4xf32>, tensor<1xi64>
// CHECK: %[[X:.*]] = pp.add %[[E]], %[[P]] : tensor<1x1x4xf32>, tensor<1x4xf32>
// CHECK: %[[Q:.*]] = pp.transpose %{{.*}} [0, 2, 1, 3] : tensor<1x1x2x2xf32>
// CHECK: %[[A:.*]], %[[K:.*]], %[[V:.*]] = pp.attention_step %[[Q]], %[[Q]], %[[Q]] cache %arg2, %arg3 at %arg1 {scale = 5.000000e-01 : f64} : tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x1x2xf32>, tensor<1x2x8x2xf32>, tensor<1x2x8x2xf32>, tensor<1xi64>
// CHECK: %[[Z:.*]] = pp.matmul %{{.*}}, %[[WTE]] {transpose_rhs} : tensor<1x1x4xf32>, tensor<16x4xf32>
// CHECK: %[[S:.*]] = pp.reshape %[[Z]] : tensor<1x1x16xf32> to tensor<16xf32>
// CHECK-NOT: loss
// CHECK: return %[[S]], %[[K]], %[[V]]
func.func @gpt(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %wte = pp.param "wte" {init = #pp.init<zeros>} : tensor<16x4xf32>
  %wpe = pp.param "wpe" {init = #pp.init<zeros>} : tensor<8x4xf32>
  %unused = pp.param "unused" {init = #pp.init<zeros>} : tensor<3xf32>
  %e = pp.embedding %wte, %tokens : tensor<16x4xf32>, tensor<2x8xi32>
  %x = pp.on 1 -> tensor<2x8x4xf32> {
    %x0 = pp.add %e, %wpe : tensor<2x8x4xf32>, tensor<8x4xf32>
    pp.yield %x0 : tensor<2x8x4xf32>
  }
  %h = pp.reshape %x : tensor<2x8x4xf32> to tensor<2x8x2x2xf32>
  %q = pp.transpose %h [0, 2, 1, 3] : tensor<2x8x2x2xf32>
  %o, %lse = pp.attention %q, %q, %q {causal, scale = 0.5 : f64} : tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>, tensor<2x2x8x2xf32>
  %ot = pp.transpose %o [0, 2, 1, 3] : tensor<2x2x8x2xf32>
  %y = pp.reshape %ot : tensor<2x8x2x2xf32> to tensor<2x8x4xf32>
  %z = pp.matmul %y, %wte {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32>
  %t = pp.token_loss %z, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  %l = pp.reduce sum %t [0, 1] : tensor<2x8xf32>
  return %l : tensor<f32>
}

// -----

// Positions that are counted are those of the given one; a value that follows from whole ones is computed for the position alone; a table
// whose positions are not its rows is looked up all the same; what is random is told the position. bf16 scores become f32.
// CHECK-LABEL: func.func @places(
// CHECK: %[[T:.*]] = pp.transpose %{{.*}} [1, 0, 2] : tensor<16x8x1xbf16>
// CHECK: %[[R:.*]] = pp.reshape %[[T]] : tensor<8x16x1xbf16> to tensor<8x16xbf16>
// CHECK: pp.embedding %[[R]], %arg1 : tensor<8x16xbf16>, tensor<1xi64>
// CHECK: pp.tanh %{{.*}} : tensor<16x1xbf16>
// CHECK: %[[KEY:.*]] = pp.concat %{{.*}}, %arg1, %{{.*}} {dim = 0 : i64}
// CHECK: pp.iota %[[KEY]] : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = position, at = 3, parts = 8, period = 8}], [8, 16]>} -> tensor<1x16xbf16>
// CHECK: pp.dropout %{{.*}} key %[[KEY]] : tensor<15xi64> {p = 1.000000e-01 : f64, tile = #pp.tile<[{dim = 0, axis = position, at = 3, parts = 8, period = 8}], [8, 16]>} : tensor<1x16xbf16>
// CHECK: pp.cast %{{.*}} : tensor<16xbf16> to tensor<16xf32>
func.func @places(%tokens: tensor<2x8xi64> {pp.input = "tokens", pp.shift = 2 : i64}, %next: tensor<2x8xi64> {pp.input = "next", pp.shift = 3 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xbf16>
  %table = pp.param "table" {init = #pp.init<zeros>} : tensor<16x8xbf16>
  %e = pp.embedding %w, %tokens : tensor<16x16xbf16>, tensor<2x8xi64>
  %r = pp.reshape %e : tensor<2x8x16xbf16> to tensor<16x16xbf16>
  %i = pp.iota {dim = 0 : i64} -> tensor<8x16xbf16>
  %th = pp.tanh %table : tensor<16x8xbf16>
  %tt = pp.transpose %th [1, 0] : tensor<16x8xbf16>
  %s = pp.add %tt, %i : tensor<8x16xbf16>, tensor<8x16xbf16>
  %b = pp.broadcast %s [1, 2] : tensor<8x16xbf16> to tensor<2x8x16xbf16>
  %f = pp.reshape %b : tensor<2x8x16xbf16> to tensor<16x16xbf16>
  %x = pp.add %r, %f : tensor<16x16xbf16>, tensor<16x16xbf16>
  %d = pp.dropout %x {p = 0.1 : f64} : tensor<16x16xbf16>
  %n = pp.reshape %next : tensor<2x8xi64> to tensor<16xi64>
  %l = pp.cross_entropy %d, %n : tensor<16x16xbf16>, tensor<16xi64>
  return %l : tensor<f32>
}
