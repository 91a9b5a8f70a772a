// RUN: ppopt opt %s --pp-widen-cuda-matmuls | FileCheck %s
// RUN: ppopt opt %s --pp-widen-cuda-matmuls --pp-form-kernels | FileCheck %s --check-prefix=FUSED
// RUN: sed 's/matmul = "library"/matmul = "generated"/' %s | ppopt opt --pp-widen-cuda-matmuls | FileCheck %s --check-prefix=GENERATED

// GENERATED-NOT: pp.zeros

module attributes {pp.thresholds = {"gpu-split-products" = 300 : i64}} {
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", matmul = "library",
         target = #pp.target<"cuda", threads = 1, cpu = "x86-64", features = "", gpu = "sm_80">}

// Nine terms are contiguous in the left operand: the product is added to zeros in f32, in their memory.
// CHECK-LABEL: pp.task forward stage 0 @odd
// CHECK: %[[Z:.*]] = pp.zeros : tensor<4x10xf32>
// CHECK-NEXT: %[[M:.*]] = pp.matmul %arg0, %arg1
// CHECK-NEXT: %[[W:.*]] = pp.cast %[[M]] : tensor<4x10xbf16> to tensor<4x10xf32>
// CHECK-NEXT: %[[S:.*]] = pp.accumulate %[[Z]], %[[W]]
// CHECK-NEXT: %[[N:.*]] = pp.cast %[[S]] : tensor<4x10xf32> to tensor<4x10xbf16>
// CHECK-NEXT: pp.return %[[N]]
// FUSED-LABEL: pp.task forward stage 0 @odd
// FUSED: %[[Z:.*]] = pp.launch @zeros_4x10
// FUSED: %[[M:.*]] = pp.matmul
// FUSED: %[[W:.*]] = pp.cast %[[M]]
// FUSED: %[[S:.*]] = pp.accumulate %[[Z]], %[[W]]
// FUSED: pp.launch @cast_4x10 ins(%[[S]] : tensor<4x10xf32>)
pp.task forward stage 0 @odd(%x: tensor<4x9xbf16>, %w: tensor<9x10xbf16>) -> tensor<4x10xbf16> {
  %0 = pp.matmul %x, %w : tensor<4x9xbf16>, tensor<9x10xbf16>
  pp.return %0 : tensor<4x10xbf16>
}

// Eight terms are 16 bytes.
// CHECK-LABEL: pp.task forward stage 0 @even
// CHECK-NOT: pp.zeros
pp.task forward stage 0 @even(%x: tensor<5x8xbf16>, %w: tensor<8x10xbf16>) -> tensor<5x10xbf16> {
  %0 = pp.matmul %x, %w : tensor<5x8xbf16>, tensor<8x10xbf16>
  pp.return %0 : tensor<5x10xbf16>
}

// Terms are contiguous in neither operand.
// CHECK-LABEL: pp.task forward stage 0 @across
// CHECK-NOT: pp.zeros
pp.task forward stage 0 @across(%x: tensor<9x4xbf16>, %w: tensor<9x10xbf16>) -> tensor<4x10xbf16> {
  %0 = pp.matmul %x, %w {transpose_lhs} : tensor<9x4xbf16>, tensor<9x10xbf16>
  pp.return %0 : tensor<4x10xbf16>
}

// Fewer products than the threshold.
// CHECK-LABEL: pp.task forward stage 0 @small
// CHECK-NOT: pp.zeros
pp.task forward stage 0 @small(%x: tensor<3x9xbf16>, %w: tensor<9x10xbf16>) -> tensor<3x10xbf16> {
  %0 = pp.matmul %x, %w : tensor<3x9xbf16>, tensor<9x10xbf16>
  pp.return %0 : tensor<3x10xbf16>
}

// What is accumulated is added in f32 already.
// CHECK-LABEL: pp.task backward stage 0 @accumulated
// CHECK-NOT: pp.zeros
pp.task backward stage 0 @accumulated(%x: tensor<4x9xbf16>, %w: tensor<9x10xbf16>, %g: tensor<4x10xf32> {pp.role = #pp.role<grad, "g">})
    -> (tensor<4x10xf32> {pp.role = #pp.role<grad, "g">}) {
  %0 = pp.matmul %x, %w : tensor<4x9xbf16>, tensor<9x10xbf16>
  %1 = pp.cast %0 : tensor<4x10xbf16> to tensor<4x10xf32>
  %2 = pp.accumulate %g, %1 : tensor<4x10xf32>
  pp.return %2 : tensor<4x10xf32>
}
}
