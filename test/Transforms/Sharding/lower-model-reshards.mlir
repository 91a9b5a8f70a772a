// RUN: ppopt opt %s --pp-lower-model-reshards | FileCheck %s

// A partial sum is completed by an all-reduce over the ranks of its axes, named for its maker; a whole value that each rank adds is divided by
// their number. Rows of the batch stay cut.
// CHECK-LABEL: func.func @model
// CHECK: %[[PART:.*]] = pp.matmul
// CHECK-NEXT: %[[SUM:.*]] = pp.all_reduce %[[PART]] over <["tp"]> "pp.matmul at {{[^"]*}}lower-model-reshards.mlir:{{[0-9]+}}:10" {pp.shardings = [#pp.sharding<[{dp}, {}]>]} : tensor<2x8xf32> to tensor<2x8xf32>
// CHECK-NEXT: %[[BOTH:.*]] = pp.all_reduce %[[SUM]] over <["tp", "sp"]> "pp.all_reduce at
// CHECK-NEXT: %[[SHARE:.*]] = pp.constant dense<0.333333343> : tensor<f32>
// CHECK-NEXT: %[[THIRD:.*]] = pp.mul %[[BOTH]], %[[SHARE]] {pp.shardings = [#pp.sharding<[{dp}, {}], sum = {sp}>]}
// CHECK-NEXT: pp.yield %[[THIRD]]
// CHECK-NOT: pp.reshard
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>, #pp.axis<"sp" = 3>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @model(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4x8xf32>
  %0 = pp.place 0 stage 0 -> tensor<2x8xf32> {
    %a = pp.matmul %x, %w : tensor<2x4xf32>, tensor<4x8xf32>
    %b = pp.reshard %a from <[{dp}, {}], sum = {tp}> to <[{dp}, {}]> of [4, 8] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{dp}, {}]>]} : tensor<2x8xf32> to tensor<2x8xf32>
    %c = pp.reshard %b from <[{dp}, {}], sum = {tp, sp}> to <[{dp}, {}]> of [4, 8] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{dp}, {}]>]} : tensor<2x8xf32> to tensor<2x8xf32>
    %d = pp.reshard %c from <[{dp}, {}]> to <[{dp}, {}], sum = {sp}> of [4, 8] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{dp}, {}], sum = {sp}>]} : tensor<2x8xf32> to tensor<2x8xf32>
    pp.yield %d : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}
