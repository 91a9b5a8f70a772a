// Compositions that have no gradient of their own are replaced. Means in the type
// of statistics stay, or are sums times a constant of the global count.

// RUN: %ppopt opt %s --pp-decompose-model | FileCheck %s
// RUN: %ppopt opt %s --pp-decompose-model=means=true | FileCheck %s --check-prefix=MEANS

// CHECK-LABEL: @silu(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[GATE:.*]] = pp.sigmoid %[[X]]
// CHECK: pp.mul %[[X]], %[[GATE]]
func.func @silu(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.silu %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @mean(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: pp.reduce mean %[[X]] [0, 2] : tensor<4x8x2xf32>

// MEANS-LABEL: @mean(
// MEANS-SAME: %[[X:.*]]: tensor
// MEANS: %[[SUM:.*]] = pp.reduce sum %[[X]] [0, 2] : tensor<4x8x2xf32>
// MEANS: %[[INVERSE:.*]] = pp.constant dense<1.250000e-01> : tensor<f32>
// MEANS: pp.mul %[[SUM]], %[[INVERSE]] : tensor<8xf32>, tensor<f32>
func.func @mean(%x: tensor<4x8x2xf32>) -> tensor<8xf32> {
  %0 = pp.reduce mean %x [0, 2] : tensor<4x8x2xf32>
  return %0 : tensor<8xf32>
}

// Of equal elements the first; what is not equal to itself is before all others.
// CHECK-LABEL: @argmax(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-DAG: %[[INDEX:.*]] = pp.iota {dim = 1 : i64} -> tensor<1x8x1xi64>
// CHECK-DAG: %[[SIZE:.*]] = pp.constant dense<8> : tensor<i64>
// CHECK-DAG: %[[DISTANCE:.*]] = pp.sub %[[SIZE]], %[[INDEX]]
// CHECK-DAG: %[[MAX:.*]] = pp.reduce max %[[X]] [1] {keep_dims}
// CHECK: %[[EQUAL:.*]] = pp.compare eq %[[X]], %[[MAX]]
// CHECK: %[[FOUND:.*]] = pp.select %[[EQUAL]], %[[DISTANCE]]
// CHECK: %[[NAN:.*]] = pp.compare ne %[[X]], %[[X]]
// CHECK: %[[EITHER:.*]] = pp.select %[[NAN]], %[[DISTANCE]], %[[FOUND]]
// CHECK: %[[FIRST:.*]] = pp.reduce max %[[EITHER]] [1] : tensor<4x8x2xi64>
// CHECK: pp.sub %{{.*}}, %[[FIRST]]
func.func @argmax(%x: tensor<4x8x2xf32>) -> tensor<4x2xi64> {
  %0 = pp.argmax %x {dim = 1 : i64} : tensor<4x8x2xf32>
  return %0 : tensor<4x2xi64>
}

// Summed in f32.
// CHECK-LABEL: @silu_bf16(
// CHECK: %[[X:.*]] = pp.cast %{{.*}} : tensor<8xbf16> to tensor<8xf32>
// CHECK: %[[S:.*]] = pp.sigmoid %[[X]] : tensor<8xf32>
// CHECK: %[[Y:.*]] = pp.mul %[[X]], %[[S]]
// CHECK: pp.cast %[[Y]] : tensor<8xf32> to tensor<8xbf16>
func.func @silu_bf16(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = pp.silu %x : tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// CHECK-LABEL: @mean_bf16(
// CHECK: %[[WIDE:.*]] = pp.cast %{{.*}} to tensor<4x8xf32>
// CHECK: %[[MEAN:.*]] = pp.reduce mean %[[WIDE]] [0] {keep_dims} : tensor<4x8xf32>
// CHECK: pp.cast %[[MEAN]] : tensor<1x8xf32> to tensor<1x8xbf16>
func.func @mean_bf16(%x: tensor<4x8xbf16>) -> tensor<1x8xbf16> {
  %0 = pp.reduce mean %x [0] {keep_dims} : tensor<4x8xbf16>
  return %0 : tensor<1x8xbf16>
}

// Elementary: sums and maxima; not yet: what has a gradient of its own.
// CHECK-LABEL: @stays(
// CHECK: pp.reduce sum
// CHECK: pp.reduce max
// CHECK: pp.softmax
func.func @stays(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>) {
  %0 = pp.reduce sum %x [1] : tensor<4x8xf32>
  %1 = pp.reduce max %x [1] : tensor<4x8xf32>
  %2 = pp.softmax %x : tensor<4x8xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: @layer_norm(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[SCALE:.*]]: tensor<8xf32>, %[[BIAS:.*]]: tensor<8xf32>)
// CHECK: %[[ROWS:.*]] = pp.normalize %[[X]] {center, eps = 5.000000e-01 : f64}
// CHECK: %[[SCALED:.*]] = pp.mul %[[ROWS]], %[[SCALE]]
// CHECK: pp.add %[[SCALED]], %[[BIAS]]
func.func @layer_norm(%x: tensor<4x8xf32>, %scale: tensor<8xf32>, %bias: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = pp.layer_norm %x, %scale, %bias {eps = 0.5 : f64} : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return %0 : tensor<4x8xf32>
}

// Of bf16 the result alone is rounded.
// CHECK-LABEL: @layer_norm_bf16(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xbf16>, %[[SCALE:.*]]: tensor<8xbf16>, %[[BIAS:.*]]: tensor<8xbf16>)
// CHECK: %[[WIDE:.*]] = pp.cast %[[X]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK: pp.normalize %[[WIDE]] {{.*}} : tensor<4x8xf32>
// CHECK: %[[SUM:.*]] = pp.add %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
// CHECK: %[[RESULT:.*]] = pp.cast %[[SUM]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK: return %[[RESULT]]
func.func @layer_norm_bf16(%x: tensor<4x8xbf16>, %scale: tensor<8xbf16>, %bias: tensor<8xbf16>) -> tensor<4x8xbf16> {
  %0 = pp.layer_norm %x, %scale, %bias : tensor<4x8xbf16>, tensor<8xbf16>, tensor<8xbf16>
  return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: @rms_norm(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[SCALE:.*]]: tensor<8xf32>)
// CHECK: %[[ROWS:.*]] = pp.normalize %[[X]] {eps = 1.000000e-05 : f64}
// CHECK: pp.mul %[[ROWS]], %[[SCALE]]
func.func @rms_norm(%x: tensor<4x8xf32>, %scale: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = pp.rms_norm %x, %scale : tensor<4x8xf32>, tensor<8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: @cross_entropy(
// CHECK: %[[LOSSES:.*]] = pp.token_loss %{{.*}} : tensor<2x4x16xbf16>, tensor<2x4xi32>
// CHECK: pp.reduce mean %[[LOSSES]] [0, 1] : tensor<2x4xf32>
func.func @cross_entropy(%x: tensor<2x4x16xbf16>, %y: tensor<2x4xi32>) -> tensor<f32> {
  %0 = pp.cross_entropy %x, %y : tensor<2x4x16xbf16>, tensor<2x4xi32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: @cross_entropy_counted(
// CHECK-SAME: %{{.*}}: tensor<2x4x16xf64>, %[[TARGETS:.*]]: tensor<2x4xi32>)
// CHECK: %[[LOSSES:.*]] = pp.token_loss %{{.*}} {ignore_index = -100 : i64}
// CHECK: %[[SUM:.*]] = pp.reduce sum %[[LOSSES]] [0, 1]
// CHECK: %[[COUNT:.*]] = pp.count %[[TARGETS]] {ignore_index = -100 : i64} : tensor<2x4xi32> to tensor<f64>
// CHECK: pp.div %[[SUM]], %[[COUNT]]
func.func @cross_entropy_counted(%x: tensor<2x4x16xf64>, %y: tensor<2x4xi32>) -> tensor<f64> {
  %0 = pp.cross_entropy %x, %y {ignore_index = -100 : i64} : tensor<2x4x16xf64>, tensor<2x4xi32>
  return %0 : tensor<f64>
}

// CHECK-LABEL: @mse(
// CHECK: %[[DIFFERENCE:.*]] = pp.sub %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>
// CHECK: %[[SQUARE:.*]] = pp.mul %[[DIFFERENCE]], %[[DIFFERENCE]]
// CHECK: pp.reduce mean %[[SQUARE]] [0, 1]
func.func @mse(%x: tensor<8x4xbf16>, %y: tensor<8x4xbf16>) -> tensor<f32> {
  %0 = pp.mse %x, %y : tensor<8x4xbf16>, tensor<8x4xbf16>
  return %0 : tensor<f32>
}

// Halves are pairs of neighbours along a dimension of their own; positions are counted.
// CHECK-LABEL: @rotary(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK-DAG: %[[PAIRS:.*]] = pp.reshape %[[X]] : tensor<2x3x4xf32> to tensor<2x3x2x2xf32>
// CHECK-DAG: %[[FREQUENCIES:.*]] = pp.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
// CHECK-DAG: %[[POSITIONS:.*]] = pp.iota {dim = 0 : i64} -> tensor<3x1x1xf32>
// CHECK: %[[ANGLES:.*]] = pp.mul %[[POSITIONS]], %[[FREQUENCIES]]
// CHECK: %[[COS:.*]] = pp.cos %[[ANGLES]]
// CHECK: %[[SIN:.*]] = pp.sin %[[ANGLES]]
// CHECK: %[[Y:.*]] = pp.rotate %[[PAIRS]], %[[COS]], %[[SIN]] {dim = 2 : i64} : tensor<2x3x2x2xf32>, tensor<3x1x2xf32>
// CHECK: pp.reshape %[[Y]] : tensor<2x3x2x2xf32> to tensor<2x3x4xf32>
func.func @rotary(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = pp.rotary %x {base = 4.0 : f64} : tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// A part of the row, of bf16, at positions of each row of the batch.
// CHECK-LABEL: @rotary_part(
// CHECK-SAME: %[[X:.*]]: tensor<2x7x3x6xbf16>, %[[P:.*]]: tensor
// CHECK-DAG: %[[REST:.*]] = pp.slice %[[X]] [0, 0, 0, 4]
// CHECK-DAG: %[[PART:.*]] = pp.slice %[[X]] [0, 0, 0, 0]
// CHECK-DAG: pp.constant dense<[1.000000e+00, 1.000000e+00, 5.000000e-01, 5.000000e-01]> : tensor<4xf32>
// CHECK-DAG: %[[FLOATS:.*]] = pp.cast %[[P]] : tensor<2x3xi32> to tensor<2x3xf32>
// CHECK-DAG: pp.reshape %[[FLOATS]] : tensor<2x3xf32> to tensor<2x1x3x1xf32>
// CHECK: %[[Y:.*]] = pp.rotate %[[PART]], %{{.*}}, %{{.*}} {dim = 3 : i64} : tensor<2x7x3x4xbf16>, tensor<2x1x3x4xf32>
// CHECK: pp.concat %[[Y]], %[[REST]] {dim = 3 : i64}
func.func @rotary_part(%x: tensor<2x7x3x6xbf16>, %p: tensor<2x3xi32>) -> tensor<2x7x3x6xbf16> {
  %0 = pp.rotary %x at %p {base = 4.0 : f64, interleaved, width = 4 : i64} : tensor<2x7x3x6xbf16>, tensor<2x3xi32>
  return %0 : tensor<2x7x3x6xbf16>
}

// The exponential is not of large numbers: its gradient would be infinite.
// CHECK-LABEL: @elu(
// CHECK-SAME: %[[X:.*]]: tensor
// CHECK: %[[ZERO:.*]] = pp.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[POSITIVE:.*]] = pp.compare gt %[[X]], %[[ZERO]]
// CHECK: %[[BELOW:.*]] = pp.select %[[POSITIVE]], %[[ZERO]], %[[X]]
// CHECK: %[[TAIL:.*]] = pp.expm1 %[[BELOW]]
// CHECK: %[[SCALED:.*]] = pp.mul %[[TAIL]]
// CHECK: pp.select %[[POSITIVE]], %[[X]], %[[SCALED]]
func.func @elu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = pp.elu %x {alpha = 0.5 : f64} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Attention that drops probabilities has no kernel of its own, but for where nothing is trained. The query heads that share
// keys are rows of one matmul; a row without a key has no probabilities.
// CHECK-LABEL: @dropped_attention(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x4x3x8xf32>, %[[K:[^:]*]]: tensor<2x2x3x8xf32>, %[[M:[^:]*]]: tensor<2x1x1x3xi1>
// CHECK: %[[ROWS:.*]] = pp.reshape %[[Q]] : tensor<2x4x3x8xf32> to tensor<2x2x6x8xf32>
// CHECK: pp.matmul %[[ROWS]], %[[K]] {transpose_rhs} : tensor<2x2x6x8xf32>, tensor<2x2x3x8xf32>
// CHECK: pp.select %[[M]]
// CHECK: %[[P:.*]] = pp.softmax
// CHECK: %[[SEEN:.*]] = pp.select %{{.*}}, %[[P]]
// CHECK: pp.dropout %[[SEEN]] {p = 1.000000e-01 : f64, stream = 7 : i64}
// CHECK-NOT: pp.attention
// MEANS-LABEL: @dropped_attention(
// MEANS: pp.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} {causal} :
func.func @dropped_attention(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x3x8xf32>, %m: tensor<2x1x1x3xi1>) -> tensor<2x4x3x8xf32> {
  %out, %lse = pp.attention %q, %k, %k mask %m {causal, dropout = 0.1 : f64, stream = 7 : i64}
      : tensor<2x4x3x8xf32>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>, tensor<2x1x1x3xi1>
  return %out : tensor<2x4x3x8xf32>
}
