// RUN: ppopt opt %s --pp-form-kernels --pp-plan-kernels --pp-place-collectives --pp-bufferize-tasks --split-input-file > %t
// RUN: FileCheck %s --input-file=%t
// RUN: ppopt opt %t --pp-verify-kernels --split-input-file

// What is gathered lies in a temporary, which readers view where they need it, and is released after the last of them: of a matmul, after its addition. The third
// gather begins when the first one's memory is free.
// CHECK-LABEL: pp.task backward stage 0 @gathers
// CHECK-SAME: (%[[X:[^:]*]]: memref<8x8xf32>, %[[B0:[^:]*]]: memref<64xf32> {{{[^}]*}}}, %[[B1:[^:]*]]: memref<64xf32> {{{[^}]*}}}, %[[B2:[^:]*]]: memref<64xf32> {{{[^}]*}}}, %[[G:[^:]*]]: memref<8x8xf32> {pp.role = #pp.role<grad, "w">},
// CHECK-NEXT: %[[G0:.*]] = pp.temp [[AT0:[0-9]+]] : memref<128xf32>
// CHECK-NEXT: pp.begin 0 all_gather %[[B0]] outs(%[[G0]] : memref<128xf32>) : memref<64xf32>
// CHECK-NEXT: pp.finish 0
// CHECK-NEXT: %[[G1:.*]] = pp.temp [[AT1:[0-9]+]] : memref<128xf32>
// CHECK-NEXT: pp.begin 1 all_gather %[[B1]] outs(%[[G1]] : memref<128xf32>) : memref<64xf32>
// CHECK-NEXT: %[[W0:.*]] = memref.reinterpret_cast %[[G0]] to offset: [64], sizes: [8, 8], strides: [8, 1]
// CHECK: pp.launch @{{.*}} ins(%[[X]], %[[W0]] : {{.*}}) outs(%[[X1:[^ ]*]] :
// CHECK-NEXT: pp.release %[[G0]] : memref<128xf32>
// CHECK-NEXT: pp.finish 1
// CHECK-NEXT: %[[G2:.*]] = pp.temp [[AT0]] : memref<128xf32>
// CHECK-NEXT: pp.begin 2 all_gather %[[B2]] outs(%[[G2]] : memref<128xf32>) : memref<64xf32>
// CHECK: pp.gemm %[[X1]], %{{.*}} into %[[G]] {{.*}}accumulate
// CHECK-NEXT: pp.release %[[G1]]
// CHECK-NEXT: pp.finish 2
// CHECK: pp.launch
// CHECK-NEXT: pp.release %[[G2]]
// CHECK-NEXT: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @gathers(%x: tensor<8x8xf32>, %b0: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, %b1: tensor<64xf32> {pp.role = #pp.role<param_range, "b1">},
    %b2: tensor<64xf32> {pp.role = #pp.role<param_range, "b2">}, %g: tensor<8x8xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<8x8xf32> {pp.role = #pp.role<grad, "w">}, tensor<8x8xf32>) {
  %g0 = pp.all_gather %b0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %s0 = pp.slice %g0 [64] : tensor<128xf32> to tensor<64xf32>
  %w0 = pp.reshape %s0 : tensor<64xf32> to tensor<8x8xf32>
  %x1 = pp.add %x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>
  %g1 = pp.all_gather %b1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %s1 = pp.slice %g1 [0] : tensor<128xf32> to tensor<64xf32>
  %w1 = pp.reshape %s1 : tensor<64xf32> to tensor<8x8xf32>
  %d = pp.matmul %x1, %w1 : tensor<8x8xf32>, tensor<8x8xf32>
  %r = pp.accumulate %g, %d : tensor<8x8xf32>
  %g2 = pp.all_gather %b2 over <["dp"]> "b2" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %s2 = pp.slice %g2 [64] : tensor<128xf32> to tensor<64xf32>
  %w2 = pp.reshape %s2 : tensor<64xf32> to tensor<8x8xf32>
  %y = pp.exp %w2 : tensor<8x8xf32>
  pp.return %r, %y : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Sums: kernels and matmuls write ranges of the zeros, which are the memory that the reduce-scatter overwrites. Its result is apart from that.
// CHECK-LABEL: pp.task backward stage 0 @sums
// CHECK: %[[Z:.*]] = pp.temp [[AT:[0-9]+]] : memref<160xf32>
// CHECK-NEXT: pp.launch @zeros_1x160 ins() outs(%[[Z]] : memref<160xf32>)
// CHECK-NEXT: %[[V:.*]] = memref.reinterpret_cast %[[Z]] to offset: [128], sizes: [16], strides: [1]
// CHECK-NEXT: pp.launch @reduce_accumulate_16x16 ins(%{{.*}}, %[[V]] : {{.*}}) outs(%[[V]] : {{.*}}) {inplace = array<i64: 1>}
// CHECK-NEXT: %[[W:.*]] = memref.reinterpret_cast %[[Z]] to offset: [0], sizes: [8, 16], strides: [16, 1]
// CHECK: pp.gemm %{{.*}} into %[[W]] {{.*}}accumulate
// CHECK-NEXT: %[[S:.*]] = pp.temp [[OF:[0-9]+]] : memref<80xf32>
// CHECK-NEXT: pp.begin 0 reduce_scatter %[[Z]] outs(%[[S]] : memref<80xf32>) : memref<160xf32>
// CHECK-NEXT: pp.finish 0
// CHECK-NEXT: pp.launch @accumulate_1x80 ins(%{{.*}}, %[[S]] : {{.*}}) {inplace = array<i64: 0>}
// CHECK-NEXT: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @sums(%x: tensor<16x8xf32>, %y: tensor<16x16xf32>, %b0: tensor<80xf32> {pp.role = #pp.role<grad_range, "b0">})
    -> (tensor<80xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z0 = pp.zeros : tensor<160xf32>
  %v = pp.slice %z0 [128] : tensor<160xf32> to tensor<16xf32>
  %w0 = pp.slice %z0 [0] : tensor<160xf32> to tensor<128xf32>
  %w = pp.reshape %w0 : tensor<128xf32> to tensor<8x16xf32>
  %ry = pp.reduce sum %y [0] : tensor<16x16xf32>
  %v1 = pp.accumulate %v, %ry : tensor<16xf32>
  %d = pp.matmul %x, %y {transpose_lhs} : tensor<16x8xf32>, tensor<16x16xf32>
  %w1 = pp.accumulate %w, %d : tensor<8x16xf32>
  %j0 = pp.join %z0(%w1, %v1) at [0, 128] : tensor<160xf32>, tensor<8x16xf32>, tensor<16xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<160xf32> to tensor<80xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<80xf32>
  pp.return %t0 : tensor<80xf32>
}

// -----

// An all-reduce writes what the task returns where it is wanted, and has scratch memory until it ends. What it reads is a temporary until then, too.
// CHECK-LABEL: pp.task forward stage 0 @reduced
// CHECK-SAME: (%[[X:[^:]*]]: memref<64xf32> {{{[^}]*}}}, %[[Y:[^:]*]]: memref<64xf32>, %[[Z:[^:]*]]: memref<64xf32>)
// CHECK-SAME: temp_bytes = 384 : i64
// CHECK-NEXT: %[[T:.*]] = pp.temp [[AT:[0-9]+]] : memref<64xf32>
// CHECK-NEXT: pp.launch @exp_1x64 ins(%[[X]] : memref<64xf32>) outs(%[[T]] : memref<64xf32>)
// CHECK-NEXT: %[[S:.*]] = pp.temp {{[0-9]+}} : memref<32xf32>
// CHECK-NEXT: pp.begin 0 all_reduce %[[T]] outs(%[[Y]], %[[S]] : memref<64xf32>, memref<32xf32>) : memref<64xf32>
// CHECK-NEXT: pp.launch @neg_1x64 ins(%[[X]] : memref<64xf32>) outs(%[[Z]] : memref<64xf32>)
// CHECK-NEXT: pp.finish 0
// CHECK-NEXT: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @reduced(%x: tensor<64xf32> {pp.role = #pp.role<input, "x">}) -> (tensor<64xf32>, tensor<64xf32>) {
  %e = pp.exp %x : tensor<64xf32>
  %r = pp.all_reduce %e over <["dp"]> "h" {channel = 1 : i64} : tensor<64xf32> to tensor<64xf32>
  %z = pp.neg %x : tensor<64xf32>
  pp.return %r, %z : tensor<64xf32>, tensor<64xf32>
}

