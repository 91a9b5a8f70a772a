// RUN: ppopt opt %s --pp-form-kernels | FileCheck %s
// RUN: ppopt opt %s --pp-form-kernels --pp-plan-kernels --pp-bufferize-tasks | FileCheck %s --check-prefix=BUFFERS

// The library adds products of bf16 to f32, and no others to a wider type: those are cast and added by a kernel. A sum of them stays one addition.
// CHECK-LABEL: pp.task backward stage 0 @wide
// CHECK: %[[N:.*]] = pp.matmul %{{.*}}, %{{.*}} {transpose_lhs} : tensor<4x8xbf16>, tensor<4x8xbf16>
// CHECK-NEXT: %[[W:.*]] = pp.cast %[[N]]
// CHECK-NEXT: pp.accumulate %{{.*}}, %[[W]] : tensor<8x8xf32>
// CHECK: %[[A:.*]] = pp.matmul %{{.*}}, %{{.*}} {transpose_lhs} : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT: %[[B:.*]] = pp.matmul %{{.*}}, %{{.*}} {transpose_lhs} : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT: pp.launch @add_cast_accumulate_{{.*}} ins(%[[A]], %[[B]], %{{.*}} : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf64>) outs() {inplace = array<i64: 2>} -> tensor<8x8xf64>
// The workspace is the library's, and depends on this machine.
// BUFFERS: pp.gemm %arg2, %arg2 into %arg3 {{.*}} accumulate,
// BUFFERS: pp.gemm %arg0, %arg1 into %
// BUFFERS-NOT: accumulate,
// BUFFERS: pp.gemm %arg1, %arg0 into %
pp.task backward stage 0 @wide(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %n: tensor<4x8xbf16>,
    %f: tensor<8x8xf32> {pp.role = #pp.role<grad, "f">}, %d: tensor<8x8xf64> {pp.role = #pp.role<grad, "d">}) -> (tensor<8x8xf32> {pp.role = #pp.role<grad, "f">}, tensor<8x8xf64> {pp.role = #pp.role<grad, "d">}) {
  %0 = pp.matmul %n, %n {transpose_lhs} : tensor<4x8xbf16>, tensor<4x8xbf16>
  %1 = pp.cast %0 : tensor<8x8xbf16> to tensor<8x8xf32>
  %2 = pp.accumulate %f, %1 : tensor<8x8xf32>
  %3 = pp.matmul %x, %y {transpose_lhs} : tensor<4x8xf32>, tensor<4x8xf32>
  %4 = pp.matmul %y, %x {transpose_lhs} : tensor<4x8xf32>, tensor<4x8xf32>
  %5 = pp.add %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>
  %6 = pp.cast %5 : tensor<8x8xf32> to tensor<8x8xf64>
  %7 = pp.accumulate %d, %6 : tensor<8x8xf64>
  pp.return %2, %7 : tensor<8x8xf32>, tensor<8x8xf64>
}

// Each part of a sum is added where it is computed: what it is computed from may go.
// CHECK-LABEL: pp.task backward stage 0 @parts
// CHECK: pp.launch @gelu{{.*}}ins(%{{.*}} : tensor<4x8xbf16>)
// CHECK: %[[A:.*]] = pp.matmul
// CHECK: %[[WA:.*]] = pp.cast %[[A]]
// CHECK-NEXT: %[[FIRST:.*]] = pp.accumulate %{{.*}}, %[[WA]] : tensor<8x8xf32>
// CHECK: pp.launch @gelu
// CHECK: %[[B:.*]] = pp.matmul
// CHECK: %[[WB:.*]] = pp.cast %[[B]]
// CHECK-NEXT: pp.accumulate %[[FIRST]], %[[WB]] : tensor<8x8xf32>
pp.task backward stage 0 @parts(%n: tensor<4x8xbf16>, %m: tensor<4x8xbf16>, %f: tensor<8x8xf32> {pp.role = #pp.role<grad, "f">})
    -> (tensor<8x8xf32> {pp.role = #pp.role<grad, "f">}) {
  %x = pp.gelu %n : tensor<4x8xbf16>
  %0 = pp.matmul %x, %m {transpose_lhs} : tensor<4x8xbf16>, tensor<4x8xbf16>
  %y = pp.gelu %m : tensor<4x8xbf16>
  %1 = pp.matmul %y, %n {transpose_lhs} : tensor<4x8xbf16>, tensor<4x8xbf16>
  %2 = pp.add %0, %1 : tensor<8x8xbf16>, tensor<8x8xbf16>
  %3 = pp.cast %2 : tensor<8x8xbf16> to tensor<8x8xf32>
  %4 = pp.accumulate %f, %3 : tensor<8x8xf32>
  pp.return %4 : tensor<8x8xf32>
}
