// RUN: ppopt opt %s --pp-form-kernels | FileCheck %s
// RUN: ppopt opt %s --pp-form-kernels --pp-plan-kernels --pp-place-collectives --pp-bufferize-tasks | FileCheck %s --check-prefix=BUFFERS

// What ranks sum in f32 is never rounded to bf16: the matmul adds to zeros. A matmul that something else reads, too, is.
// CHECK-LABEL: pp.task forward stage 0 @summed
// CHECK: %[[ZEROS:.*]] = pp.launch @zeros_4x8
// CHECK: %[[M:.*]] = pp.matmul
// CHECK: %[[W:.*]] = pp.cast %[[M]]
// CHECK: %[[A:.*]] = pp.accumulate %[[ZEROS]], %[[W]] : tensor<4x8xf32>
// CHECK: pp.all_reduce %[[A]]
// CHECK: %[[READ:.*]] = pp.matmul
// CHECK: %[[C:.*]] = pp.launch @cast_4x8 ins(%[[READ]]
// CHECK: pp.all_reduce %[[C]]
// CHECK: %[[OTHER:.*]] = pp.launch @zeros_4x8
// CHECK: pp.accumulate %[[OTHER]], %{{.*}} : tensor<4x8xf32>
// CHECK: pp.reduce_scatter
// BUFFERS-LABEL: pp.task forward stage 0 @summed
// BUFFERS: pp.launch @zeros_4x8 ins() outs(%[[SUM:.*]] : memref<4x8xf32>)
// BUFFERS: pp.gemm %arg0, %arg1 into %[[SUM]] {{.*}} accumulate, {{.*}} memref<4x8xf32>
// BUFFERS: pp.begin 0 all_reduce %[[SUM]]
// BUFFERS: pp.gemm %arg0, %arg1 into %{{.*}}
// BUFFERS-NOT: accumulate,
// BUFFERS: pp.begin 1 all_reduce
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">}
pp.task forward stage 0 @summed(%x: tensor<4x8xbf16>, %w: tensor<8x8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>, tensor<16xf32>) {
  %0 = pp.matmul %x, %w : tensor<4x8xbf16>, tensor<8x8xbf16>
  %1 = pp.cast %0 : tensor<4x8xbf16> to tensor<4x8xf32>
  %2 = pp.all_reduce %1 over <["tp"]> "a" : tensor<4x8xf32> to tensor<4x8xf32>
  %3 = pp.matmul %x, %w {transpose_rhs} : tensor<4x8xbf16>, tensor<8x8xbf16>
  %4 = pp.cast %3 : tensor<4x8xbf16> to tensor<4x8xf32>
  %5 = pp.all_reduce %4 over <["tp"]> "b" : tensor<4x8xf32> to tensor<4x8xf32>
  %6 = pp.matmul %x, %w : tensor<4x8xbf16>, tensor<8x8xbf16>
  %7 = pp.cast %6 : tensor<4x8xbf16> to tensor<4x8xf32>
  %8 = pp.reshape %7 : tensor<4x8xf32> to tensor<32xf32>
  %9 = pp.reduce_scatter %8 over <["tp"]> "c" : tensor<32xf32> to tensor<16xf32>
  pp.return %2, %5, %3, %9 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xbf16>, tensor<16xf32>
}
