// RUN: ppopt opt %s --pp-plan-kernels=vector-bytes=64 --pp-emit-kernels=vector-bytes=64 | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: ppopt opt %s --pp-plan-kernels=vector-bytes=32 --pp-emit-kernels=vector-bytes=32 | FileCheck %s --check-prefixes=CHECK,NARROW

pp.task forward stage 0 @launches(%x: memref<2x300x9x64xf32> {pp.role = #pp.role<input, "x">}, %o: memref<2x300x3x64xf32>,
    %lse: memref<2x3x300x2xf32>, %q: memref<2x3x300x64xf64>,
    %l: memref<2x3x300x2xf64>, %d: memref<2x3x300x64xf64>) {
  pp.launch @forward ins(%x : memref<2x300x9x64xf32>) outs(%lse, %o : memref<2x3x300x2xf32>, memref<2x300x3x64xf32>) {inplace = array<i64: -1, -1>}
  pp.launch @backward ins(%q, %l : memref<2x3x300x64xf64>, memref<2x3x300x2xf64>) outs(%d, %d, %d : memref<2x3x300x64xf64>, memref<2x3x300x64xf64>, memref<2x3x300x64xf64>) {inplace = array<i64: -1, -1, -1>}
  pp.return
}

// Scratch memory: of 256 queries q, the output, the maximum and the sum; of 64 keys k, kᵀ and v; of 16 queries scores, maxima and
// factors.
// CHECK-LABEL: llvm.func internal @forward_loops
// CHECK-COUNT-10: llvm.alloca %{{.*}} x f32 {alignment = 64 : i64}
// CHECK-NOT: llvm.alloca
// The head's place in the projection: 300 rows of 9 · 64, heads of 64; rows of queries are 576 apart.
// CHECK: scf.for
// CHECK: arith.constant 172800 : index
// CHECK: arith.constant 576 : index
// WIDE: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// NARROW: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<8xf32>
// Keys up to the last query of the run.
// CHECK: arith.minsi
// A matmul's sums are in registers over all of k: 4 rows × 4 vectors, or × 2.
// WIDE: scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// NARROW: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
// In f32, powers of 2.
// CHECK: arith.shli
// CHECK: math.log
pp.kernel @forward(%x: tensor<2x300x9x64xf32>) -> (tensor<2x3x300x2xf32>, tensor<2x300x3x64xf32>)
    attributes {form = #pp.form<attention 2x3x300x64>} {
  %t = pp.transpose %x [0, 2, 1, 3] : tensor<2x300x9x64xf32>
  %q = pp.slice %t [0, 0, 0, 0] : tensor<2x9x300x64xf32> to tensor<2x3x300x64xf32>
  %k = pp.slice %t [0, 3, 0, 0] : tensor<2x9x300x64xf32> to tensor<2x3x300x64xf32>
  %v = pp.slice %t [0, 6, 0, 0] : tensor<2x9x300x64xf32> to tensor<2x3x300x64xf32>
  %o, %lse = pp.attention %q, %k, %v {causal} : tensor<2x3x300x64xf32>, tensor<2x3x300x64xf32>, tensor<2x3x300x64xf32>
  %ot = pp.transpose %o [0, 2, 1, 3] : tensor<2x3x300x64xf32>
  pp.return %lse, %ot : tensor<2x3x300x2xf32>, tensor<2x300x3x64xf32>
}

// CHECK-LABEL: llvm.func internal @backward_loops
// CHECK-COUNT-13: llvm.alloca %{{.*}} x f64 {alignment = 64 : i64}
// CHECK-NOT: llvm.alloca
// WIDE: vector<8xf64>
// NARROW: vector<4xf64>
// CHECK: math.exp
pp.kernel @backward(%q: tensor<2x3x300x64xf64>, %lse: tensor<2x3x300x2xf64>) -> (tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>)
    attributes {form = #pp.form<attention_grad 2x3x300x64>} {
  %dq, %dk, %dv = pp.attention_grad %q, %q, %q, %q, %lse, %q : tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x2xf64>
  pp.return %dq, %dk, %dv : tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>, tensor<2x3x300x64xf64>
}
