// RUN: %mutate opt %s --mutate-drop-scale | FileCheck %s
// RUN: sed '/pp.reshard %0/d; s/%1/%0/' %s | %mutate opt --mutate-drop-scale | FileCheck %s --check-prefix=TILES
// RUN: sed '/pp.reshard %0/d; s/%1/%0/; s/ {tiles = 4 : i64}//' %s | not %mutate opt --mutate-drop-scale 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no whole value that is read as a partial sum to change

// CHECK: %[[SUM:.*]] = pp.reshard
// CHECK-NOT: pp.reshard
// CHECK: pp.add_grad %{{.*}}, %[[SUM]] {tiles = 4 : i64}

// TILES: %[[SUM:.*]] = pp.reshard
// TILES: pp.add_grad %{{.*}}, %[[SUM]] : tensor<4xf32>
func.func @m(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    %0 = pp.reshard %x from #pp.sharding<[{}], sum = {tp}> to #pp.sharding<[{}]> of [4] {bytes = 0 : i64} : tensor<4xf32> to tensor<4xf32>
    %1 = pp.reshard %0 from #pp.sharding<[{}]> to #pp.sharding<[{}], sum = {sp}> of [4] {bytes = 0 : i64} : tensor<4xf32> to tensor<4xf32>
    pp.add_grad %w, %1 {tiles = 4 : i64} : tensor<4xf32>
    pp.yield
  }
  return %x : tensor<4xf32>
}
