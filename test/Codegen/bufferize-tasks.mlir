// RUN: ppopt opt %s --pp-form-kernels --pp-bufferize-tasks --split-input-file --verify-diagnostics | FileCheck %s

// Results are arguments after the others; a tied one is one argument. The last temporary has the offset of
// the one that is dead by then. The matmul reads its operand through strides, and writes the result where it is wanted.
// CHECK-LABEL: pp.task forward stage 0 @chain
// CHECK-SAME: (%[[X:.*]]: memref<4x64xf32> {pp.role = #pp.role<input, "x">}, %[[L:.*]]: memref<f32> {pp.role = #pp.role<loss, "loss">}, %[[Y:.*]]: memref<4x64xf32>)
// CHECK-SAME: attributes {temp_bytes = {{[0-9]+}} : i64, workspace_bytes = {{[0-9]+}} : i64}
// CHECK-NEXT: %[[A:.*]] = pp.temp 16384 : memref<4x64xf32>
// CHECK-NEXT: pp.launch @exp_4x64 ins(%[[X]] : memref<4x64xf32>) outs(%[[A]] : memref<4x64xf32>)
// CHECK-NEXT: %[[B:.*]] = pp.temp 0 : memref<64x64xf32>
// CHECK: pp.gemm %[[A]], %[[A]] into %[[B]] {{.*}}a_strides = array<i64: 0, 0, 1, 64>
// CHECK: pp.gemm %[[A]], %[[B]] into %[[Y]]
// CHECK: pp.temp 0 : memref<4xf32>
// CHECK-NEXT: pp.launch @reduce_4x64 ins(%[[Y]]
// CHECK: pp.launch @reduce_accumulate_1x4 {{.*}} outs(%[[L]] : memref<f32>) {inplace = array<i64: 1>}
// CHECK: pp.return
// CHECK-NOT: tensor
// CHECK: pp.kernel
pp.task forward stage 0 @chain(%x: tensor<4x64xf32> {pp.role = #pp.role<input, "x">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">})
    -> (tensor<4x64xf32>, tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.exp %x : tensor<4x64xf32>
  %1 = pp.matmul %0, %0 {transpose_lhs} : tensor<4x64xf32>, tensor<4x64xf32>
  %2 = pp.matmul %0, %1 : tensor<4x64xf32>, tensor<64x64xf32>
  %3 = pp.reduce sum %2 [0, 1] : tensor<4x64xf32>
  %4 = pp.accumulate %l, %3 : tensor<f32>
  pp.return %2, %4 : tensor<4x64xf32>, tensor<f32>
}

// -----

// A matmul accumulates where its result is added to a gradient; a reshape is the same buffer; an argument that is returned is
// copied.
// CHECK-LABEL: pp.task backward stage 0 @accumulate
// CHECK: memref.reinterpret_cast %arg0 {{.*}} to memref<8x16xf32>
// CHECK: pp.gemm {{.*}} into %arg2 {{.*}}accumulate
// CHECK: pp.launch @copy_4x32 ins(%arg1 : memref<4x32xf32>) outs(%arg3 : memref<4x32xf32>)
pp.task backward stage 0 @accumulate(%x: tensor<2x4x16xf32>, %y: tensor<4x32xf32>,
    %g: tensor<16x16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16x16xf32> {pp.role = #pp.role<grad, "w">}, tensor<4x32xf32>) {
  %0 = pp.reshape %x : tensor<2x4x16xf32> to tensor<8x16xf32>
  %1 = pp.relu %0 : tensor<8x16xf32>
  %2 = pp.matmul %1, %0 {transpose_lhs} : tensor<8x16xf32>, tensor<8x16xf32>
  %3 = pp.accumulate %g, %2 : tensor<16x16xf32>
  pp.return %3, %y : tensor<16x16xf32>, tensor<4x32xf32>
}

// -----

// expected-error @below {{has buffers already}}
pp.task forward stage 0 @again(%x: memref<4xf32> {pp.role = #pp.role<input, "x">}) {
  pp.return
}

// -----

// Blocks of rows: slices of arguments are offsets for kernels as for matmuls, operands of a concatenation are computed in its place, the accumulation of a block
// comes after its matmul, and the second block's temporaries are the first's. The kernel writes over the matmul that only it reads.
// CHECK-LABEL: pp.task backward stage 0 @blocks
// CHECK-SAME: (%[[X:[^:]*]]: memref<32x16xf32>{{[^,]*}}, %[[W:[^:]*]]: memref<16x64xf32>{{.*}}, %[[T:[^:]*]]: memref<32x1xf32>{{.*}}, %[[G:[^:]*]]: memref<16x64xf32>{{.*}}, %[[Y:[^:]*]]: memref<32x64xf32>{{.*}})
// CHECK: %[[Z0:.*]] = pp.temp [[AT:[0-9]+]] : memref<16x64xf32>
// CHECK: pp.gemm %[[X]], %[[W]] into %[[Z0]] {{.*}}a_offset = 0 : i64
// CHECK-NEXT: %[[T0:.*]] = memref.reinterpret_cast %[[T]] to offset: [0]
// CHECK: pp.launch @[[K:.*]] ins(%[[Z0]], %[[T0]] : {{.*}}) outs(%[[Z0]] : memref<16x64xf32>) {inplace = array<i64: 0>}
// CHECK: %[[Y0:.*]] = memref.reinterpret_cast %[[Y]] to offset: [0]
// CHECK: pp.gemm {{.*}} into %[[Y0]]
// CHECK: pp.gemm %[[X]], %[[Z0]] into %[[G]] {{.*}}a_offset = 0 : i64, {{.*}}accumulate
// CHECK: %[[Z1:.*]] = pp.temp [[AT]] : memref<16x64xf32>
// CHECK: pp.gemm %[[X]], %[[W]] into %[[Z1]] {{.*}}a_offset = 256 : i64
// CHECK: %[[T1:.*]] = memref.reinterpret_cast %[[T]] to offset: [16]
// CHECK: pp.launch @[[K]] ins(%[[Z1]], %[[T1]] : {{.*}}) outs(%[[Z1]] : memref<16x64xf32>) {inplace = array<i64: 0>}
// CHECK: %[[Y1:.*]] = memref.reinterpret_cast %[[Y]] to offset: [1024]
// CHECK: pp.gemm {{.*}} into %[[Y1]]
// CHECK: pp.gemm %[[X]], %[[Z1]] into %[[G]] {{.*}}a_offset = 256 : i64, {{.*}}accumulate
// CHECK-NOT: pp.launch
// CHECK: pp.kernel
pp.task backward stage 0 @blocks(%x: tensor<32x16xf32>, %w: tensor<16x64xf32> {pp.role = #pp.role<param, "w">},
    %t: tensor<32x1xf32>, %g: tensor<16x64xf32> {pp.role = #pp.role<grad, "w">})
    -> (tensor<16x64xf32> {pp.role = #pp.role<grad, "w">}, tensor<32x64xf32>) {
  %x0 = pp.slice %x [0, 0] : tensor<32x16xf32> to tensor<16x16xf32>
  %t0 = pp.slice %t [0, 0] : tensor<32x1xf32> to tensor<16x1xf32>
  %z0 = pp.matmul %x0, %w : tensor<16x16xf32>, tensor<16x64xf32>
  %m0 = pp.reduce max %z0 [1] {keep_dims} : tensor<16x64xf32>
  %s0 = pp.sub %z0, %m0 : tensor<16x64xf32>, tensor<16x1xf32>
  %d0 = pp.mul %s0, %t0 : tensor<16x64xf32>, tensor<16x1xf32>
  %y0 = pp.matmul %x0, %d0 : tensor<16x16xf32>, tensor<16x64xf32>
  %g0 = pp.matmul %x0, %d0 {transpose_lhs} : tensor<16x16xf32>, tensor<16x64xf32>
  %x1 = pp.slice %x [16, 0] : tensor<32x16xf32> to tensor<16x16xf32>
  %t1 = pp.slice %t [16, 0] : tensor<32x1xf32> to tensor<16x1xf32>
  %z1 = pp.matmul %x1, %w : tensor<16x16xf32>, tensor<16x64xf32>
  %m1 = pp.reduce max %z1 [1] {keep_dims} : tensor<16x64xf32>
  %s1 = pp.sub %z1, %m1 : tensor<16x64xf32>, tensor<16x1xf32>
  %d1 = pp.mul %s1, %t1 : tensor<16x64xf32>, tensor<16x1xf32>
  %y1 = pp.matmul %x1, %d1 : tensor<16x16xf32>, tensor<16x64xf32>
  %g1 = pp.matmul %x1, %d1 {transpose_lhs} : tensor<16x16xf32>, tensor<16x64xf32>
  %y = pp.concat %y0, %y1 {dim = 0 : i64} : tensor<16x64xf32>, tensor<16x64xf32>
  %2 = pp.add %g0, %g1 : tensor<16x64xf32>, tensor<16x64xf32>
  %3 = pp.accumulate %g, %2 : tensor<16x64xf32>
  pp.return %3, %y : tensor<16x64xf32>, tensor<32x64xf32>
}

// -----

// A temporary lies where a value was that the task read last, or will make: the first matmul in the result, the one after the last
// reader of %x in %x. What is alive while neither is free lies in the task's own memory. %y is read again.
// CHECK-LABEL: pp.task backward stage 0 @within
// CHECK-SAME: (%[[X:.*]]: memref<64x64xf32>, %[[Y:.*]]: memref<64x64xf32>, %[[G:.*]]: memref<64x64xf32>
// CHECK-SAME: temp_bytes = {{[0-9]+}} : i64
// CHECK: pp.gemm %[[Y]], %[[Y]] into %[[G]]
// CHECK: %[[B:.*]] = pp.temp 0 : memref<64x64xf32>
// CHECK: pp.gemm %[[G]], %[[X]] into %[[B]]
// CHECK: pp.gemm %[[B]], %[[Y]] into %[[X]]
// CHECK: pp.gemm %[[X]], %[[B]] into %[[G]]
pp.task backward stage 0 @within(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %0 = pp.matmul %y, %y : tensor<64x64xf32>, tensor<64x64xf32>
  %1 = pp.matmul %0, %x : tensor<64x64xf32>, tensor<64x64xf32>
  %2 = pp.matmul %1, %y : tensor<64x64xf32>, tensor<64x64xf32>
  %3 = pp.matmul %2, %1 : tensor<64x64xf32>, tensor<64x64xf32>
  pp.return %3 : tensor<64x64xf32>
}
pp.task backward stage 1 @again(%y: tensor<64x64xf32>) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 16384, 16384, 16384>} {
  %0 = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<64x64xf32>>
  %1 = pp.recv copy 1 microbatch 0 slot 1 : !pp.future<tensor<64x64xf32>>
  %x = pp.wait %0 : !pp.future<tensor<64x64xf32>>
  %y = pp.wait %1 : !pp.future<tensor<64x64xf32>>
  %2 = pp.run @within microbatch 0 (%x, %y) slots [2] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  pp.run @again microbatch 0 (%y) : (tensor<64x64xf32>) -> ()
}
