// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-propagate-shardings --pp-insert-reshards --pp-lower-reshards | FileCheck %s

// A whole value that meets a sum of inputs is read as a share of it. What is computed again for a part of the rows reads the value itself.
// CHECK-LABEL: func.func @share_and_rows
// CHECK: pp.yield
// CHECK: %[[SUM:.*]] = pp.batch_sum
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[ROWS:.*]] = pp.broadcast {{.*}}pp.loops = #pp.sharding<[{dp, mb}, {}]>
// CHECK: %[[SCALED:.*]] = pp.mul %[[ROWS]], %[[SUM]] {pp.loops = #pp.sharding<[{dp, mb}, {}]>
// CHECK: pp.add %[[ROWS]], %[[SCALED]] {pp.loops = #pp.sharding<[{dp, mb}, {}]>
func.func @share_and_rows(%x: tensor<8x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<3xf64>
  %0 = pp.mul %x, %v : tensor<8x3xf64>, tensor<3xf64>
  %1 = pp.tanh %0 : tensor<8x3xf64>
  %2 = pp.reduce sum %x [0, 1] : tensor<8x3xf64>
  %3 = pp.mul %1, %2 : tensor<8x3xf64>, tensor<f64>
  %4 = pp.add %3, %1 : tensor<8x3xf64>, tensor<8x3xf64>
  %5 = pp.reduce sum %4 [0, 1] : tensor<8x3xf64>
  return %5 : tensor<f64>
}
