// RUN: ppopt opt %s | ppopt opt | FileCheck %s

// CHECK: func.func private @cuts(tensor<24x4xf32> {pp.shard = #pp.sharding<[{dp, 6 * tp}, {}], sum = {sp}, max = {cp}>}, tensor<f32> {pp.shard = #pp.sharding<[]>})
func.func private @cuts(tensor<24x4xf32> {pp.shard = #pp.sharding<[{1 * dp, 6 * tp}, {}], max = {cp}, sum = {sp}>}, tensor<f32> {pp.shard = #pp.sharding<[]>})

// CHECK: pp.reshard %{{.*}} from <[{3 * tp}, {}]> to <[{}, {}], sum = {tp}> of [12, 4] {bytes = 96 : i64} : tensor<6x4xf32> to tensor<12x4xf32>
func.func @reshard(%x: tensor<6x4xf32>) -> tensor<12x4xf32> {
  %0 = pp.reshard %x from <[{3 * tp}, {}]> to <[{}, {}], sum = {tp}> of [12, 4] {bytes = 96 : i64} : tensor<6x4xf32> to tensor<12x4xf32>
  return %0 : tensor<12x4xf32>
}
