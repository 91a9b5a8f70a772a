// RUN: %ppopt opt %s --pp-propagate-shardings --pp-cut-transfers=choice=always -verify-diagnostics -o %t

// A scalar has no dimension to cut, and is sent whole.
pp.plan {batch = 2 : i64, mesh = [#pp.axis<"pp" = 2>, #pp.axis<"tp" = 4>], microbatches = 1 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @main(%x: tensor<2x6x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, place = 0 : i64, shard = #pp.sharding<[{tp}]>} : tensor<4xf32>
  %0:2 = pp.place 0 stage 0 -> tensor<2x6x3xf32>, tensor<f32> {
    %a = pp.tanh %x : tensor<2x6x3xf32>
    %s = pp.reduce sum %w [0] : tensor<4xf32>
    pp.yield %a, %s : tensor<2x6x3xf32>, tensor<f32>
  }
  // expected-error @below {{--cut-transfers always: place 0 sends place 1 a value of 2x6x3, of which tp=4 divides no dimension; change a size, or say --cut-transfers auto, which sends it whole}}
  %1 = pp.copy %0#0 from 0 to 1 {id = 0 : i64} : tensor<2x6x3xf32>
  %2 = pp.copy %0#1 from 0 to 1 {id = 1 : i64} : tensor<f32>
  %3 = pp.place 1 stage 1 -> tensor<f32> {
    %b = pp.mul %1, %2 : tensor<2x6x3xf32>, tensor<f32>
    %l = pp.reduce sum %b [0, 1, 2] : tensor<2x6x3xf32>
    pp.yield %l : tensor<f32>
  }
  return %3 : tensor<f32>
}