// -----

// What the task returns is gathered there, and stays.
// CHECK-LABEL: pp.task forward stage 0 @returned
// CHECK-SAME: "b0">}, %[[W:[a-z0-9]+]]: memref<8x8xf32>, %
// CHECK-NEXT: %[[G:.*]] = memref.reinterpret_cast %[[W]] to offset: [0], sizes: [64], strides: [1]
// CHECK-NEXT: pp.begin 0 all_gather %{{.*}} outs(%[[G]] : memref<64xf32>) : memref<32xf32>
// CHECK-NEXT: pp.finish 0
// CHECK-NEXT: pp.launch @add_8x8 ins(%{{.*}}, %[[W]] :
// CHECK-NEXT: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @returned(%x: tensor<8x8xf32> {pp.role = #pp.role<input, "x">}, %c: tensor<32xf32> {pp.role = #pp.role<param_range, "b0">})
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %g = pp.all_gather %c over <["dp"]> "b0" {channel = 1 : i64} : tensor<32xf32> to tensor<64xf32>
  %w = pp.reshape %g : tensor<64xf32> to tensor<8x8xf32>
  %y = pp.add %x, %w : tensor<8x8xf32>, tensor<8x8xf32>
  pp.return %w, %y : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// Zeros lie in the room of %x, which is dead: it was read for the last time before.
