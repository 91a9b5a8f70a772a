// RUN: ppopt opt %s --pp-form-kernels --split-input-file --verify-diagnostics | FileCheck %s

// Gradients that ranks sum in a task. Zeros are written where the first op adds to them, each part is accumulated in its range, by kernels and by matmuls, and
// the sum follows the last addition. Its result is added when the next sum has begun, the last one's at the end: the ranks sum meanwhile.
// CHECK-LABEL: pp.task backward stage 0 @sums
// CHECK-SAME: (%[[X:[^:]*]]: tensor<16x8xf32>, %[[Y:[^:]*]]: tensor<16x16xf32>, %[[C1:[^:]*]]: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}, %[[C0:[^:]*]]: tensor<80xf32> {pp.role = #pp.role<grad_range, "b0">})
// CHECK-NEXT: %[[Z1:.*]] = pp.launch @zeros_1x128 ins() outs() {inplace = array<i64: -1>} -> tensor<128xf32>
// CHECK-NEXT: %[[U:.*]] = pp.slice %[[Z1]] [32] : tensor<128xf32> to tensor<8xf32>
// CHECK-NEXT: %[[U1:.*]] = pp.launch @reduce_accumulate_16x8 ins(%[[X]], %[[U]] : {{.*}}) outs() {inplace = array<i64: 1>}
// CHECK-NEXT: %[[J1:.*]] = pp.join %[[Z1]](%[[U1]]) at [32]
// CHECK-NEXT: %[[S1:.*]] = pp.reduce_scatter %[[J1]] over <["dp"]> "b1"
// CHECK-NEXT: %[[Z0:.*]] = pp.launch @zeros_1x160 ins() outs()
// CHECK-NEXT: %[[V:.*]] = pp.slice %[[Z0]] [128] : tensor<160xf32> to tensor<16xf32>
// CHECK-NEXT: %[[V1:.*]] = pp.launch @reduce_accumulate_16x16 ins(%[[Y]], %[[V]] : {{.*}}) outs() {inplace = array<i64: 1>}
// CHECK-NEXT: %[[D:.*]] = pp.matmul %[[X]], %[[Y]] {transpose_lhs}
// CHECK-NEXT: %[[W0:.*]] = pp.slice %[[Z0]] [0] : tensor<160xf32> to tensor<128xf32>
// CHECK-NEXT: %[[W:.*]] = pp.reshape %[[W0]] : tensor<128xf32> to tensor<8x16xf32>
// CHECK-NEXT: %[[W1:.*]] = pp.accumulate %[[W]], %[[D]]
// CHECK-NEXT: %[[J0:.*]] = pp.join %[[Z0]](%[[W1]], %[[V1]]) at [0, 128]
// CHECK-NEXT: %[[S0:.*]] = pp.reduce_scatter %[[J0]] over <["dp"]> "b0"
// CHECK-NEXT: %[[T1:.*]] = pp.launch @accumulate_1x64 ins(%[[C1]], %[[S1]] : {{.*}}) outs() {inplace = array<i64: 0>}
// CHECK-NEXT: %[[T0:.*]] = pp.launch @accumulate_1x80 ins(%[[C0]], %[[S0]] : {{.*}}) outs() {inplace = array<i64: 0>}
// CHECK-NEXT: pp.return %[[T1]], %[[T0]]
// CHECK: pp.kernel @zeros_1x128() -> (tensor<128xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 128>} {
// CHECK-NEXT: %[[K:.*]] = pp.constant dense<0.000000e+00> : tensor<128xf32>
// CHECK-NEXT: pp.return %[[K]]
pp.task backward stage 0 @sums(%x: tensor<16x8xf32>, %y: tensor<16x16xf32>, %b1: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">},
    %b0: tensor<80xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}, tensor<80xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z0 = pp.zeros : tensor<160xf32>
  %v = pp.slice %z0 [128] : tensor<160xf32> to tensor<16xf32>
  %w0 = pp.slice %z0 [0] : tensor<160xf32> to tensor<128xf32>
  %w = pp.reshape %w0 : tensor<128xf32> to tensor<8x16xf32>
  %z1 = pp.zeros : tensor<128xf32>
  %u = pp.slice %z1 [32] : tensor<128xf32> to tensor<8xf32>
  %rx = pp.reduce sum %x [0] : tensor<16x8xf32>
  %u1 = pp.accumulate %u, %rx : tensor<8xf32>
  %j1 = pp.join %z1(%u1) at [32] : tensor<128xf32>, tensor<8xf32>
  %s1 = pp.reduce_scatter %j1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %t1 = pp.accumulate %b1, %s1 : tensor<64xf32>
  %ry = pp.reduce sum %y [0] : tensor<16x16xf32>
  %v1 = pp.accumulate %v, %ry : tensor<16xf32>
  %d = pp.matmul %x, %y {transpose_lhs} : tensor<16x8xf32>, tensor<16x16xf32>
  %w1 = pp.accumulate %w, %d : tensor<8x16xf32>
  %j0 = pp.join %z0(%w1, %v1) at [0, 128] : tensor<160xf32>, tensor<8x16xf32>, tensor<16xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<160xf32> to tensor<80xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<80xf32>
  pp.return %t1, %t0 : tensor<64xf32>, tensor<80xf32>
}

