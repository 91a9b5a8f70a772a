// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,tp=2 microbatches=2" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-propagate-shardings --pp-insert-reshards --pp-lower-reshards | FileCheck %s --implicit-check-not=pp.reshard

// Reshards over dp and mb are lowered: a count of targets becomes a batch sum; a value that is whole over them is a quarter of itself in a sum
// over two ranks and two microbatches; what is read cut is computed again with its rows cut; and a whole gradient has 4 tiles. The
// reshard over tp stays.
// CHECK-LABEL: func.func @lower
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK: pp.place 0 stage 0
// CHECK: %[[S:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[], sum = {dp, tp, mb}>]
// CHECK: %[[N:.*]] = pp.count %arg1
// CHECK: %[[COUNT:.*]] = pp.batch_sum %[[N]] {count, pp.shardings = [#pp.sharding<[]>]} : tensor<f32>
// CHECK: pp.div %[[S]], %[[COUNT]]
// CHECK: %[[P:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[], sum = {tp}>]
// CHECK-NEXT: %[[SHARE:.*]] = pp.constant {{.*}} dense<2.500000e-01> : tensor<f32>
// CHECK-NEXT: pp.mul %[[P]], %[[SHARE]] {{.*}} pp.shardings = [#pp.sharding<[], sum = {dp, tp, mb}>]
// CHECK: pp.reshard %{{.*}} from <[], sum = {dp, tp, mb}> to <[], sum = {dp, mb}> of []
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[ROWS:.*]] = pp.broadcast {{.*}} pp.shardings = [#pp.sharding<[{dp, mb}, {tp}]>]
// CHECK: %[[PART:.*]] = pp.matmul %arg0, %[[ROWS]] {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}], sum = {dp, mb}>], transpose_lhs
// CHECK: %[[SUM:.*]] = pp.batch_sum %[[PART]] {pp.shardings = [#pp.sharding<[{}, {tp}]>]} : tensor<4x6xf32>
// CHECK: %[[G:.*]] = pp.add %{{.*}}, %[[SUM]]
// CHECK: pp.add_grad %[[W]], %[[G]] {{.*}} tiles = 4 : i64
func.func @lower(%x: tensor<8x4xf32> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<4x6xf32>
  %h = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32>
  %s = pp.reduce sum %h [0, 1] : tensor<8x6xf32>
  %n = pp.count %t {ignore_index = -1 : i64} : tensor<8xi32> to tensor<f32>
  %mean = pp.div %s, %n : tensor<f32>, tensor<f32>
  %ww = pp.mul %w, %w : tensor<4x6xf32>, tensor<4x6xf32>
  %p = pp.reduce sum %ww [0, 1] : tensor<4x6xf32>
  %loss = pp.add %mean, %p : tensor<f32>, tensor<f32>
  return %loss : tensor<f32>
}
