// RUN: ppopt opt %s --pp-emit-cuda-matmuls | FileCheck %s

// The emitter decides nothing: each kernel is another than --pp-plan-cuda-matmuls would choose. Two matmuls with one kernel are one function.
// CHECK: module @device attributes {dlti.dl_spec = #dlti.dl_spec<index = 32 : i64>}
// CHECK-NEXT: llvm.mlir.global external @ppopt_shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>

// Of 64 threads each has 4 x 2 of a tile of 16 x 32. It loads 2 x 16 elements of A one by one, and 8 x 4 of B, which it transposes: 4 stores. A barrier
// follows the first tiles and, in the loop, the next ones. The rows of C are written by two columns.
// CHECK: llvm.func @plain(%{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}, %{{.*}}: !llvm.ptr {llvm.noalias}) attributes {nvvm.kernel, nvvm.minctasm = {{[0-9]+}} : i32, nvvm.reqntid = array<i32: 64>}
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK: nvvm.barrier0
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-128: math.fma
// CHECK-NOT: math.fma
// CHECK: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr
// CHECK: llvm.return
func.func @plain_matmul(%a: memref<16x64xf32>, %b: memref<32x64xf32>, %c: memref<16x32xf32>) {
  pp.gemm %a, %b into %c {m = 16 : i64, n = 32 : i64, k = 64 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 64, 1>, b_strides = array<i64: 0, 0, 1, 64>,
      c_strides = array<i64: 0, 0, 32, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64,
      kernel = #pp.matmul_kernel<@plain, 1 of 64 threads, tile 16x32x16, part 4x2, a 1 along k, b 4 along k, c 2, 7168 shared>} : memref<16x64xf32>, memref<32x64xf32>, memref<16x32xf32>
  pp.gemm %a, %b into %c {m = 16 : i64, n = 32 : i64, k = 64 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 64, 1>, b_strides = array<i64: 0, 0, 1, 64>,
      c_strides = array<i64: 0, 0, 32, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64,
      kernel = #pp.matmul_kernel<@plain, 1 of 64 threads, tile 16x32x16, part 4x2, a 1 along k, b 4 along k, c 2, 7168 shared>} : memref<16x64xf32>, memref<32x64xf32>, memref<16x32xf32>
  return
}

// The sums of 16 terms are added to C, except the first.
// CHECK: llvm.func @sums(
// CHECK: scf.for %[[FIRST:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK: scf.for
// CHECK: math.fma
// CHECK: %[[IS_NEXT:.*]] = arith.cmpi ult, %{{.*}}, %[[FIRST]]
// CHECK: scf.if %[[IS_NEXT]] -> (f64)
// CHECK-NEXT: llvm.load
// CHECK-NEXT: arith.addf
// CHECK: llvm.return
func.func @sums_matmul(%a: memref<16x64xf64>, %c: memref<16x16xf64>) {
  pp.gemm %a, %a into %c {m = 16 : i64, n = 16 : i64, k = 64 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 64, 1>, b_strides = array<i64: 0, 0, 1, 64>,
      c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64,
      kernel = #pp.matmul_kernel<@sums, 1 of 256 threads, tile 16x16x8, part 1x1, a 2 along k, b 2 along k, c 1, 4608 shared, sums of 16>} : memref<16x64xf64>, memref<16x64xf64>, memref<16x16xf64>
  return
}

// A warp has 32 x 16 of bf16: of 16 terms two matrices of A, as they lie, and one of two columns of B, transposed. C is f32, and added to.
// CHECK: llvm.func @tensor(
// CHECK-SAME: nvvm.reqntid = array<i32: 64>
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xi32>
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-2: nvvm.ldmatrix %{{.*}} {eltType = {{.*}}b16{{.*}}, layout = #nvvm.mma_layout<row>, num = 4 : i32
// CHECK: nvvm.ldmatrix %{{.*}} {eltType = {{.*}}b16{{.*}}, layout = #nvvm.mma_layout<col>, num = 4 : i32
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: %[[OLD:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<2xf32>
// CHECK: %[[EACH:.*]] = llvm.extractelement %[[OLD]]
// CHECK-NEXT: arith.addf %[[EACH]]
// CHECK: llvm.return
func.func @tensor_matmul(%a: memref<64x64xbf16>, %b: memref<64x16xbf16>, %c: memref<64x16xf32>) {
  pp.gemm %a, %b into %c {m = 64 : i64, n = 16 : i64, k = 64 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 64, 1>, b_strides = array<i64: 0, 0, 16, 1>,
      c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64, accumulate,
      kernel = #pp.matmul_kernel<@tensor, 1 of 64 threads, tile 64x16x16, part 32x16, a 8 along k, b 8 along n, c 2, 7680 shared>} : memref<64x64xbf16>, memref<64x16xbf16>, memref<64x16xf32>
  return
}

// An offset into A may reach 2^31.
// CHECK: module @device_wide attributes {dlti.dl_spec = #dlti.dl_spec<index = 64 : i64>}
// CHECK: llvm.func @wide(
func.func @wide_matmul(%a: memref<65536x32768xbf16>, %b: memref<32768x16xbf16>, %c: memref<65536x16xbf16>) {
  pp.gemm %a, %b into %c {m = 65536 : i64, n = 16 : i64, k = 32768 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 32768, 1>, b_strides = array<i64: 0, 0, 16, 1>,
      c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64,
      kernel = #pp.matmul_kernel<@wide, 1024 of 64 threads, tile 64x16x16, part 32x16, a 8 along k, b 8 along n, c 2, 7680 shared>}
      : memref<65536x32768xbf16>, memref<32768x16xbf16>, memref<65536x16xbf16>
  return
}
