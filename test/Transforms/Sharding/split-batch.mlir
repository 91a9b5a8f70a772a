// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-place-ops --pp-autodiff --canonicalize --pp-shard --split-input-file --verify-diagnostics | FileCheck %s

// Shapes become those of two rows; the penalty is divided by the four tiles; the gradient of the
// penalty as well, and that of the matmul is a partial sum as it is.
// CHECK: pp.input_decl "x" {{.*}}type = tensor<8x2xf32>
// CHECK-LABEL: func.func @penalty(%arg0: tensor<2x2xf32>
// CHECK: pp.matmul {{.*}} : tensor<2x2xf32>, tensor<2x3xf32>
// CHECK: %[[DATA:.*]] = pp.reduce sum %{{.*}} [0, 1]{{.*}} : tensor<2x3xf32>
// CHECK: %[[PENALTY:.*]] = pp.reduce sum %{{.*}} [0, 1]{{.*}} : tensor<2x3xf32>
// CHECK: %[[TILES:.*]] = pp.constant {{.*}}dense<2.500000e-01>
// CHECK: %[[ONCE:.*]] = pp.mul %[[PENALTY]], %[[TILES]]
// CHECK: pp.add %[[DATA]], %[[ONCE]]
// CHECK: pp.yield
// CHECK: pp.place
// CHECK: pp.broadcast %{{.*}} : tensor<f32> to tensor<2x3xf32>
func.func @penalty(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x3xf32>
  %0 = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x3xf32>
  %2 = pp.mul %w, %w : tensor<2x3xf32>, tensor<2x3xf32>
  %3 = pp.reduce sum %2 [0, 1] : tensor<2x3xf32>
  %4 = pp.add %1, %3 : tensor<f32>, tensor<f32>
  return %4 : tensor<f32>
}

// -----

// A count of targets is known before the first forward.
// CHECK-LABEL: func.func @counts
// CHECK: %[[PART:.*]] = pp.count %arg1 {{.*}} : tensor<2xi32>
// CHECK: %[[ALL:.*]] = pp.batch_sum %[[PART]] {count
// CHECK: pp.div %{{.*}}, %[[ALL]]
func.func @counts(%x: tensor<8x3xf32> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<3xf32>
  %0 = pp.mul %x, %w : tensor<8x3xf32>, tensor<3xf32>
  %1 = pp.token_loss %0, %t {ignore_index = -1 : i64} : tensor<8x3xf32>, tensor<8xi32>
  %2 = pp.reduce sum %1 [0] : tensor<8xf32>
  %3 = pp.count %t {ignore_index = -1 : i64} : tensor<8xi32> to tensor<f32>
  %4 = pp.div %2, %3 : tensor<f32>, tensor<f32>
  return %4 : tensor<f32>
}

// -----

// A dropout knows its tile, through a reshape that merges rows with columns; a row's position is
// no row's business.
// CHECK-LABEL: func.func @tiles(%arg0: tensor<2x2xf32> {{.*}}, %arg1: tensor<15xi64> {pp.role = #pp.role<step_state, "key">})
// CHECK: pp.dropout %{{.*}} key %arg1{{.*}} : tensor<15xi64> {{{.*}}tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 2, period = 8}], [16]>}{{.*}} : tensor<4xf32>
// CHECK: pp.iota {dim = 0 : i64{{.*}} -> tensor<2xf32>
func.func @tiles(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reshape %x : tensor<8x2xf32> to tensor<16xf32>
  %1 = pp.dropout %0 {p = 0.5 : f64, stream = 1 : i64} : tensor<16xf32>
  %2 = pp.reshape %1 : tensor<16xf32> to tensor<8x2xf32>
  %3 = pp.iota {dim = 0 : i64} -> tensor<2xf32>
  %4 = pp.mul %2, %3 : tensor<8x2xf32>, tensor<2xf32>
  %5 = pp.reduce sum %4 [0, 1] : tensor<8x2xf32>
  return %5 : tensor<f32>
}

// -----

// A row number is cut with the rows.
// CHECK-LABEL: func.func @rows
// CHECK: pp.iota %arg1 : tensor<15xi64> {dim = 0 : i64{{.*}}, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 8}, {dim = 0, axis = mb, at = 3, parts = 2, period = 4}], [8]>} -> tensor<2xf32>
func.func @rows(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.iota {dim = 0 : i64} -> tensor<8xf32>
  %1 = pp.mul %x, %0 : tensor<8xf32>, tensor<8xf32>
  %2 = pp.reduce sum %1 [0] : tensor<8xf32>
  return %2 : tensor<f32>
}

// -----

func.func @nonlinear(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<f32>
  %0 = pp.mul %x, %w : tensor<8xf32>, tensor<f32>
  // expected-note @+1 {{operand 0 is such a sum}}
  %1 = pp.reduce sum %0 [0] : tensor<8xf32>
  // expected-error @+1 {{can't be split over the batch: it is not linear in a sum over the batch that depends on activations}}
  %2 = pp.exp %1 : tensor<f32>
  return %2 : tensor<f32>
}

// -----

func.func @mixes(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0] : tensor<8x2xf32>
  // expected-error @+1 {{can't be split over the batch: it mixes rows of the batch (each result needs all of them)}}
  %1 = pp.softmax %0 : tensor<2x8xf32>
  %2 = pp.reduce sum %1 [0, 1] : tensor<2x8xf32>
  return %2 : tensor<f32>
}

// -----

func.func @largest(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{can't be split over the batch: it mixes rows of the batch (a maximum over them)}}
  %0 = pp.reduce max %x [0] : tensor<8x2xf32>
  %1 = pp.reduce sum %0 [0] : tensor<2xf32>
  return %1 : tensor<f32>
}

// -----

func.func @per_row(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @+1 {{it is made here}}
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x2xf32>
  // expected-error @+1 {{can't be split over the batch: operand 1 has a dimension of the batch's size that does not come from the model's inputs}}
  %0 = pp.mul %x, %w : tensor<8x2xf32>, tensor<8x2xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x2xf32>
  return %1 : tensor<f32>
}

// -----

func.func @regroups(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{can't be split over the batch: it mixes rows of the batch}}
  %0 = pp.reshape %x : tensor<8x3xf32> to tensor<6x4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<6x4xf32>
  return %1 : tensor<f32>
}

// -----

// The rows may be the minor part of a dimension: each of three columns is cut.
// CHECK-LABEL: func.func @minor_rows
// CHECK: pp.reshape {{.*}} : tensor<3x2xf32> to tensor<6xf32>
func.func @minor_rows(%x: tensor<8x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.transpose %x [1, 0] : tensor<8x3xf32>
  %1 = pp.reshape %0 : tensor<3x8xf32> to tensor<24xf32>
  %2 = pp.reduce sum %1 [0] : tensor<24xf32>
  return %2 : tensor<f32>
}
