// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,tp=2 microbatches=2" --pp-propagate-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true --split-input-file | FileCheck %s --implicit-check-not=pp.reshard

// One op for all readers if it sends anything, beside the value; else one before each reader. `bytes` is what a rank sends: of 8 x 6 x 4
// bytes a rank has a quarter, and an all-reduce over two ranks sends as much. First the axes of the model, then those of the batch.
// CHECK-LABEL: func.func @readers
// CHECK: %[[W:.*]] = pp.param
// CHECK: %[[ONES:.*]] = pp.constant
// CHECK: %[[X:.*]] = pp.reshard %arg0 from <[{dp, mb}, {}]> to <[{dp, mb}, {tp}]> of [8, 4] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{dp, mb}, {tp}]>]} : tensor<8x4xf32> to tensor<8x4xf32>
// CHECK-NEXT: %[[PART:.*]] = pp.matmul %[[X]], %[[W]]
// CHECK-NEXT: %[[H:.*]] = pp.reshard %[[PART]] from <[{dp, mb}, {}], sum = {tp}> to <[{dp, mb}, {}]> of [8, 6] {bytes = 48 : i64
// CHECK-NEXT: %[[A:.*]] = pp.tanh %[[H]]
// CHECK-NEXT: %[[B:.*]] = pp.exp %[[H]]
// CHECK-NEXT: %[[HERE:.*]] = pp.reshard %[[ONES]] from <[{}, {}]> to <[{dp, mb}, {}]> of [8, 6] {bytes = 0 : i64
// CHECK-NEXT: pp.mul %[[A]], %[[HERE]]
// CHECK-NEXT: %[[THERE:.*]] = pp.reshard %[[ONES]] from <[{}, {}]> to <[{dp, mb}, {}]> of [8, 6] {bytes = 0 : i64
// CHECK-NEXT: pp.mul %[[B]], %[[THERE]]
// CHECK: %[[P:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[], sum = {tp}>]
// CHECK-NEXT: %[[WHOLE:.*]] = pp.reshard %[[P]] from <[], sum = {tp}> to <[]> of [] {bytes = 4 : i64
// CHECK-NEXT: %[[SHARE:.*]] = pp.reshard %[[WHOLE]] from <[]> to <[], sum = {dp, mb}> of [] {bytes = 0 : i64
// CHECK-NEXT: pp.add %{{.*}}, %[[SHARE]]
func.func @readers(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<4x6xf32>
  %ones = pp.constant dense<1.0> : tensor<8x6xf32>
  %h = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32>
  %a = pp.tanh %h : tensor<8x6xf32>
  %b = pp.exp %h : tensor<8x6xf32>
  %c = pp.mul %a, %ones : tensor<8x6xf32>, tensor<8x6xf32>
  %d = pp.mul %b, %ones : tensor<8x6xf32>, tensor<8x6xf32>
  %e = pp.add %c, %d : tensor<8x6xf32>, tensor<8x6xf32>
  %s = pp.reduce sum %e [0, 1] : tensor<8x6xf32>
  %ww = pp.mul %w, %w : tensor<4x6xf32>, tensor<4x6xf32>
  %p = pp.reduce sum %ww [0, 1] : tensor<4x6xf32>
  %loss = pp.add %s, %p : tensor<f32>, tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A reader that wants one part of a partial sum gets it by a reduce-scatter: half of what an all-reduce sends.
// The input is annotated: a rank is given whole rows, and takes its part.
// CHECK-LABEL: func.func @scatter
// CHECK-SAME: pp.sharding = #pp.sharding<[{dp, mb}, {}]>
// CHECK: %[[X:.*]] = pp.reshard %arg0 from <[{dp, mb}, {}]> to <[{dp, mb}, {tp}]> of [8, 4] {bytes = 0 : i64
// CHECK-NEXT: %[[PART:.*]] = pp.matmul %[[X]],
// CHECK-NEXT: %[[H:.*]] = pp.reshard %[[PART]] from <[{dp, mb}, {}], sum = {tp}> to <[{dp, mb}, {tp}]> of [8, 6] {bytes = 24 : i64
// CHECK-NEXT: pp.mul %[[H]], %
// CHECK: %[[SUM:.*]] = pp.reduce sum
// CHECK-NEXT: pp.reshard %[[SUM]] from <[], sum = {dp, tp, mb}> to <[], sum = {dp, mb}> of [] {bytes = 4 : i64
func.func @scatter(%x: tensor<8x4xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}]>}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<4x6xf32>
  %b = pp.param "b" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}]>} : tensor<6xf32>
  %h = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32>
  %a = pp.mul %h, %b : tensor<8x6xf32>, tensor<6xf32>
  %loss = pp.reduce sum %a [0, 1] : tensor<8x6xf32>
  return %loss : tensor<f32>
}
