// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK: pp.plan {{.*}}device_memory = 1024 : i64{{.*}}launch = "local"{{.*}}stage_places = array<i64: 0, 1, 1, 0>{{.*}}table = #pp.table<[0F0, 0F1, 3I0, 3W0], [1F0, 2B1]>
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "table", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local", table = #pp.table<[0F0, 0F1, 3I0, 3W0], [1F0, 2B1]>, stage_places = array<i64: 0, 1, 1, 0>, device_memory = 1024 : i64}
// CHECK: pp.param_decl "w" {{.*}}places = array<i64: 0, 3>
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 3>}

// CHECK: pp.task forward stage 0 @s0_F() -> tensor<4x8xf32> {
pp.task forward stage 0 @s0_F() -> tensor<4x8xf32> {
  %0 = pp.constant dense<0.0> : tensor<4x8xf32>
  pp.return %0 : tensor<4x8xf32>
}
// CHECK: pp.task forward stage 1 on 1 @s1_F(%{{.*}}: tensor<4x8xf32>) -> tensor<4x8xf32> {
pp.task forward stage 1 on 1 @s1_F(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  pp.return %x : tensor<4x8xf32>
}
// CHECK: pp.task norm on 1 @p1_N(
pp.task norm on 1 @p1_N(%g: tensor<16xf32> {pp.role = #pp.role<grad_range, "b0">}) {
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
pp.schedule 1 attributes {slots = array<i64: 128, 128>} {
  // CHECK-NEXT: %[[G:.*]]: !pp.token
^bb0(%gathered: !pp.token):
  // CHECK: pp.wait %[[G]] : !pp.token
  pp.wait %gathered : !pp.token
  // CHECK: %[[IN:.*]] = pp.recv copy 0 microbatch 1 slot 0 : !pp.future<tensor<4x8xf32>>
  %in = pp.recv copy 0 microbatch 1 slot 0 : !pp.future<tensor<4x8xf32>>
  // CHECK: %[[X:.*]] = pp.wait %[[IN]] : !pp.future<tensor<4x8xf32>>
  %x = pp.wait %in : !pp.future<tensor<4x8xf32>>
  // CHECK: %[[H:.*]] = pp.run @s1_F microbatch 0 (%[[X]]) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = pp.run @s1_F microbatch 0 (%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: %[[I:.*]] = pp.run @s1_F microbatch 1 (%[[X]]) slots [1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %i = pp.run @s1_F microbatch 1 (%x) slots [1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: pp.run @p1_N microbatch 0 chunk 1 () : () -> ()
  pp.run @p1_N microbatch 0 chunk 1 () : () -> ()
  // CHECK: %[[S:.*]] = pp.send copy 1 microbatch 1 (%[[H]]) : tensor<4x8xf32>
  %s = pp.send copy 1 microbatch 1 (%h) : tensor<4x8xf32>
  // CHECK: %[[L:.*]] = pp.send copy 3{{$}}
  %l = pp.send copy 3
  // CHECK: %[[P:.*]] = pp.recv copy 2 : !pp.token
  %p = pp.recv copy 2 : !pp.token
  // CHECK: %[[A:.*]] = pp.start all_reduce over <["dp", "pp"] among [0, 3]> channel 4 <grads, "b0">
  %a = pp.start all_reduce over <["dp", "pp"] among [0, 3]> channel 4 <grads, "b0">
  // CHECK: %[[R:.*]] = pp.start reduce_scatter over <["dp"]> channel 5 <grads, "b0">
  %r = pp.start reduce_scatter over <["dp"]> channel 5 <grads, "b0">
  // CHECK: %[[K:.*]] = pp.start all_gather over <["dp"]> channel 5 <grads, "b0">
  %k = pp.start all_gather over <["dp"]> channel 5 <grads, "b0">
  // CHECK: pp.wait %[[A]] : !pp.token
  pp.wait %a : !pp.token
  pp.wait %s : !pp.token
  pp.wait %l : !pp.token
  pp.wait %p : !pp.token
  pp.wait %r : !pp.token
  // CHECK: pp.yield %[[K]] : !pp.token
  pp.yield %k : !pp.token
}

// CHECK: pp.schedule 1 attributes {evaluation
pp.schedule 1 attributes {evaluation, slots = array<i64>} {
^bb0(%gathered: !pp.token):
  pp.wait %gathered : !pp.token
  // CHECK: %[[D:.*]] = pp.done{{$}}
  %d = pp.done
  // CHECK: pp.yield %[[D]] : !pp.token
  pp.yield %d : !pp.token
}

// CHECK: pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 128, 128>} {
pp.schedule local attributes {slot_places = array<i64: 0, 1>, slots = array<i64: 128, 128>} {
  %h = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<4x8xf32>
  // CHECK: pp.copy %{{.*}} from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 1 : i64} : tensor<4x8xf32>
  %x = pp.copy %h from 0 to 1 {id = 0 : i64, microbatch = 0 : i64, slot = 1 : i64} : tensor<4x8xf32>
  // CHECK: %[[T:.*]] = pp.start on 1 all_reduce over <["pp"]> channel 1 <grads, "b0">
  %t = pp.start on 1 all_reduce over <["pp"]> channel 1 <grads, "b0">
  // CHECK: pp.wait %[[T]] : !pp.token
  pp.wait %t : !pp.token
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
