// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,tp=2 microbatches=2" --pp-decompose-model --pp-decompose-sharded --split-input-file | FileCheck %s

// A composite is decomposed where an axis of the model cuts what it reduces over.
// CHECK-LABEL: func.func @classes
// CHECK-NOT: pp.softmax
// CHECK: %[[MAX:.*]] = pp.reduce max %arg0 [1] {keep_dims}
// CHECK-NEXT: %[[X:.*]] = pp.sub %arg0, %[[MAX]]
// CHECK-NEXT: %[[EXP:.*]] = pp.exp %[[X]]
// CHECK-NEXT: pp.reduce sum %[[EXP]] [1] {keep_dims}
func.func @classes(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}]>}) -> tensor<f32> {
  %y = pp.softmax %x : tensor<8x6xf32>
  %loss = pp.reduce sum %y [0, 1] : tensor<8x6xf32>
  return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @score
// CHECK: %[[MAX:.*]] = pp.reduce max %arg0 [1] {keep_dims}
// CHECK-NEXT: %[[X:.*]] = pp.sub %arg0, %[[MAX]]
// CHECK-NEXT: %[[EXP:.*]] = pp.exp %[[X]]
// CHECK-NEXT: %[[SUM:.*]] = pp.reduce sum %[[EXP]] [1] {keep_dims}
// CHECK-NEXT: %[[ID:.*]] = pp.iota {dim = 0 : i64} -> tensor<6xi32>
// CHECK-NEXT: %[[IS:.*]] = pp.compare eq %[[ID]], %
// CHECK: %[[PICKED:.*]] = pp.select %[[IS]], %[[X]], %
// CHECK-NEXT: pp.reduce sum %[[PICKED]] [1] {keep_dims}
// CHECK-NEXT: pp.log %[[SUM]]
func.func @score(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}]>}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %loss = pp.cross_entropy %x, %t : tensor<8x6xf32>, tensor<8xi32>
  return %loss : tensor<f32>
}

// -----

// A mean over a cut row is a sum, divided by the count of the whole row.
// CHECK-LABEL: func.func @width
// CHECK-NEXT: %[[SUM:.*]] = pp.reduce sum %arg0 [1] {keep_dims}
// CHECK-NEXT: %[[SIXTH:.*]] = pp.constant dense<0.166666672>
// CHECK-NEXT: pp.mul %[[SUM]], %[[SIXTH]]
func.func @width(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}]>}) -> tensor<f32> {
  %y = pp.normalize %x {center, eps = 1.0e-5 : f64} : tensor<8x6xf32>
  %loss = pp.reduce sum %y [0, 1] : tensor<8x6xf32>
  return %loss : tensor<f32>
}

// -----

// Where the axis cuts other dimensions, or only the batch is cut, composites stay.
// CHECK-LABEL: func.func @rows
// CHECK: pp.softmax %arg0
func.func @rows(%x: tensor<8x4x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}, {}]>}) -> tensor<f32> {
  %y = pp.softmax %x : tensor<8x4x6xf32>
  %loss = pp.reduce sum %y [0, 1, 2] : tensor<8x4x6xf32>
  return %loss : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @batch
// CHECK: pp.softmax %{{.*}} : tensor<8x6xf32>
func.func @batch(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<4x6xf32>
  %h = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32>
  %y = pp.softmax %h : tensor<8x6xf32>
  %loss = pp.reduce sum %y [0, 1] : tensor<8x6xf32>
  return %loss : tensor<f32>
}
