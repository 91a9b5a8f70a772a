// RUN: ppopt opt %s --pp-plan-cuda-matmuls --split-input-file --verify-diagnostics

pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", matmul = "generated", target = #pp.target<"cuda", threads = 1, cpu = "x86-64", features = "">}
func.func @many(%a: memref<1xf32>, %b: memref<1xf32>, %c: memref<1048576x1048576xf32>) {
  // expected-error@+1 {{'pp.gemm' op has 1099511627776 tiles, more than a launch has blocks; use more microbatches}}
  pp.gemm %a, %b into %c {m = 134217728 : i64, n = 134217728 : i64, k = 1 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 0, 0>, b_strides = array<i64: 0, 0, 0, 0>,
      c_strides = array<i64: 0, 0, 134217728, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64} : memref<1xf32>, memref<1xf32>, memref<1048576x1048576xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cuda", threads = 1, cpu = "x86-64", features = "">}
func.func @other(%a: memref<64x64xf32>) {
  // expected-error@+1 {{'pp.gemm' op has a kernel of 3 blocks, and its C has 4 tiles}}
  pp.gemm %a, %a into %a {m = 64 : i64, n = 64 : i64, k = 64 : i64, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 64, 1>, b_strides = array<i64: 0, 0, 64, 1>,
      c_strides = array<i64: 0, 0, 64, 1>, a_offset = 0 : i64, b_offset = 0 : i64, c_offset = 0 : i64,
      kernel = #pp.matmul_kernel<@m, 3 of 128 threads, tile 32x32x8, part 2x4, a 4 along k, b 4 along n, c 4, 4608 shared>} : memref<64x64xf32>, memref<64x64xf32>, memref<64x64xf32>
  return
}

// -----

// expected-error@+1 {{has a size below 1, or one of a tile that is no power of two}}
func.func private @f() attributes {k = #pp.matmul_kernel<@m, 4 of 128 threads, tile 48x32x8, part 2x4, a 4 along k, b 4 along n, c 4, 4608 shared>}

// -----

// expected-error@+1 {{has parts that do not divide a tile}}
func.func private @f() attributes {k = #pp.matmul_kernel<@m, 4 of 128 threads, tile 32x32x8, part 2x4, a 4 along k, b 4 along n, c 4, 4608 shared, sums of 20>}

// -----

// expected-error@+1 {{a tile is of m, n and k, a part of m and n}}
func.func private @f() attributes {k = #pp.matmul_kernel<@m, 4 of 128 threads, tile 32x32, part 2x4, a 4 along k, b 4 along n, c 4, 4608 shared>}

// -----

// expected-error@+1 {{loads an operand along a dimension that it has not}}
func.func private @f() attributes {k = #pp.matmul_kernel<@m, 4 of 128 threads, tile 32x32x8, part 2x4, a 4 along n, b 4 along n, c 4, 4608 shared>}