// -----

// Before a bucket several times as large the sum is added: memory is short there. No kernel does more than add to the large one.
// CHECK-LABEL: pp.task backward stage 0 @large
// CHECK: pp.reduce_scatter %{{.*}} "b1"
// CHECK-NEXT: %[[R:.*]] = pp.launch @reduce_16x64
// CHECK-NEXT: pp.launch @accumulate_1x64 ins(%{{.*}}, %{{.*}} : {{.*}}) outs() {inplace = array<i64: 0>}
// CHECK-NEXT: %[[Z0:.*]] = pp.launch @zeros_1x2176
// CHECK-NEXT: %[[V:.*]] = pp.slice %[[Z0]] [2048]
// CHECK-NEXT: pp.launch @accumulate_1x64 ins(%[[V]], %[[R]] : {{.*}}) outs() {inplace = array<i64: 0>}
// CHECK: pp.reduce_scatter %{{.*}} "b0"
// CHECK-NEXT: pp.launch @accumulate_1x1088
pp.task backward stage 0 @large(%x: tensor<16x32xf32>, %y: tensor<16x64xf32>, %b1: tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">},
    %b0: tensor<1088xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b1">}, tensor<1088xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z1 = pp.zeros : tensor<128xf32>
  %u = pp.slice %z1 [32] : tensor<128xf32> to tensor<32xf32>
  %rx = pp.reduce sum %x [0] : tensor<16x32xf32>
  %u1 = pp.accumulate %u, %rx : tensor<32xf32>
  %j1 = pp.join %z1(%u1) at [32] : tensor<128xf32>, tensor<32xf32>
  %s1 = pp.reduce_scatter %j1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %t1 = pp.accumulate %b1, %s1 : tensor<64xf32>
  %z0 = pp.zeros : tensor<2176xf32>
  %v = pp.slice %z0 [2048] : tensor<2176xf32> to tensor<64xf32>
  %w0 = pp.slice %z0 [0] : tensor<2176xf32> to tensor<2048xf32>
  %w = pp.reshape %w0 : tensor<2048xf32> to tensor<32x64xf32>
  %ry = pp.reduce sum %y [0] : tensor<16x64xf32>
  %v1 = pp.accumulate %v, %ry : tensor<64xf32>
  %d = pp.matmul %x, %y {transpose_lhs} : tensor<16x32xf32>, tensor<16x64xf32>
  %w1 = pp.accumulate %w, %d : tensor<32x64xf32>
  %j0 = pp.join %z0(%w1, %v1) at [0, 2048] : tensor<2176xf32>, tensor<32x64xf32>, tensor<64xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<2176xf32> to tensor<1088xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<1088xf32>
  pp.return %t1, %t0 : tensor<64xf32>, tensor<1088xf32>
}

// -----

