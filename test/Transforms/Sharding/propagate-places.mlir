// RUN: ppopt opt %s --pp-propagate-shardings --pp-verify-shardings | FileCheck %s
// RUN: ppopt opt %s --pp-shard | FileCheck %s --check-prefix=LOCAL

// A region yields a value that an axis of the model cuts, and a reader on another place wants its rows cut over the batch too. The batch
// is the inner part of the dimension: tp cuts more coarsely, and stands first.
// CHECK: pp.place 0 stage 0
// CHECK: pp.yield {pp.reads = [#pp.sharding<[{tp, 2 * dp}]>]}
// CHECK: pp.copy {{.*}} pp.shardings = [#pp.sharding<[{tp, 2 * dp}]>]
// LOCAL: pp.place 0 stage 0
// LOCAL: pp.yield %{{.*}} : tensor<4xf32>
// LOCAL: pp.copy {{.*}} : tensor<4xf32>
pp.plan {batch = 4 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 3>, #pp.axis<"pp" = 2>], microbatches = 1 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @main(%x: tensor<4x6xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>, place = 0 : i64, shard = #pp.sharding<[{tp}]>} : tensor<6xf32>
  %0 = pp.place 0 stage 0 -> tensor<24xf32> {
    %1 = pp.broadcast %w [0] : tensor<6xf32> to tensor<6x4xf32>
    %2 = pp.reshape %1 : tensor<6x4xf32> to tensor<24xf32>
    pp.yield %2 : tensor<24xf32>
  }
  %c = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<24xf32>
  %3 = pp.place 1 stage 1 -> tensor<f32> {
    %4 = pp.transpose %x [1, 0] : tensor<4x6xf32>
    %5 = pp.reshape %4 : tensor<6x4xf32> to tensor<24xf32>
    %6 = pp.mul %5, %c : tensor<24xf32>, tensor<24xf32>
    %7 = pp.reduce sum %6 [0] : tensor<24xf32>
    pp.yield %7 : tensor<f32>
  }
  return %3 : tensor<f32>
}
