// RUN: ppopt opt %s --pp-form-kernels --pp-pad-rows --split-input-file | FileCheck %s
// RUN: ppopt opt %s --pp-form-kernels --pp-pad-rows --pp-set-kernel-pitches --pp-plan-cuda-kernels --pp-bufferize-tasks --pp-verify-kernels --split-input-file | FileCheck %s --check-prefix=BUFFERS

// The logits of a tied head and what is computed of them: rows of 50,257 bf16 lie 50,304 from each other, 256 bytes times 393. What is
// of one row is dense.
// CHECK-LABEL: pp.task loss stage 0 @logits
// CHECK: pp.matmul {{.*}} {pp.pitch = array<i64: 50304>, transpose_rhs}
// CHECK: pp.launch {{.*}} {inplace = array<i64: -1>, pp.pitch = array<i64: 50304>}
// CHECK-NOT: pp.pitch
// CHECK: pp.kernel
// BUFFERS-LABEL: pp.task loss stage 0 @logits
// BUFFERS: memref.reinterpret_cast %arg3 to offset: [0], sizes: [2, 4, 50257], strides: [201216, 50304, 1]
// BUFFERS: pp.gemm %arg0, %arg1 into {{.*}}c_strides = array<i64: 0, 0, 50304, 1>
// BUFFERS: %[[T:.*]] = pp.temp {{.*}} : memref<8x50257xbf16, strided<[50304, 1]>>
// BUFFERS: pp.launch {{.*}}outs(%[[T]] : memref<8x50257xbf16, strided<[50304, 1]>>)
// BUFFERS: pp.gemm %[[T]], %arg1 {{.*}}a_strides = array<i64: 0, 0, 50304, 1>
// BUFFERS: pp.gemm %[[T]], %arg0 {{.*}}a_strides = array<i64: 0, 0, 1, 50304>
// BUFFERS: pp.kernel @{{.*}}(%arg0: tensor<8x50257xbf16> {pp.pitch = 50304 : i64}) -> (tensor<8x50257xbf16> {pp.pitch = 50304 : i64, pp.sweep = 1 : i64})
// BUFFERS-SAME: threads = #pp.threads<256, 256 per row, 8 each>, tiles = #pp.tiles<8 of 1 rows>
!h = tensor<2x4x64xbf16>
!w = tensor<50257x64xbf16>
!z = tensor<2x4x50257xbf16>
!r = tensor<8x50257xbf16>
pp.task loss stage 0 @logits(%h: !h, %w: !w {pp.role = #pp.role<param, "w">})
    -> (!h, !w) {
  %0 = pp.matmul %h, %w {transpose_rhs} : !h, !w
  %1 = pp.reshape %0 : !z to !r
  %2 = pp.reduce max %1 [1] {keep_dims} : !r
  %3 = pp.sub %1, %2 : !r, tensor<8x1xbf16>
  %4 = pp.reshape %3 : !r to !z
  %5 = pp.matmul %4, %w : !z, !w
  %6 = pp.reshape %h : !h to tensor<8x64xbf16>
  %7 = pp.matmul %3, %6 {transpose_lhs} : !r, tensor<8x64xbf16>
  pp.return %5, %7 : !h, !w
}

// -----

// 256 bytes cost too much of 577 f32: rows begin at multiples of 16 bytes. 576 do so anyway, 501 are few.
// CHECK-LABEL: pp.task forward stage 0 @lengths
// CHECK: pp.matmul %arg0, %arg1 {pp.pitch = array<i64: 580>}
// CHECK: pp.matmul %arg0, %arg2 :
// CHECK: pp.matmul %arg0, %arg3 :
// BUFFERS: pp.temp {{.*}} : memref<8x577xf32, strided<[580, 1]>>
pp.task forward stage 0 @lengths(%x: tensor<8x16xf32>, %a: tensor<16x577xf32> {pp.role = #pp.role<param, "a">},
    %b: tensor<16x576xf32> {pp.role = #pp.role<param, "b">}, %c: tensor<16x501xf32> {pp.role = #pp.role<param, "c">})
    -> (tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>) {
  %0 = pp.matmul %x, %a : tensor<8x16xf32>, tensor<16x577xf32>
  %1 = pp.reduce sum %0 [1] {keep_dims} : tensor<8x577xf32>
  %2 = pp.matmul %x, %b : tensor<8x16xf32>, tensor<16x576xf32>
  %3 = pp.reduce sum %2 [1] {keep_dims} : tensor<8x576xf32>
  %4 = pp.matmul %x, %c : tensor<8x16xf32>, tensor<16x501xf32>
  %5 = pp.reduce sum %4 [1] {keep_dims} : tensor<8x501xf32>
  pp.return %1, %3, %5 : tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>
}

// -----

// A value that leaves the task is dense, and so is one whose rows a view merges. A kernel of both is two: one reads a temporary, one an argument.
// A mask is padded as bytes.
// CHECK-LABEL: pp.task forward stage 0 @kept
// CHECK: pp.matmul %arg0, %arg1 :
// CHECK: pp.matmul %arg0, %arg2 {pp.pitch = array<i64: 516>}
// CHECK: pp.matmul %arg0, %arg3 :
// BUFFERS-LABEL: pp.task forward stage 0 @kept
// BUFFERS: pp.launch @reduce_8x513 ins(%arg4 :
// BUFFERS: pp.launch @reduce_8x513_0 ins(%{{.*}} : memref<8x513xf32, strided<[516, 1]>>)
// BUFFERS: pp.kernel @reduce_8x513(%arg0: tensor<8x513xf32>)
// BUFFERS: pp.lanes = 256
// BUFFERS: pp.kernel @reduce_8x513_0(%arg0: tensor<8x513xf32> {pp.pitch = 516 : i64})
// BUFFERS: pp.lanes = 256
!m = tensor<8x513xf32>
pp.task forward stage 0 @kept(%x: tensor<8x16xf32>, %a: tensor<16x513xf32> {pp.role = #pp.role<param, "a">},
    %b: tensor<16x513xf32> {pp.role = #pp.role<param, "b">}, %c: tensor<16x514xf32> {pp.role = #pp.role<param, "c">})
    -> (!m, tensor<8x1xf32>, tensor<8x1xf32>,
        tensor<16x1xf32>) {
  %0 = pp.matmul %x, %a : tensor<8x16xf32>, tensor<16x513xf32>
  %1 = pp.reduce sum %0 [1] {keep_dims} : !m
  %2 = pp.matmul %x, %b : tensor<8x16xf32>, tensor<16x513xf32>
  %3 = pp.reduce sum %2 [1] {keep_dims} : !m
  %4 = pp.matmul %x, %c : tensor<8x16xf32>, tensor<16x514xf32>
  %5 = pp.reshape %4 : tensor<8x514xf32> to tensor<16x257xf32>
  %6 = pp.reduce sum %5 [1] {keep_dims} : tensor<16x257xf32>
  pp.return %0, %1, %3, %6 : !m, tensor<8x1xf32>, tensor<8x1xf32>, tensor<16x1xf32>
}

// -----

// Thresholds make any row a long one. The strides of a matmul whose operand is transposed or sliced follow from the pitch.
// CHECK-LABEL: pp.task forward stage 0 @short
// CHECK: pp.launch @exp_9x3 {{.*}} {inplace = array<i64: -1>, pp.pitch = array<i64: 4>}
// BUFFERS-LABEL: pp.task forward stage 0 @short
// BUFFERS: %[[E:.*]] = pp.temp {{.*}} : memref<9x3xf32, strided<[4, 1]>>
// BUFFERS: pp.gemm %[[E]], %[[E]] {{.*}}a_offset = 9 : i64, a_strides = array<i64: 0, 0, 1, 4>, b_offset = 9 : i64, b_strides = array<i64: 0, 0, 4, 1>
// BUFFERS: pp.kernel @exp_9x3(%arg0: tensor<9x3xf32>) -> (tensor<9x3xf32> {pp.pitch = 4 : i64, pp.sweep = 0 : i64})
module attributes {pp.thresholds = {"gpu-pitch-columns" = 2 : i64}} {
  pp.task forward stage 0 @short(%x: tensor<9x3xf32>) -> tensor<2x2xf32> {
    %0 = pp.exp %x : tensor<9x3xf32>
    %1 = pp.slice %0 [2, 1] : tensor<9x3xf32> to tensor<7x2xf32>
    %2 = pp.matmul %1, %1 {transpose_lhs} : tensor<7x2xf32>, tensor<7x2xf32>
    pp.return %2 : tensor<2x2xf32>
  }
}
