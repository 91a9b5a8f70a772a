// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,tp=2 microbatches=2" --pp-place-ops --pp-propagate-shardings --pp-insert-reshards --pp-lower-reshards --pp-localize-shapes | FileCheck %s

// Shapes are those of one coordinate: 8 rows over dp and mb are 2. Inputs are declared with their global shapes. Ops that depend on the
// global index get the random key and where their tile is: dropout all cuts of its result, a lookup those of its table. Two parts
// of a parameter are cut alike, so the second part begins at 3 of 6. A reshard keeps the global shape.
// CHECK: pp.input_decl "x" {pp.sharding = #pp.sharding<[{dp, mb}, {}]>, {{.*}}type = tensor<8x6xf32>
// CHECK: pp.input_decl "ids" {pp.sharding = #pp.sharding<[{dp, mb}]>, ranges = [#pp.id_range<[], [], 6, {{.*}}type = tensor<8xi32>
// CHECK-LABEL: func.func @local
// CHECK-SAME: %arg0: tensor<2x6xf32> {pp.input = "x"
// CHECK-SAME: %arg1: tensor<2xi32> {pp.input = "ids"
// CHECK-SAME: %[[KEY:.*]]: tensor<15xi64> {pp.role = #pp.role<step_state, "key">}
// CHECK: %[[TABLE:.*]] = pp.param "table" {{.*}} : tensor<3x4xf32>
// CHECK: %[[W:.*]] = pp.param "w" {{.*}} : tensor<4x6xf32>
// CHECK: pp.embedding %[[TABLE]], %arg1 key %[[KEY]] : tensor<15xi64> {{.*}} tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 6}], [6, 4]>} : tensor<3x4xf32>, tensor<2xi32>
// CHECK: pp.reshard {{.*}} of [8, 4] {{.*}} : tensor<2x4xf32> to tensor<2x4xf32>
// CHECK: pp.matmul {{.*}} : tensor<2x4xf32>, tensor<4x6xf32>
// CHECK: pp.dropout %{{.*}} key %[[KEY]] : tensor<15xi64> {{.*}} tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 8}, {dim = 0, axis = mb, at = 3, parts = 2, period = 4}, {dim = 1, axis = tp, at = 5, parts = 2, period = 6}], [8, 12]>} : tensor<2x6xf32>
// CHECK: pp.slice %{{.*}} [0, 0] {{.*}} : tensor<2x6xf32> to tensor<2x3xf32>
// CHECK: pp.slice %{{.*}} [0, 3] {{.*}} : tensor<2x6xf32> to tensor<2x3xf32>
// CHECK: pp.iota %[[KEY]] : tensor<15xi64> {{.*}} tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 6}], [6]>} -> tensor<3xi32>
func.func @local(%x: tensor<8x6xf32> {pp.input = "x"}, %ids: tensor<8xi32> {pp.input = "ids"}) -> tensor<f32> {
  %table = pp.param "table" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<6x4xf32>
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {2 * tp}]>} : tensor<4x12xf32>
  %e = pp.embedding %table, %ids : tensor<6x4xf32>, tensor<8xi32>
  %h = pp.matmul %e, %w : tensor<8x4xf32>, tensor<4x12xf32>
  %d = pp.dropout %h {p = 0.5 : f64} : tensor<8x12xf32>
  %a = pp.slice %d [0, 0] : tensor<8x12xf32> to tensor<8x6xf32>
  %b = pp.slice %d [0, 6] : tensor<8x12xf32> to tensor<8x6xf32>
  %i = pp.iota {dim = 0 : i64} -> tensor<6xi32>
  %f = pp.cast %i : tensor<6xi32> to tensor<6xf32>
  %c = pp.mul %a, %b : tensor<8x6xf32>, tensor<8x6xf32>
  %m = pp.mul %c, %f : tensor<8x6xf32>, tensor<6xf32>
  %loss = pp.reduce sum %m [0, 1] : tensor<8x6xf32>
  return %loss : tensor<f32>
}
