// RUN: ppopt opt %s --pp-sign-tasks | FileCheck %s

// A channel for each group and kind, from 1 on; the signature has the collectives in the order of the body, with the elements of the
// whole. A task without any has no list.
// CHECK: pp.task forward stage 0 @s0_F(
// CHECK-SAME: attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 128 x bf16>]} {
// CHECK-NEXT: pp.all_gather %{{.*}} over <["dp"]> "b0" {channel = 1 : i64}
// CHECK-NEXT: pp.all_gather %{{.*}} over <["dp"]> "b1" {channel = 1 : i64}
pp.task forward stage 0 @s0_F(%0: tensor<32xf32> {pp.role = #pp.role<param_range, "b0">}, %1: tensor<64xbf16> {pp.role = #pp.role<param_range, "b1">})
    -> (tensor<64xf32>, tensor<128xbf16>) {
  %2 = pp.all_gather %0 over <["dp"]> "b0" : tensor<32xf32> to tensor<64xf32>
  %3 = pp.all_gather %1 over <["dp"]> "b1" : tensor<64xbf16> to tensor<128xbf16>
  pp.return %2, %3 : tensor<64xf32>, tensor<128xbf16>
}
// CHECK: pp.task loss stage 0 @s0_L() {
pp.task loss stage 0 @s0_L() {
  pp.return
}
// CHECK: pp.task backward stage 0 @s0_B(
// CHECK-SAME: attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b1" of 64 x f32>, #pp.task_collective<<all_gather> over <["fsdp"]> channel 3 "b0" of 128 x f32>,
// CHECK-SAME: #pp.task_collective<<all_reduce> over <["dp"]> channel 4 "h" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
// CHECK-NEXT: pp.reduce_scatter %{{.*}} {channel = 2 : i64}
// CHECK-NEXT: pp.all_gather %{{.*}} {channel = 3 : i64}
// CHECK-NEXT: pp.all_reduce %{{.*}} {channel = 4 : i64}
// CHECK-NEXT: pp.all_gather %{{.*}} {channel = 1 : i64}
pp.task backward stage 0 @s0_B(%0: tensor<64xf32>) -> (tensor<32xf32>, tensor<128xf32>,
    tensor<64xf32>, tensor<128xf32>) {
  %1 = pp.reduce_scatter %0 over <["dp"]> "b1" : tensor<64xf32> to tensor<32xf32>
  %2 = pp.all_gather %0 over <["fsdp"]> "b0" : tensor<64xf32> to tensor<128xf32>
  %3 = pp.all_reduce %0 over <["dp"]> "h" : tensor<64xf32> to tensor<64xf32>
  %4 = pp.all_gather %0 over <["dp"]> "b0" : tensor<64xf32> to tensor<128xf32>
  pp.return %1, %2, %3, %4 : tensor<32xf32>, tensor<128xf32>, tensor<64xf32>, tensor<128xf32>
}
