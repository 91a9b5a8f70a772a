// RUN: ppopt opt %s --pp-lower-model-reshards | FileCheck %s

// Over axes of the batch as over those of the model. A part that becomes a term of a sum is gathered and divided; truth values are sent as integers.
// CHECK-LABEL: func.func @rows
// CHECK: %[[FLAT:.*]] = pp.reshape %arg0 : tensor<2x8xf32> to tensor<16xf32>
// CHECK-NEXT: %[[ALL:.*]] = pp.all_gather %[[FLAT]] over <["dp"]> {{.*}} : tensor<16xf32> to tensor<32xf32>
// CHECK-NEXT: %[[WHOLE:.*]] = pp.reshape %[[ALL]] : tensor<32xf32> to tensor<4x8xf32>
// CHECK-NEXT: %[[SHARE:.*]] = pp.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT: pp.mul %[[WHOLE]], %[[SHARE]] {pp.shardings = [#pp.sharding<[{}, {}], sum = {dp}>]}
// CHECK: %[[SENT:.*]] = pp.cast %arg1 : tensor<2xi1> to tensor<2xi32>
// CHECK-NEXT: %[[ALL:.*]] = pp.all_gather %[[SENT]] over <["dp"]> {{.*}} : tensor<2xi32> to tensor<4xi32>
// CHECK-NEXT: %[[ZERO:.*]] = pp.constant dense<0> : tensor<i32>
// CHECK-NEXT: pp.compare ne %[[ALL]], %[[ZERO]]
// CHECK-NOT: pp.reshard
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @rows(%x: tensor<2x8xf32>, %m: tensor<2xi1>) -> (tensor<4x8xf32>, tensor<4xi1>) {
  %0:2 = pp.place 0 stage 0 -> tensor<4x8xf32>, tensor<4xi1> {
    %a = pp.reshard %x from <[{dp}, {}]> to <[{}, {}], sum = {dp}> of [4, 8] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {}], sum = {dp}>]} : tensor<2x8xf32> to tensor<4x8xf32>
    %b = pp.reshard %m from <[{dp}]> to <[{}]> of [4] {bytes = 2 : i64, pp.shardings = [#pp.sharding<[{}]>]} : tensor<2xi1> to tensor<4xi1>
    pp.yield %a, %b : tensor<4x8xf32>, tensor<4xi1>
  }
  return %0#0, %0#1 : tensor<4x8xf32>, tensor<4xi1>
}
