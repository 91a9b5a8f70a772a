// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK: pp.plan {{.*}}device_memory = 1024 : i64{{.*}}launch = "local"{{.*}}stage_places = array<i64: 0, 1, 1, 0>{{.*}}table = "0F0"
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "table", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local", table = "0F0", stage_places = array<i64: 0, 1, 1, 0>, device_memory = 1024 : i64}
// CHECK: pp.param_decl "w" {{.*}}places = array<i64: 0, 3>
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 3>}
// CHECK: pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<4x8xf32>
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 {requires_grad} : tensor<4x8xf32>
// CHECK: pp.transfer @x1 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<4x8xf32>
pp.transfer @x1 "s1.g0" from 1 to 0 stage 1 to 0 {gradient_of = @x0} : tensor<4x8xf32>

// CHECK: pp.task forward stage 1 on 1 @s1_F(
pp.task forward stage 1 on 1 @s1_F(%x: tensor<4x8xf32> {pp.role = #pp.role<received, "x0">}) {
  pp.return
}
// CHECK: pp.task norm on 1 @p1_N()
pp.task norm on 1 @p1_N() {
  pp.return
}
// CHECK: pp.task norm @p0_N()
pp.task norm @p0_N() {
  pp.return
}

// CHECK: pp.region <state, "b0", "m"> at 0 bytes 64
pp.region <state, "b0", "m"> at 0 bytes 64
// CHECK: pp.region <scratch of <grads, "b0">> at 64 bytes 64 {place = 1 : i64}
pp.region <scratch of <grads, "b0">> at 64 bytes 64 {place = 1 : i64}

// CHECK: pp.schedule 1
pp.schedule 1 attributes {slots = array<i64: 128>} {
  // CHECK: pp.run @s1_F microbatch 0{{$}}
  pp.run @s1_F microbatch 0
  // CHECK: pp.run @s1_F microbatch 1 (slot 0)
  pp.run @s1_F microbatch 1 (slot 0)
  // CHECK: pp.run @s1_F microbatch 2 (<params, "b0"> + 64)
  pp.run @s1_F microbatch 2 (<params, "b0"> + 64)
  // CHECK: pp.run @p1_N microbatch 0 ()
  pp.run @p1_N microbatch 0 ()
  // CHECK: pp.send 3 @x1 microbatch 1 <grads, "b0">
  pp.send 3 @x1 microbatch 1 <grads, "b0">
  // CHECK: pp.recv 0 @x0 microbatch 1 slot 0
  pp.recv 0 @x0 microbatch 1 slot 0
  // CHECK: pp.send 1 @x1 microbatch 1 slot -1
  pp.send 1 @x1 microbatch 1 slot -1
  // CHECK: pp.start 2 all_reduce over <["dp", "pp"] among [0, 3]> channel 4 @b0
  pp.start 2 all_reduce over <["dp", "pp"] among [0, 3]> channel 4 @b0
  // CHECK: pp.start 3 reduce_scatter over <["dp"]> channel 5 @b0
  pp.start 3 reduce_scatter over <["dp"]> channel 5 @b0
  // CHECK: pp.start 4 all_gather over <["dp"]> channel 5 @b0
  pp.start 4 all_gather over <["dp"]> channel 5 @b0
  // CHECK: pp.wait 0
  pp.wait 0
}

// CHECK: pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 128, 128>} {
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 128, 128>} {
  // CHECK: pp.send 0 @x0 microbatch 1 slot 0
  pp.send 0 @x0 microbatch 1 slot 0
  // CHECK: pp.start 1 on 1 all_reduce over <["pp"]> channel 1 @b0
  pp.start 1 on 1 all_reduce over <["pp"]> channel 1 @b0
  // CHECK: pp.wait 0
  pp.wait 0
}

// CHECK-LABEL: @train
func.func @train(%x: tensor<4x8xf32>) {
  // CHECK: %[[W:.*]] = pp.param "w" {{.*}}place = 1 : i64
  %w = pp.param "w" {init = #pp.init<zeros>, place = 1 : i64} : tensor<4x8xf32>
  // CHECK: pp.on 1 -> tensor<4x8xf32> {
  %0 = pp.on 1 -> tensor<4x8xf32> {
    %a = pp.neg %x : tensor<4x8xf32>
    pp.yield %a : tensor<4x8xf32>
  }
  // CHECK: %[[C:.*]] = pp.copy %{{.*}} from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<4x8xf32>
  // CHECK: pp.place 1 stage 2 backward -> tensor<4x8xf32> {
  %2 = pp.place 1 stage 2 backward -> tensor<4x8xf32> {
    // CHECK: pp.add_grad %[[W]], %[[C]] : tensor<4x8xf32>
    pp.add_grad %w, %1 : tensor<4x8xf32>
    // CHECK: pp.add_grad %[[W]], %[[C]] {tiles = 4 : i64} : tensor<4x8xf32>
    pp.add_grad %w, %1 {tiles = 4 : i64} : tensor<4x8xf32>
    pp.yield %1 : tensor<4x8xf32>
  }
  // CHECK: pp.copy %{{.*}} from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<4x8xf32>
  %3 = pp.copy %2 from 1 to 0 {id = 1 : i64, gradient_of = 0 : i64} : tensor<4x8xf32>
  return
}
