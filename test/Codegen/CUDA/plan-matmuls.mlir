// RUN: ppopt opt %s --pp-plan-cuda-matmuls | FileCheck %s

pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", matmul = "generated",
         target = #pp.target<"cuda", threads = 1, cpu = "x86-64", features = "", gpu = "sm_80">}

// A large matmul of bf16: the tile is that of the thresholds. Operands are loaded by 16 bytes along the dimension in which they are contiguous, which
// decides how they lie in shared memory.
// CHECK-LABEL: func.func @large(
// CHECK: kernel = #pp.matmul_kernel<@matmul_8192x3072x768_bf16, 1536 of 256 threads, tile 128x128x32, part 64x32, a 8 along k, b 8 along k, c 2, 40960 shared>
func.func @large(%a: memref<6291456xbf16>, %b: memref<2359296xbf16>, %c: memref<25165824xbf16>) {
  pp.gemm %a, %b into %c {m = 8192 : i64, n = 3072 : i64, k = 768 : i64, a_strides = array<i64: 6291456, 6291456, 768, 1>, a_offset = 0 : i64, b_strides = array<i64: 2359296, 2359296, 1, 768>, b_offset = 0 : i64, c_strides = array<i64: 25165824, 25165824, 3072, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>} : memref<6291456xbf16>, memref<2359296xbf16>, memref<25165824xbf16>
  return
}

// C has 36 tiles of 128 x 128, too few for a GPU. A sum of bf16 operands is one chain, however long.
// CHECK-LABEL: func.func @few(
// CHECK: kernel = #pp.matmul_kernel<@matmul_768x768x8192_bf16_acc, 144 of 128 threads, tile 64x64x32, part 32x32, a 8 along m, b 8 along n, c 2, 18432 shared>
func.func @few(%a: memref<6291456xbf16>, %b: memref<6291456xbf16>, %c: memref<589824xf32>) {
  pp.gemm %a, %b into %c {m = 768 : i64, n = 768 : i64, k = 8192 : i64, a_strides = array<i64: 6291456, 6291456, 1, 768>, a_offset = 0 : i64, b_strides = array<i64: 6291456, 6291456, 768, 1>, b_offset = 0 : i64, c_strides = array<i64: 589824, 589824, 768, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>, accumulate} : memref<6291456xbf16>, memref<6291456xbf16>, memref<589824xf32>
  return
}

// In f32 a sum ends after 1,024 terms.
// CHECK-LABEL: func.func @sums(
// CHECK: kernel = #pp.matmul_kernel<@matmul_4096x4096x3072_f32, 1024 of 256 threads, tile 128x128x8, part 8x8, a 4 along k, b 4 along n, c 4, 16896 shared, sums of 1024>
func.func @sums(%a: memref<12582912xf32>, %b: memref<12582912xf32>, %c: memref<16777216xf32>) {
  pp.gemm %a, %b into %c {m = 4096 : i64, n = 4096 : i64, k = 3072 : i64, a_strides = array<i64: 12582912, 12582912, 3072, 1>, a_offset = 0 : i64, b_strides = array<i64: 12582912, 12582912, 4096, 1>, b_offset = 0 : i64, c_strides = array<i64: 16777216, 16777216, 4096, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>} : memref<12582912xf32>, memref<12582912xf32>, memref<16777216xf32>
  return
}

// Tiles of f64 are half as high and wide.
// CHECK-LABEL: func.func @long(
// CHECK: kernel = #pp.matmul_kernel<@matmul_4096x4096x1024_f64, 4096 of 256 threads, tile 64x64x8, part 4x4, a 2 along k, b 2 along n, c 2, 16896 shared>
func.func @long(%a: memref<4194304xf64>, %b: memref<4194304xf64>, %c: memref<16777216xf64>) {
  pp.gemm %a, %b into %c {m = 4096 : i64, n = 4096 : i64, k = 1024 : i64, a_strides = array<i64: 4194304, 4194304, 1024, 1>, a_offset = 0 : i64, b_strides = array<i64: 4194304, 4194304, 4096, 1>, b_offset = 0 : i64, c_strides = array<i64: 16777216, 16777216, 4096, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>} : memref<4194304xf64>, memref<4194304xf64>, memref<16777216xf64>
  return
}