// CHECK-LABEL: pp.task backward stage 0 @dead
// CHECK-SAME: (%[[X:[^:]*]]: memref<64x64xf32>, %[[C:[^:]*]]: memref<2048xf32> {pp.role = #pp.role<grad_range, "b0">}, %[[Y:[^:]*]]: memref<64x64xf32>)
// CHECK: pp.gemm %[[Y]], %[[X]] into %[[D:[^ ]*]]
// CHECK-NEXT: %[[Z:.*]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [4096], strides: [1]
// CHECK-NEXT: pp.launch @zeros_1x4096 ins() outs(%[[Z]] : memref<4096xf32>)
// CHECK: pp.gemm %[[D]], %{{.*}} into %[[X]] {{.*}}accumulate
// CHECK: pp.begin 0 reduce_scatter %{{.*}} outs(%{{.*}} : memref<2048xf32>) : memref<4096xf32>
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @dead(%x: tensor<64x64xf32>, %t: tensor<2048xf32> {pp.role = #pp.role<grad_range, "b0">})
    -> (tensor<2048xf32> {pp.role = #pp.role<grad_range, "b0">}, tensor<64x64xf32>) {
  %h = pp.matmul %x, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %d = pp.matmul %h, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %z0 = pp.zeros : tensor<4096xf32>
  %v = pp.reshape %z0 : tensor<4096xf32> to tensor<64x64xf32>
  %e = pp.matmul %d, %h : tensor<64x64xf32>, tensor<64x64xf32>
  %v1 = pp.accumulate %v, %e : tensor<64x64xf32>
  %j0 = pp.join %z0(%v1) at [0] : tensor<4096xf32>, tensor<64x64xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 2 : i64} : tensor<4096xf32> to tensor<2048xf32>
  %t0 = pp.accumulate %t, %s0 : tensor<2048xf32>
  %y = pp.exp %d : tensor<64x64xf32>
  pp.return %t0, %y : tensor<2048xf32>, tensor<64x64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 16384, 16384>} {
  %0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<64x64xf32>>
  %1 = pp.wait %0 : !pp.future<tensor<64x64xf32>>
  %2 = pp.run @dead microbatch 0 (%1) slots [1] : (tensor<64x64xf32>) -> tensor<64x64xf32>
}

// -----

// What is gathered lies in the room of the result, and is released before this is made.
// CHECK-LABEL: pp.task forward stage 0 @unmade
// CHECK-SAME: (%[[X:[^:]*]]: memref<4x64xf32> {pp.role = #pp.role<input, "x">}, %[[C:[^:]*]]: memref<2048xf32> {pp.role = #pp.role<param_range, "b0">}, %[[Y:[^:]*]]: memref<64x64xf32>)
// CHECK-NEXT: %[[G:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4096], strides: [1]
// CHECK-NEXT: pp.begin 0 all_gather %[[C]] outs(%[[G]] : memref<4096xf32>) : memref<2048xf32>
// CHECK-NEXT: pp.finish 0
// CHECK: %[[H:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4096], strides: [1]
// CHECK: pp.gemm %[[X]], %[[H]] into %[[R:[^ ]*]]
// CHECK-NEXT: %[[G:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0], sizes: [4096], strides: [1]
// CHECK-NEXT: pp.release %[[G]] : memref<4096xf32>
// CHECK: pp.gemm %[[R]], %[[R]] into %[[Y]]
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @unmade(%x: tensor<4x64xf32> {pp.role = #pp.role<input, "x">}, %b0: tensor<2048xf32> {pp.role = #pp.role<param_range, "b0">}) -> tensor<64x64xf32> {
  %g0 = pp.all_gather %b0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<2048xf32> to tensor<4096xf32>
  %w0 = pp.reshape %g0 : tensor<4096xf32> to tensor<64x64xf32>
  %r = pp.matmul %x, %w0 : tensor<4x64xf32>, tensor<64x64xf32>
  %y = pp.matmul %r, %r {transpose_lhs} : tensor<4x64xf32>, tensor<4x64xf32>
  pp.return %y : tensor<64x64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 16384>} {
  %0 = pp.run @unmade microbatch 0 () slots [0] : () -> tensor<64x64xf32>
}
