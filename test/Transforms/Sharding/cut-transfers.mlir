// RUN: %ppopt opt %s --pp-propagate-shardings --pp-cut-transfers=choice=always | FileCheck %s --implicit-check-not=pp.reshard
// RUN: %ppopt opt %s --pp-propagate-shardings --pp-cut-transfers=choice=always --pp-insert-reshards --pp-verify-shardings=resharded=true | FileCheck %s --check-prefix=STAGE
// RUN: %ppopt opt %s --pp-shard | FileCheck %s --check-prefix=WHOLE
// RUN: %ppopt opt %s --pp-propagate-shardings --pp-cut-transfers=choice=never | FileCheck %s --check-prefix=NEVER

// The value and its gradient are cut alike, inside the rows of a rank. Readers read them as before.
// CHECK: pp.place 0 stage 0 attributes {pp.shardings = [#pp.sharding<[{dp}, {}, {}]>]}
// CHECK: pp.copy {{.*}} {id = 0 : i64, pp.loops = #pp.sharding<[{dp}, {tp}, {}]>, pp.reads = [#pp.sharding<[{dp}, {tp}, {}]>], pp.shardings = [#pp.sharding<[{dp}, {tp}, {}]>]}
// CHECK: pp.mul {{.*}} pp.reads = [#pp.sharding<[{dp}, {}, {}]>, #pp.sharding<[{dp}, {}, {}]>]
// CHECK: pp.copy {{.*}} {gradient_of = 0 : i64, id = 1 : i64, pp.loops = #pp.sharding<[{dp}, {tp}, {}]>, pp.reads = [#pp.sharding<[{dp}, {tp}, {}]>]

// The stage that makes the value yields it, which its own backward reads, and the part, which it sends to two places. Each region that reads the part
// gathers it.
// STAGE: pp.place 0 stage 0
// STAGE: %[[H:.*]] = pp.tanh
// STAGE-NEXT: %[[PART:.*]] = pp.reshard %[[H]] from <[{dp}, {}, {}]> to <[{dp}, {tp}, {}]> of [2, 6, 3] {bytes = 0 : i64
// STAGE-NEXT: pp.yield %[[H]], %[[PART]]
// STAGE: %[[SENT:.*]] = pp.copy %{{.*}}#1 from 0 to 1 {id = 0
// STAGE: pp.copy %{{.*}}#1 from 0 to 2 {id = 2
// STAGE: pp.place 1 stage 1 attributes
// STAGE: pp.reshard %[[SENT]] from <[{dp}, {tp}, {}]> to <[{dp}, {}, {}]>
// STAGE: pp.place 1 stage 1 backward
// STAGE: pp.reshard %[[SENT]] from <[{dp}, {tp}, {}]> to <[{dp}, {}, {}]>
// STAGE: %[[BACK:.*]] = pp.reshard %{{.*}} from <[{dp}, {}, {}]> to <[{dp}, {tp}, {}]>
// STAGE-NEXT: pp.yield %{{.*}}, %[[BACK]]
// STAGE: %[[GRADIENT:.*]] = pp.copy %{{.*}}#1 from 1 to 0 {gradient_of = 0
// STAGE: pp.place 0 stage 0 backward
// STAGE: pp.reshard %[[GRADIENT]] from <[{dp}, {tp}, {}]> to <[{dp}, {}, {}]>

// Where all ranks are joined by links of one kind, a gather takes as long as what is saved.
// WHOLE: pp.copy {{.*}} : tensor<1x6x3xf32>
// WHOLE: pp.copy {{.*}} : tensor<1x6x3xf32>

// NEVER: pp.copy {{.*}} {id = 0 : i64, pp.loops = #pp.sharding<[{dp}, {}, {}]>, pp.shardings
pp.plan {batch = 2 : i64, mesh = [#pp.axis<"pp" = 3>, #pp.axis<"dp" = 2>, #pp.axis<"tp" = 3>], microbatches = 1 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @main(%x: tensor<2x6x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, place = 0 : i64} : tensor<3xf32>
  %u = pp.param "u" {init = #pp.init<ones>, place = 1 : i64, shard = #pp.sharding<[{}, {tp}]>} : tensor<3x3xf32>
  %one = pp.constant dense<1.0> : tensor<2x6x3xf32>
  %0 = pp.place 0 stage 0 -> tensor<2x6x3xf32> {
    %a = pp.mul %x, %w : tensor<2x6x3xf32>, tensor<3xf32>
    %h = pp.tanh %a : tensor<2x6x3xf32>
    pp.yield %h : tensor<2x6x3xf32>
  }
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<2x6x3xf32>
  %c = pp.copy %0 from 0 to 2 {id = 2 : i64} : tensor<2x6x3xf32>
  %2 = pp.place 1 stage 1 -> tensor<f32> {
    %s = pp.mul %1, %1 : tensor<2x6x3xf32>, tensor<2x6x3xf32>
    %m = pp.matmul %s, %u : tensor<2x6x3xf32>, tensor<3x3xf32>
    %l = pp.reduce sum %m [0, 1, 2] : tensor<2x6x3xf32>
    pp.yield %l : tensor<f32>
  }
  %d = pp.place 2 stage 2 -> tensor<2x6x3xf32> {
    %e = pp.exp %c : tensor<2x6x3xf32>
    pp.yield %e : tensor<2x6x3xf32>
  }
  %3 = pp.place 1 stage 1 backward -> tensor<2x6x3xf32> {
    %g = pp.add %1, %1 : tensor<2x6x3xf32>, tensor<2x6x3xf32>
    pp.yield %g : tensor<2x6x3xf32>
  }
  %4 = pp.copy %3 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<2x6x3xf32>
  pp.place 0 stage 0 backward {
    %q = pp.mul %0, %4 : tensor<2x6x3xf32>, tensor<2x6x3xf32>
    %r = pp.reduce sum %q [0, 1] : tensor<2x6x3xf32>
    pp.add_grad %w, %r : tensor<3xf32>
    pp.yield
  }
  return %2 : tensor<f32>
}
