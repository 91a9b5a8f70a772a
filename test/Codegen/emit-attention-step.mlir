// RUN: ppopt opt %s --pp-form-kernels --pp-bufferize-tasks | FileCheck %s --check-prefix=BUFFERS
// RUN: ppopt opt %s --pp-form-kernels --pp-plan-kernels=vector-bytes=64 --pp-bufferize-tasks --pp-emit-kernels=vector-bytes=64 | FileCheck %s

// The caches are written where they lie: nothing is copied, and one pointer reads and writes each.
// BUFFERS-LABEL: pp.task forward stage 0 @generate
// BUFFERS: pp.launch @attention_step_1x3x1x20 ins(%{{.*}}, %{{.*}}, %[[K:arg[0-9]+]], %[[V:arg[0-9]+]], %arg1 :
// BUFFERS-SAME: outs(%{{.*}}, %[[K]], %[[V]] :
// BUFFERS-NOT: pp.launch
// BUFFERS: pp.return

// q, the output, the scores of a block, by lanes their maximum and the sum.
// CHECK-LABEL: llvm.func internal @attention_step_1x3x1x20_loops
// CHECK-COUNT-5: llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK-NOT: llvm.alloca
// The position; then heads, blocks of keys, keys as many as a vector has elements.
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> i64
// CHECK: scf.for
// 20 columns are a vector and four elements of a second.
// CHECK: llvm.intr.masked.load
// CHECK: vector.reduction <maximumf>
// CHECK: arith.shli
// Values are summed in registers.
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>) {
pp.task forward stage 0 @generate(%x: tensor<1x9x1x20xf32> {pp.role = #pp.role<input, "x">}, %at: tensor<1xi64> {pp.role = #pp.role<input, "position">},
    %k: tensor<1x3x9000x20xf32> {pp.role = #pp.role<cache, "cache0">}, %v: tensor<1x3x9000x20xf32> {pp.role = #pp.role<cache, "cache1">})
    -> (tensor<1x3x1x20xf32> {pp.role = #pp.role<output, "logits">}, tensor<1x3x9000x20xf32> {pp.role = #pp.role<cache, "cache0">},
        tensor<1x3x9000x20xf32> {pp.role = #pp.role<cache, "cache1">}) {
  %0 = pp.slice %x [0, 0, 0, 0] : tensor<1x9x1x20xf32> to tensor<1x3x1x20xf32>
  %1 = pp.slice %x [0, 3, 0, 0] : tensor<1x9x1x20xf32> to tensor<1x3x1x20xf32>
  %2 = pp.slice %x [0, 6, 0, 0] : tensor<1x9x1x20xf32> to tensor<1x3x1x20xf32>
  %o, %ka, %va = pp.attention_step %0, %1, %2 cache %k, %v at %at {scale = 0.5 : f64} : tensor<1x3x1x20xf32>, tensor<1x3x1x20xf32>, tensor<1x3x1x20xf32>, tensor<1x3x9000x20xf32>, tensor<1x3x9000x20xf32>, tensor<1xi64>
  pp.return %o, %ka, %va : tensor<1x3x1x20xf32>, tensor<1x3x9000x20xf32>, tensor<1x3x9000x20xf32>
}
