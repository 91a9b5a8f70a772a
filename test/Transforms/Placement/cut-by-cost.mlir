// RUN: ppopt opt %s --pp-place-ops --split-input-file --verify-diagnostics | FileCheck %s

!x = tensor<512x256xf32>
!w = tensor<256x256xf32>

// Four equal layers: two on each place. The activation goes with its matmul's result.
// CHECK-LABEL: func.func @equal
// CHECK: pp.param "w0" {{.*}}place = 0
// CHECK: pp.param "w1" {{.*}}place = 0
// CHECK: pp.param "w2" {{.*}}place = 1
// CHECK: pp.param "w3" {{.*}}place = 1
// CHECK: pp.place 0 stage 0 -> tensor<512x256xf32>
// CHECK: pp.copy
// CHECK-NOT: pp.copy
// CHECK: pp.place 1 stage 1 -> tensor<f32>
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @equal(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>} : !w
  %w3 = pp.param "w3" {init = #pp.init<zeros>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.relu %0 : !x
  %2 = pp.matmul %1, %w1 : !x, !w
  %3 = pp.relu %2 : !x
  %4 = pp.matmul %3, %w2 : !x, !w
  %5 = pp.relu %4 : !x
  %6 = pp.matmul %5, %w3 : !x, !w
  %l = pp.reduce sum %6 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<512x256xf32>
!w = tensor<256x256xf32>
!head = tensor<256x1024xf32>

// A large head with its loss is as much as three layers.
// CHECK-LABEL: func.func @head
// CHECK: pp.param "w0" {{.*}}place = 0
// CHECK: pp.param "w1" {{.*}}place = 0
// CHECK: pp.param "w2" {{.*}}place = 0
// CHECK: pp.param "head" {{.*}}place = 1
// CHECK: pp.place 1 stage 1
// CHECK-NEXT: pp.matmul
// CHECK-NEXT: pp.token_loss
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @head(%x: !x {pp.input = "x"}, %ids: tensor<512xi32> {pp.input = "ids"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>} : !w
  %head = pp.param "head" {init = #pp.init<zeros>} : !head
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %3 = pp.matmul %2, %head : !x, !head
  %4 = pp.token_loss %3, %ids : tensor<512x1024xf32>, tensor<512xi32>
  %l = pp.reduce sum %4 [0] : tensor<512xf32>
  return %l : tensor<f32>
}

// -----

!x = tensor<512x64xf32>
!wide = tensor<512x2048xf32>
!up = tensor<64x2048xf32>
!down = tensor<2048x64xf32>

// The two matmuls of the first layer are as much work as those of the second, and the cut
// stands where 64 columns cross, not 2048.
// CHECK-LABEL: func.func @narrow
// CHECK: pp.copy %{{.*}} : tensor<512x64xf32>
// CHECK-NOT: pp.copy
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @narrow(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %u0 = pp.param "up0" {init = #pp.init<zeros>} : !up
  %d0 = pp.param "down0" {init = #pp.init<zeros>} : !down
  %u1 = pp.param "up1" {init = #pp.init<zeros>} : !up
  %d1 = pp.param "down1" {init = #pp.init<zeros>} : !down
  %0 = pp.matmul %x, %u0 : !x, !up
  %1 = pp.matmul %0, %d0 : !wide, !down
  %2 = pp.matmul %1, %u1 : !x, !up
  %3 = pp.matmul %2, %d1 : !wide, !down
  %l = pp.reduce sum %3 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<512x256xf32>
!w = tensor<256x256xf32>

// Two chunks a place in a V: each piece is a stage of its own, the two in the middle too,
// between which nothing is copied.
// CHECK-LABEL: func.func @chunks
// CHECK: pp.param "w0" {{.*}}place = 0
// CHECK: pp.param "w1" {{.*}}place = 1
// CHECK: pp.param "w2" {{.*}}place = 1
// CHECK: pp.param "w3" {{.*}}place = 0
// CHECK: pp.place 0 stage 0
// CHECK: pp.copy %{{.*}} from 0 to 1
// CHECK: pp.place 1 stage 1
// CHECK-NOT: pp.copy
// CHECK: pp.place 1 stage 2
// CHECK: pp.copy %{{.*}} from 1 to 0
// CHECK: pp.place 0 stage 3
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 2 : i64, optimizer = "sgd", schedule = "zb-v", stage_places = array<i64: 0, 1, 1, 0>, target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @chunks(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>} : !w
  %w3 = pp.param "w3" {init = #pp.init<zeros>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %3 = pp.matmul %2, %w3 : !x, !w
  %l = pp.reduce sum %3 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<512x256xf32>
!w = tensor<256x256xf32>

// A frozen front has no backward: three of its layers weigh as much as one that learns.
// CHECK-LABEL: func.func @frozen
// CHECK: pp.param "w2" {{.*}}place = 0
// CHECK: pp.param "w3" {{.*}}place = 1
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @frozen(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>, frozen} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>, frozen} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>, frozen} : !w
  %w3 = pp.param "w3" {init = #pp.init<zeros>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %3 = pp.matmul %2, %w3 : !x, !w
  %l = pp.reduce sum %3 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<4x256xf32>
!w = tensor<256x256xf32>

// Each parameter with its gradient and two states of adam: 1 MiB. Two don't fit on either place.
pp.plan {batch = 4 : i64, device_memory = 1500000 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 2 : i64, optimizer = "adamw", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
// expected-error @below {{can't be cut for --mesh pp=2: no cut fits: in the one that needs least, place 0 has 2.00 MiB of parameters, gradients and optimizer state, and --device-memory allows 1.43 MiB; use more places}}
func.func @memory(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %l = pp.reduce sum %2 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<512x64x64xf32>
!w = tensor<64x64xf32>
!wide = tensor<64x4096xf32>

// The wide layer is as much work as each of the others: with 512 rows two are on each place.
// CHECK-LABEL: func.func @rows
// CHECK: pp.param "w1" {{.*}}place = 0
// CHECK: pp.param "w2" {{.*}}place = 1
// CHECK: pp.param "wide" {{.*}}place = 1
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 1 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @rows(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>} : !w
  %wide = pp.param "wide" {init = #pp.init<zeros>} : !wide
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %3 = pp.reduce sum %2 [1] : !x
  %4 = pp.matmul %3, %wide : tensor<512x64xf32>, !wide
  %l = pp.reduce sum %4 [0, 1] : tensor<512x4096xf32>
  return %l : tensor<f32>
}

// -----

!x = tensor<512x64x64xf32>
!w = tensor<64x64xf32>
!wide = tensor<64x4096xf32>

// A microbatch of one row reads as many weights as one of 512: then the wide layer takes longer
// than all others together.
// CHECK-LABEL: func.func @row
// CHECK: pp.param "w2" {{.*}}place = 0
// CHECK: pp.param "wide" {{.*}}place = 1
pp.plan {batch = 512 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], microbatches = 512 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @row(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>} : !w
  %wide = pp.param "wide" {init = #pp.init<zeros>} : !wide
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %3 = pp.reduce sum %2 [1] : !x
  %4 = pp.matmul %3, %wide : tensor<512x64xf32>, !wide
  %l = pp.reduce sum %4 [0, 1] : tensor<512x4096xf32>
  return %l : tensor<f32>
}

// -----

!x = tensor<4x256xf32>
!w = tensor<256x256xf32>

// The same over tp=2: a rank has half of each parameter, and two fit.
// CHECK-LABEL: func.func @memory_of_parts
// CHECK: pp.param "w0" {{.*}}place = 0
// CHECK: pp.param "w2" {{.*}}place = 1
pp.plan {batch = 4 : i64, device_memory = 1500000 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>, #pp.axis<"tp" = 2>], microbatches = 2 : i64, optimizer = "adamw", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @memory_of_parts(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp}]>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>, shard = #pp.sharding<[{tp}, {}]>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp}]>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %l = pp.reduce sum %2 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<64x1024xf32>
!w = tensor<1024x1024xf32>

// Over tp=4 four layers that are cut compute as much as one that is not.
// CHECK-LABEL: func.func @part_of_work
// CHECK: pp.param "w3" {{.*}}place = 0
// CHECK: pp.param "whole" {{.*}}place = 1
pp.plan {batch = 64 : i64, mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>, #pp.axis<"tp" = 4>], microbatches = 1 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @part_of_work(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp}]>} : !w
  %w1 = pp.param "w1" {init = #pp.init<zeros>, shard = #pp.sharding<[{tp}, {}]>} : !w
  %w2 = pp.param "w2" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {tp}]>} : !w
  %w3 = pp.param "w3" {init = #pp.init<zeros>, shard = #pp.sharding<[{tp}, {}]>} : !w
  %whole = pp.param "whole" {init = #pp.init<zeros>, shard = #pp.sharding<[{}, {}]>} : !w
  %0 = pp.matmul %x, %w0 : !x, !w
  %1 = pp.matmul %0, %w1 : !x, !w
  %2 = pp.matmul %1, %w2 : !x, !w
  %3 = pp.matmul %2, %w3 : !x, !w
  %4 = pp.matmul %3, %whole : !x, !w
  %l = pp.reduce sum %4 [0, 1] : !x
  return %l : tensor<f32>
}
