// Rows of one microbatch: the axis of microbatches is the outermost cut of the batch, and cuts nothing between enter and leave, where rows of ranks meet.

// RUN: ppopt opt %s --split-input-file --pp-inline-calls --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-lower-microbatches --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad

// What has no rows and leaves is a sum over microbatches: so is the gradient of a parameter that enters.
// CHECK-LABEL: func.func @pairs
// CHECK-SAME: pp.sharding = #pp.sharding<[{mb, dp}, {}]>
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK: %[[T:.*]] = pp.param "t"
// CHECK: pp.place 0 stage 0 attributes
// CHECK: pp.enter_microbatch {{.*}} pp.loops = #pp.sharding<[{dp}, {}, {mb}]>, pp.shardings = [#pp.sharding<[{dp}, {}]>]}
// CHECK-NEXT: %[[B:.*]] = pp.enter_microbatch {{.*}} pp.shardings = [#pp.sharding<[{dp}, {}]>]}
// CHECK-NEXT: %[[ALL:.*]] = pp.reshard %[[B]] from <[{dp}, {}]> to <[{}, {}]> of [4, 4]
// CHECK-NEXT: pp.matmul %{{.*}}, %[[ALL]] {{.*}} pp.shardings = [#pp.sharding<[{dp}, {}]>]
// CHECK: pp.leave_microbatch {{.*}} pp.shardings = [#pp.sharding<[], sum = {mb, dp}>]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[OF_T:.*]] = pp.leave_microbatch {{.*}} pp.shardings = [#pp.sharding<[], sum = {mb, dp}>]
// CHECK: %[[SUM:.*]] = pp.matmul {{.*}} pp.shardings = [#pp.sharding<[{}, {}], sum = {dp}>], transpose_lhs
// CHECK-NEXT: %[[PART:.*]] = pp.reshard %[[SUM]] from <[{}, {}], sum = {dp}> to <[{dp}, {}]> of [4, 4]
// CHECK-NEXT: pp.reshard %{{.*}} from <[{dp}, {}]> to <[{}, {}]> of [4, 4]
// CHECK: pp.leave_microbatch %[[PART]] {{.*}} pp.loops = #pp.sharding<[{dp}, {}, {mb}]>, pp.shardings = [#pp.sharding<[{mb, dp}, {}]>]
// CHECK-DAG: pp.add_grad %[[W]], {{.*}} #pp.sharding<[{}, {}], sum = {mb, dp}>]
// CHECK-DAG: pp.add_grad %[[T]], %[[OF_T]] {{.*}} #pp.sharding<[], sum = {mb, dp}>]
func.func @pairs(%x: tensor<8x4xf32> {pp.input = "x"}, %y: tensor<8x4xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x4xf32>
  %t = pp.param "t" {init = #pp.init<ones>} : tensor<f32>
  %a = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
  %b = pp.matmul %y, %w : tensor<8x4xf32>, tensor<4x4xf32>
  %loss = pp.per_microbatch -> tensor<f32> {
    %s = pp.matmul %a, %b {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32>
    %u = pp.mul %s, %t : tensor<8x8xf32>, tensor<f32>
    %v = pp.tanh %u : tensor<8x8xf32>
    %l = pp.reduce mean %v [0, 1] : tensor<8x8xf32>
    pp.yield %l : tensor<f32>
  }
  return %loss : tensor<f32>
}
