// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK: pp.bucket @b0 {{.*}}sharded = #pp.sharded_state<gradients>
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}

// CHECK: pp.task forward stage 0 @tensors(
// CHECK-SAME: attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<reduce_scatter> over <["dp", "fsdp"]> channel 2 "b0" of 64 x f32>,
// CHECK-SAME: #pp.task_collective<<all_reduce> over <["tp"]> channel 3 "h" of 64 x f32>]}
pp.task forward stage 0 @tensors(%c: tensor<32xf32> {pp.role = #pp.role<param_range, "b0">}) -> tensor<8x8xf32> attributes {collectives = [
    #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<reduce_scatter> over <["dp", "fsdp"]> channel 2 "b0" of 64 x f32>,
    #pp.task_collective<<all_reduce> over <["tp"]> channel 3 "h" of 64 x f32>]} {
  // CHECK: %[[W:.*]] = pp.all_gather %{{.*}} over <["dp"]> "b0" {channel = 1 : i64} : tensor<32xf32> to tensor<64xf32>
  %w = pp.all_gather %c over <["dp"]> "b0" {channel = 1 : i64} : tensor<32xf32> to tensor<64xf32>
  // CHECK: %[[Z:.*]] = pp.zeros : tensor<64xf32>
  %z = pp.zeros : tensor<64xf32>
  %p = pp.slice %w [0] : tensor<64xf32> to tensor<8xf32>
  %q = pp.reshape %w : tensor<64xf32> to tensor<8x8xf32>
  %r = pp.slice %q [0, 0] : tensor<8x8xf32> to tensor<4x8xf32>
  // CHECK: pp.join %[[Z]](%{{.*}}, %{{.*}}) at [0, 32] : tensor<64xf32>, tensor<8xf32>, tensor<4x8xf32>
  %j = pp.join %z(%p, %r) at [0, 32] : tensor<64xf32>, tensor<8xf32>, tensor<4x8xf32>
  // CHECK: pp.join %[[Z]]() at [] : tensor<64xf32>{{$}}
  %k = pp.join %z() at [] : tensor<64xf32>
  // A collective without a channel is one that pp-sign-tasks has not seen.
  // CHECK: pp.reduce_scatter %{{.*}} over <["dp", "fsdp"]> "b0" : tensor<64xf32> to tensor<16xf32>
  %s = pp.reduce_scatter %j over <["dp", "fsdp"]> "b0" : tensor<64xf32> to tensor<16xf32>
  // CHECK: pp.all_reduce %{{.*}} over <["tp"]> "h" {channel = 3 : i64} : tensor<8x8xf32> to tensor<8x8xf32>
  %h = pp.all_reduce %q over <["tp"]> "h" {channel = 3 : i64} : tensor<8x8xf32> to tensor<8x8xf32>
  // CHECK: %[[B:.*]]:2 = pp.begin 2 all_reduce %[[H:.*]] outs() : tensor<8x8xf32> -> tensor<8x8xf32>, tensor<32xf32>
  %b:2 = pp.begin 2 all_reduce %h outs() : tensor<8x8xf32> -> tensor<8x8xf32>, tensor<32xf32>
  // CHECK: pp.finish 2(%[[B]]#0, %[[B]]#1, %[[H]]) : tensor<8x8xf32>, tensor<32xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %f = pp.finish 2(%b#0, %b#1, %h) : tensor<8x8xf32>, tensor<32xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  pp.return %f : tensor<8x8xf32>
}

// CHECK: pp.task forward stage 0 @buffers(
pp.task forward stage 0 @buffers(%c: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %h: memref<8xf32>) {
  %w = pp.temp 0 : memref<64xf32>
  // CHECK: pp.begin 0 all_gather %{{.*}} outs(%[[W:.*]] : memref<64xf32>) : memref<32xf32>
  pp.begin 0 all_gather %c outs(%w : memref<64xf32>) : memref<32xf32>
  // CHECK: pp.finish 0{{$}}
  pp.finish 0
  %s = pp.temp 256 : memref<4xf32>
  %t = pp.temp 320 : memref<8xf32>
  // CHECK: pp.begin 1 all_reduce %{{.*}} outs(%{{.*}}, %{{.*}} : memref<8xf32>, memref<4xf32>) : memref<8xf32>
  pp.begin 1 all_reduce %h outs(%t, %s : memref<8xf32>, memref<4xf32>) : memref<8xf32>
  // CHECK: pp.finish 1{{$}}
  pp.finish 1
  // CHECK: pp.release %[[W]] : memref<64xf32>
  pp.release %w : memref<64xf32>
  pp.return
}