// Rows of 33 elements are not aligned.
// CHECK-LABEL: func.func @odd(
// CHECK: kernel = #pp.matmul_kernel<@matmul_31x129x33_f32, 5 of 128 threads, tile 32x32x8, part 2x4, a 1 along k, b 1 along n, c 1, 4608 shared>
func.func @odd(%a: memref<1023xf32>, %b: memref<4257xf32>, %c: memref<3999xf32>) {
  pp.gemm %a, %b into %c {m = 31 : i64, n = 129 : i64, k = 33 : i64, a_strides = array<i64: 1023, 1023, 33, 1>, a_offset = 0 : i64, b_strides = array<i64: 4257, 4257, 129, 1>, b_offset = 0 : i64, c_strides = array<i64: 3999, 3999, 129, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>} : memref<1023xf32>, memref<4257xf32>, memref<3999xf32>
  return
}

// Neither rows nor columns of A are contiguous; B is one row for all terms. Neighbouring threads have those elements that are closest.
// CHECK-LABEL: func.func @strided(
// CHECK: kernel = #pp.matmul_kernel<@matmul_64x64x64_f32, 4 of 128 threads, tile 32x32x8, part 2x4, a 1 along k, b 4 along n, c 4, 4608 shared>
func.func @strided(%a: memref<24319xf32>, %b: memref<64xf32>, %c: memref<4096xf32>) {
  pp.gemm %a, %b into %c {m = 64 : i64, n = 64 : i64, k = 64 : i64, a_strides = array<i64: 24319, 24319, 384, 2>, a_offset = 0 : i64, b_strides = array<i64: 64, 64, 0, 1>, b_offset = 0 : i64, c_strides = array<i64: 4096, 4096, 64, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>} : memref<24319xf32>, memref<64xf32>, memref<4096xf32>
  return
}

// The same matmul again shares the kernel; one whose operands begin at another element cannot.
// CHECK-LABEL: func.func @again(
// CHECK: kernel = #pp.matmul_kernel<@matmul_64x64x64_f32, 
// CHECK-LABEL: func.func @offset(
// CHECK: kernel = #pp.matmul_kernel<@matmul_64x64x64_f32_1, 4 of 128 threads, tile 32x32x8, part 2x4, a 1 along k, b 1 along n, c 1, 4608 shared>
func.func @again(%a: memref<24319xf32>, %b: memref<64xf32>, %c: memref<4096xf32>) {
  pp.gemm %a, %b into %c {m = 64 : i64, n = 64 : i64, k = 64 : i64, a_strides = array<i64: 24319, 24319, 384, 2>, a_offset = 0 : i64, b_strides = array<i64: 64, 64, 0, 1>, b_offset = 0 : i64, c_strides = array<i64: 4096, 4096, 64, 1>, c_offset = 0 : i64, batch = array<i64: 1, 1>} : memref<24319xf32>, memref<64xf32>, memref<4096xf32>
  return
}
func.func @offset(%a: memref<24320xf32>, %b: memref<65xf32>, %c: memref<4097xf32>) {
  pp.gemm %a, %b into %c {m = 64 : i64, n = 64 : i64, k = 64 : i64, a_strides = array<i64: 24319, 24319, 384, 2>, a_offset = 1 : i64, b_strides = array<i64: 64, 64, 0, 1>, b_offset = 1 : i64, c_strides = array<i64: 4096, 4096, 64, 1>, c_offset = 1 : i64, batch = array<i64: 1, 1>} : memref<24320xf32>, memref<65xf32>, memref<4097xf32>
  return
}