// A table that the last layer and the first one use: the last layer's matmul waits for the first one's addition, so that the table's gradient is not in memory
// while those of the layers are. Its operands take less memory. The order of additions stays.
// CHECK-LABEL: pp.task backward stage 0 @table
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4x16xf32>, %[[Y:[^:]*]]: tensor<4x64xf32>
// CHECK: pp.reduce_scatter %{{.*}} "b1"
// CHECK-NEXT: %[[Z0:.*]] = pp.launch @zeros_1x1024
// CHECK-NEXT: %[[D:.*]] = pp.matmul %[[Y]], %[[X]] {transpose_lhs}
// CHECK-NEXT: %[[W:.*]] = pp.reshape %[[Z0]]
// CHECK-NEXT: %[[W1:.*]] = pp.accumulate %[[W]], %[[D]]
// CHECK-NEXT: %[[W2:.*]] = pp.launch @embedding_grad_accumulate_64x16 ins(%{{.*}}, %[[X]], %[[W1]] : {{.*}}) outs() {inplace = array<i64: 2>}
// CHECK-NEXT: %[[J:.*]] = pp.join %[[Z0]](%[[W2]]) at [0]
// CHECK-NEXT: pp.reduce_scatter %[[J]] over <["dp"]> "b0"
pp.task backward stage 0 @table(%x: tensor<4x16xf32>, %y: tensor<4x64xf32>, %ids: tensor<4xi32> {pp.role = #pp.role<input, "ids">},
    %b0: tensor<512xf32> {pp.role = #pp.role<grad_range, "b0">}, %b1: tensor<512xf32> {pp.role = #pp.role<grad_range, "b1">})
    -> (tensor<512xf32> {pp.role = #pp.role<grad_range, "b0">}, tensor<512xf32> {pp.role = #pp.role<grad_range, "b1">}) {
  %z0 = pp.zeros : tensor<1024xf32>
  %w = pp.reshape %z0 : tensor<1024xf32> to tensor<64x16xf32>
  %d = pp.matmul %y, %x {transpose_lhs} : tensor<4x64xf32>, tensor<4x16xf32>
  %w1 = pp.accumulate %w, %d : tensor<64x16xf32>
  %z1 = pp.zeros : tensor<1024xf32>
  %v = pp.reshape %z1 : tensor<1024xf32> to tensor<16x64xf32>
  %e = pp.matmul %x, %y {transpose_lhs} : tensor<4x16xf32>, tensor<4x64xf32>
  %v1 = pp.accumulate %v, %e : tensor<16x64xf32>
  %j1 = pp.join %z1(%v1) at [0] : tensor<1024xf32>, tensor<16x64xf32>
  %s1 = pp.reduce_scatter %j1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<1024xf32> to tensor<512xf32>
  %t1 = pp.accumulate %b1, %s1 : tensor<512xf32>
  %g = pp.embedding_grad %ids, %x : tensor<4xi32>, tensor<4x16xf32> to tensor<64x16xf32>
  %w2 = pp.accumulate %w1, %g : tensor<64x16xf32>
  %j0 = pp.join %z0(%w2) at [0] : tensor<1024xf32>, tensor<64x16xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<1024xf32> to tensor<512xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<512xf32>
  pp.return %t0, %t1 : tensor<512xf32>, tensor<512xf32>
}

// -----

// Operands that take more memory than the table do not wait.
// CHECK-LABEL: pp.task backward stage 0 @wide
// CHECK: pp.launch @zeros_1x1024
// CHECK: pp.matmul %{{.*}} : tensor<64x64xf32>, tensor<64x16xf32>
// CHECK: pp.reduce_scatter %{{.*}} "b1"
// CHECK-NEXT: pp.launch @embedding_grad_accumulate_64x16
// CHECK: pp.reduce_scatter %{{.*}} "b0"
pp.task backward stage 0 @wide(%x: tensor<64x16xf32>, %y: tensor<64x64xf32>, %ids: tensor<64xi32> {pp.role = #pp.role<input, "ids">},
    %b0: tensor<512xf32> {pp.role = #pp.role<grad_range, "b0">}, %b1: tensor<512xf32> {pp.role = #pp.role<grad_range, "b1">})
    -> (tensor<512xf32> {pp.role = #pp.role<grad_range, "b0">}, tensor<512xf32> {pp.role = #pp.role<grad_range, "b1">}) {
  %xx = pp.exp %x : tensor<64x16xf32>
  %yy = pp.exp %y : tensor<64x64xf32>
  %z0 = pp.zeros : tensor<1024xf32>
  %w = pp.reshape %z0 : tensor<1024xf32> to tensor<64x16xf32>
  %d = pp.matmul %yy, %xx {transpose_lhs} : tensor<64x64xf32>, tensor<64x16xf32>
  %w1 = pp.accumulate %w, %d : tensor<64x16xf32>
  %z1 = pp.zeros : tensor<1024xf32>
  %v = pp.reshape %z1 : tensor<1024xf32> to tensor<16x64xf32>
  %e = pp.matmul %x, %y {transpose_lhs} : tensor<64x16xf32>, tensor<64x64xf32>
  %v1 = pp.accumulate %v, %e : tensor<16x64xf32>
  %j1 = pp.join %z1(%v1) at [0] : tensor<1024xf32>, tensor<16x64xf32>
  %s1 = pp.reduce_scatter %j1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<1024xf32> to tensor<512xf32>
  %t1 = pp.accumulate %b1, %s1 : tensor<512xf32>
  %g = pp.embedding_grad %ids, %x : tensor<64xi32>, tensor<64x16xf32> to tensor<64x16xf32>
  %w2 = pp.accumulate %w1, %g : tensor<64x16xf32>
  %j0 = pp.join %z0(%w2) at [0] : tensor<1024xf32>, tensor<64x16xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<1024xf32> to tensor<512xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<512xf32>
  pp.return %t0, %t1 : tensor<512xf32>, tensor<512xf32>
}

// -----

// A parameter that fills its bucket, which is summed in another type than it is kept in.
// CHECK-LABEL: pp.task backward stage 0 @narrow
// CHECK: %[[J:.*]] = pp.join
// CHECK-NEXT: %[[N:.*]] = pp.launch @cast_{{.*}}ins(%[[J]] : tensor<128xf32>) outs() {inplace = array<i64: -1>} -> tensor<128xbf16>
// CHECK-NEXT: %[[S:.*]] = pp.reduce_scatter %[[N]] over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xbf16> to tensor<64xbf16>
// CHECK-NEXT: pp.launch @cast_accumulate_1x64 ins(%{{.*}}, %[[S]] : tensor<64xf32>, tensor<64xbf16>) outs() {inplace = array<i64: 0>} -> tensor<64xf32>
// CHECK-NEXT: pp.return
pp.task backward stage 0 @narrow(%x: tensor<128xf32>, %b0: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z0 = pp.zeros : tensor<128xf32>
  %w = pp.accumulate %z0, %x : tensor<128xf32>
  %j0 = pp.join %z0(%w) at [0] : tensor<128xf32>, tensor<128xf32>
  %n = pp.cast %j0 : tensor<128xf32> to tensor<128xbf16>
  %s0 = pp.reduce_scatter %n over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xbf16> to tensor<64xbf16>
  %c = pp.cast %s0 : tensor<64xbf16> to tensor<64xf32>
  %t0 = pp.accumulate %b0, %c : tensor<64xf32>
  pp.return %t0 : tensor<64xf32>
}

// -----

// Two such buckets whose additions alternate: both sums are under way before the first one is added.
// CHECK-LABEL: pp.task backward stage 0 @alternating
// CHECK: %[[S0:.*]] = pp.reduce_scatter %{{.*}} "b0"
// CHECK: %[[S1:.*]] = pp.reduce_scatter %{{.*}} "b1"
// CHECK-NEXT: pp.launch @cast_accumulate_1x32 ins(%{{.*}}, %[[S0]] : tensor<32xf32>, tensor<32xbf16>)
// CHECK-NEXT: pp.launch @cast_accumulate_1x32 ins(%{{.*}}, %[[S1]] : tensor<32xf32>, tensor<32xbf16>)
// CHECK-NEXT: pp.return
pp.task backward stage 0 @alternating(%x: tensor<64xf32>, %y: tensor<64xf32>, %b0: tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">},
    %b1: tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}) -> (tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}, tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}) {
  %z0 = pp.zeros : tensor<64xf32>
  %w0 = pp.accumulate %z0, %x : tensor<64xf32>
  %z1 = pp.zeros : tensor<64xf32>
  %v0 = pp.accumulate %z1, %y : tensor<64xf32>
  %w1 = pp.accumulate %w0, %y : tensor<64xf32>
  %v1 = pp.accumulate %v0, %x : tensor<64xf32>
  %j0 = pp.join %z0(%w1) at [0] : tensor<64xf32>, tensor<64xf32>
  %n0 = pp.cast %j0 : tensor<64xf32> to tensor<64xbf16>
  %s0 = pp.reduce_scatter %n0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xbf16> to tensor<32xbf16>
  %c0 = pp.cast %s0 : tensor<32xbf16> to tensor<32xf32>
  %t0 = pp.accumulate %b0, %c0 : tensor<32xf32>
  %j1 = pp.join %z1(%v1) at [0] : tensor<64xf32>, tensor<64xf32>
  %n1 = pp.cast %j1 : tensor<64xf32> to tensor<64xbf16>
  %s1 = pp.reduce_scatter %n1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<64xbf16> to tensor<32xbf16>
  %c1 = pp.cast %s1 : tensor<32xbf16> to tensor<32xf32>
  %t1 = pp.accumulate %b1, %c1 : tensor<32xf32>
  pp.return %t0, %t1 : tensor<32xf32>, tensor<32xf32>
}

// -----

// Ranges of what is gathered are memory, too: a kernel and a matmul read them where they are. A slice that does not begin at 64 bytes is read by its readers.
// CHECK-LABEL: pp.task forward stage 0 @gathered
// CHECK: %[[W:.*]] = pp.all_gather
// CHECK-NEXT: %[[M0:.*]] = pp.slice %[[W]] [64] : tensor<160xf32> to tensor<64xf32>
// CHECK-NEXT: %[[M:.*]] = pp.reshape %[[M0]] : tensor<64xf32> to tensor<8x8xf32>
// CHECK-NEXT: %[[P:.*]] = pp.matmul %{{.*}}, %[[M]]
// CHECK-NEXT: %[[B:.*]] = pp.slice %[[W]] [32] : tensor<160xf32> to tensor<8xf32>
// CHECK-NEXT: pp.launch @{{.*}} ins(%[[P]], %[[B]], %[[W]] : tensor<4x8xf32>, tensor<8xf32>, tensor<160xf32>)
// CHECK-NEXT: pp.return
pp.task forward stage 0 @gathered(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}, %c: tensor<80xf32> {pp.role = #pp.role<param_range, "b0">}) -> tensor<4x8xf32> {
  %w = pp.all_gather %c over <["dp"]> "b0" {channel = 1 : i64} : tensor<80xf32> to tensor<160xf32>
  %a = pp.slice %w [5] : tensor<160xf32> to tensor<8xf32>
  %b = pp.slice %w [32] : tensor<160xf32> to tensor<8xf32>
  %m0 = pp.slice %w [64] : tensor<160xf32> to tensor<64xf32>
  %m = pp.reshape %m0 : tensor<64xf32> to tensor<8x8xf32>
  %0 = pp.matmul %x, %m : tensor<4x8xf32>, tensor<8x8xf32>
  %1 = pp.add %0, %b : tensor<4x8xf32>, tensor<8xf32>
  %2 = pp.mul %1, %a : tensor<4x8xf32>, tensor<8xf32>
  pp.return %2 : tensor<4x8xf32>
}

// -----

// In another range.
pp.task backward stage 0 @bad(%x: tensor<64xf32>, %b0: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z0 = pp.zeros : tensor<128xf32>
  %u = pp.slice %z0 [0] : tensor<128xf32> to tensor<64xf32>
  %v = pp.accumulate %u, %x : tensor<64xf32>
  // expected-error @below {{has a part that is not accumulated in its range of the zeros}}
  %j0 = pp.join %z0(%v) at [64] : tensor<128xf32>, tensor<64xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<64xf32>
  pp.return %t0 : tensor<64xf32>
}

// -----

// Nowhere.
pp.task backward stage 0 @bad(%x: tensor<64xf32>, %b0: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z0 = pp.zeros : tensor<128xf32>
  %u = pp.slice %z0 [0] : tensor<128xf32> to tensor<64xf32>
  %v = pp.exp %x : tensor<64xf32>
  // expected-error @below {{has a part that is not accumulated in its range of the zeros}}
  %j0 = pp.join %z0(%v) at [0] : tensor<128xf32>, tensor<64xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<64xf32>
  pp.return %t0 : tensor<64xf32>
}

// -----

// The range is read by another op, which would see the sum.
pp.task backward stage 0 @bad(%x: tensor<64xf32>, %b0: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %z0 = pp.zeros : tensor<128xf32>
  %u = pp.slice %z0 [0] : tensor<128xf32> to tensor<64xf32>
  %w = pp.exp %u : tensor<64xf32>
  %v = pp.accumulate %u, %w : tensor<64xf32>
  // expected-error @below {{has a part that is not accumulated in its range of the zeros}}
  %j0 = pp.join %z0(%v) at [0] : tensor<128xf32>, tensor<64xf32>
  %s0 = pp.reduce_scatter %j0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %t0 = pp.accumulate %b0, %s0 : tensor<64xf32>
  pp.return %t0 : tensor<64xf32>
}
