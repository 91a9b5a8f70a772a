// RUN: ppopt opt %s --pp-form-kernels --pp-bufferize-tasks --split-input-file --verify-diagnostics | FileCheck %s

// Results are arguments behind the others; a tied one is one argument. The last temporary has the offset of
// the one that is dead by then. The product reads its operand through strides, and writes the result where it is wanted.
// CHECK-LABEL: pp.task forward stage 0 @chain
// CHECK-SAME: (%[[X:.*]]: memref<4x64xf32> {pp.role = #pp.role<input, "x">}, %[[L:.*]]: memref<f32> {pp.role = #pp.role<loss, "loss">}, %[[Y:.*]]: memref<4x64xf32> {pp.role = #pp.role<saved, "y">})
// CHECK-SAME: attributes {temp_bytes = {{[0-9]+}} : i64, workspace_bytes = {{[0-9]+}} : i64}
// CHECK-NEXT: %[[A:.*]] = pp.temp 16384 : memref<4x64xf32>
// CHECK-NEXT: pp.launch @exp_4x64 ins(%[[X]] : memref<4x64xf32>) outs(%[[A]] : memref<4x64xf32>)
// CHECK-NEXT: %[[B:.*]] = pp.temp 0 : memref<64x64xf32>
// CHECK: pp.product %[[A]], %[[A]] into %[[B]] {{.*}}a_strides = array<i64: 0, 0, 1, 64>
// CHECK: pp.product %[[A]], %[[B]] into %[[Y]]
// CHECK: pp.temp 0 : memref<4xf32>
// CHECK-NEXT: pp.launch @reduce_4x64 ins(%[[Y]]
// CHECK: pp.launch @reduce_accumulate_1x4 {{.*}} outs(%[[L]] : memref<f32>) {inplace = array<i64: 1>}
// CHECK: pp.return
// CHECK-NOT: tensor
// CHECK: pp.kernel
pp.task forward stage 0 @chain(%x: tensor<4x64xf32> {pp.role = #pp.role<input, "x">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">})
    -> (tensor<4x64xf32> {pp.role = #pp.role<saved, "y">}, tensor<f32> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.exp %x : tensor<4x64xf32>
  %1 = pp.matmul %0, %0 {transpose_lhs} : tensor<4x64xf32>, tensor<4x64xf32>
  %2 = pp.matmul %0, %1 : tensor<4x64xf32>, tensor<64x64xf32>
  %3 = pp.reduce sum %2 [0, 1] : tensor<4x64xf32>
  %4 = pp.accumulate %l, %3 : tensor<f32>
  pp.return %2, %4 : tensor<4x64xf32>, tensor<f32>
}

// -----

// A product accumulates where its result is added to a gradient; a reshape is the same buffer; an argument that is returned is
// copied.
// CHECK-LABEL: pp.task backward stage 0 @accumulate
// CHECK: memref.reinterpret_cast %arg0 {{.*}} to memref<8x16xf32>
// CHECK: pp.product {{.*}} into %arg2 {{.*}}accumulate
// CHECK: pp.launch @copy_4x32 ins(%arg1 : memref<4x32xf32>) outs(%arg3 : memref<4x32xf32>)
pp.task backward stage 0 @accumulate(%x: tensor<2x4x16xf32> {pp.role = #pp.role<saved, "x">}, %y: tensor<4x32xf32> {pp.role = #pp.role<saved, "y">},
    %g: tensor<16x16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16x16xf32> {pp.role = #pp.role<grad, "w">}, tensor<4x32xf32> {pp.role = #pp.role<saved, "z">}) {
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
