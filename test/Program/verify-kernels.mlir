// RUN: ppopt opt %s --pp-verify-kernels --split-input-file --verify-diagnostics

pp.region <step_state> at 0 bytes 128
pp.region <loss> at 128 bytes 64
pp.region <step_state> at 0 bytes 128 {place = 1 : i64}
pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) attributes {temp_bytes = 64 : i64} {
  %0 = pp.temp 0 : memref<16xf32>
  pp.return
}

// -----

pp.region <step_state> at 0 bytes 128
// expected-error @+1 {{begins at 192, but the one before ends at 128}}
pp.region <loss> at 192 bytes 64

// -----

// expected-error @+1 {{is of 100 bytes, not a multiple of 64}}
pp.region <step_state> at 0 bytes 100

// -----

pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) attributes {temp_bytes = 64 : i64} {
  // expected-error @+1 {{ends at byte 68 of @F's 64, or is not aligned to 64}}
  %0 = pp.temp 0 : memref<17xf32>
  pp.return
}

// -----

pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @+1 {{is not a launch, matmul, collective or view: a task of phase kernels neither allocates nor copies}}
  %0 = memref.alloc() : memref<16xf32>
  pp.return
}

// -----

// A range that lies in the memory of others counts for no other; it must be theirs.
pp.region <slots> at 0 bytes 128
pp.region <scratch of <grads, "b0">> at 64 bytes 64 {pp.overlaid}
pp.region <scratch of <loss>> at 128 bytes 64
// expected-error @+1 {{is overlaid and ends at 256, but the regions before it end at 192}}
pp.region <scratch of <grads, "b1">> at 128 bytes 128 {pp.overlaid}

// -----

pp.task forward stage 0 @F(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}, %s: memref<32xf32>) attributes {temp_bytes = 0 : i64} {
  %0 = memref.reinterpret_cast %s to offset: [16], sizes: [4, 4], strides: [4, 1] : memref<32xf32> to memref<4x4xf32, strided<[4, 1], offset: 16>>
  // expected-error @+1 {{ends at byte 192 of a buffer of 128}}
  %1 = memref.reinterpret_cast %s to offset: [32], sizes: [4, 4], strides: [4, 1] : memref<32xf32> to memref<4x4xf32, strided<[4, 1], offset: 32>>
  pp.return
}

// -----

// What is allowed: parts of a temporary, each written once, then read as a whole; an accumulating matmul; a kernel in place; another temporary where one has
// been read for the last time; an argument that lends its room before it is written.

pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.relu %x : tensor<4x16xf32>
  pp.return %0 : tensor<4x16xf32>
}
pp.kernel @relu8(%x: tensor<8x16xf32>) -> (tensor<8x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 8x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.relu %x : tensor<8x16xf32>
  pp.return %0 : tensor<8x16xf32>
}
pp.task forward stage 0 @allowed(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<8x16xf32>,
    %g: memref<16x16xf32> {pp.role = #pp.role<grad, "w">}) attributes {temp_bytes = 1024 : i64} {
  %lent = memref.reinterpret_cast %s to offset: [64], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32, strided<[16, 1], offset: 64>>
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%lent : memref<4x16xf32, strided<[16, 1], offset: 64>>) {inplace = array<i64: -1>}
  %t = pp.temp 0 : memref<8x16xf32>
  %0 = memref.reinterpret_cast %t to offset: [0], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32>
  %1 = memref.reinterpret_cast %t to offset: [64], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32, strided<[16, 1], offset: 64>>
  pp.launch @relu ins(%lent : memref<4x16xf32, strided<[16, 1], offset: 64>>) outs(%0 : memref<4x16xf32>) {inplace = array<i64: -1>}
  pp.launch @relu ins(%0 : memref<4x16xf32>) outs(%1 : memref<4x16xf32, strided<[16, 1], offset: 64>>) {inplace = array<i64: -1>}
  pp.launch @relu8 ins(%t : memref<8x16xf32>) outs(%s : memref<8x16xf32>) {inplace = array<i64: -1>}
  pp.gemm %t, %t into %g {m = 16, n = 16, k = 8, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 1, 16>, b_strides = array<i64: 0, 0, 16, 1>,
    c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0, b_offset = 0, c_offset = 0, accumulate} : memref<8x16xf32>, memref<8x16xf32>, memref<16x16xf32>
  %u = pp.temp 256 : memref<4x16xf32>
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%u : memref<4x16xf32>) {inplace = array<i64: -1>}
  pp.launch @relu ins(%u : memref<4x16xf32>) outs(%u : memref<4x16xf32>) {inplace = array<i64: 0>}
  pp.return
}

// -----

// A matmul reads a slice of the value in the room of a result. All of the room is free after that.

pp.kernel @relu(%x: tensor<2x1xf64>) -> (tensor<2x1xf64> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x2>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.relu %x : tensor<2x1xf64>
  pp.return %0 : tensor<2x1xf64>
}
pp.task forward stage 0 @lent_slice(%x: memref<2x1xf64> {pp.role = #pp.role<input, "x">}, %s: memref<2x1xf64>) attributes {temp_bytes = 64 : i64} {
  pp.launch @relu ins(%x : memref<2x1xf64>) outs(%s : memref<2x1xf64>) {inplace = array<i64: -1>}
  %t = pp.temp 0 : memref<1x1xf64>
  pp.gemm %s, %s into %t {m = 1, n = 1, k = 1, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 1, 1>, b_strides = array<i64: 0, 0, 1, 1>,
    c_strides = array<i64: 0, 0, 1, 1>, a_offset = 0, b_offset = 0, c_offset = 0} : memref<2x1xf64>, memref<2x1xf64>, memref<1x1xf64>
  pp.launch @relu ins(%x : memref<2x1xf64>) outs(%s : memref<2x1xf64>) {inplace = array<i64: -1>}
  pp.return
}

// -----

// A block is left out.

pp.task forward stage 0 @skipped(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<8x16xf32>) attributes {temp_bytes = 512 : i64} {
  %t = pp.temp 0 : memref<8x16xf32>
  %0 = memref.reinterpret_cast %t to offset: [0], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32>
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%0 : memref<4x16xf32>) {inplace = array<i64: -1>}
  // expected-error @+1 {{reads bytes 256 to 512 of the temporaries, which nothing has written}}
  pp.launch @relu8 ins(%t : memref<8x16xf32>) outs(%s : memref<8x16xf32>) {inplace = array<i64: -1>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}
pp.kernel @relu8(%x: tensor<8x16xf32>) -> (tensor<8x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 8x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<8x16xf32>
}

// -----

// A block of a result is left out.

// expected-error @+1 {{leaves bytes 0 to 256 of argument 1 unwritten, though it writes others}}
pp.task forward stage 0 @skipped_result(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<8x16xf32>) {
  %1 = memref.reinterpret_cast %s to offset: [64], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32, strided<[16, 1], offset: 64>>
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%1 : memref<4x16xf32, strided<[16, 1], offset: 64>>) {inplace = array<i64: -1>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

// A block is written twice, where the offset of the second is wrong.

pp.task forward stage 0 @twice(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<8x16xf32>) {
  %0 = memref.reinterpret_cast %s to offset: [0], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32>
  %1 = memref.reinterpret_cast %s to offset: [48], sizes: [4, 16], strides: [16, 1] : memref<8x16xf32> to memref<4x16xf32, strided<[16, 1], offset: 48>>
  // expected-note @+1 {{the earlier write is here}}
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%0 : memref<4x16xf32>) {inplace = array<i64: -1>}
  // expected-error @+1 {{writes bytes 192 to 256 of argument 1 a second time}}
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%1 : memref<4x16xf32, strided<[16, 1], offset: 48>>) {inplace = array<i64: -1>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

// A value takes the bytes of another that is still read.

pp.task forward stage 0 @overlap(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<4x16xf32>) attributes {temp_bytes = 512 : i64} {
  %t = pp.temp 0 : memref<4x16xf32>
  %u = pp.temp 192 : memref<4x16xf32>
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%t : memref<4x16xf32>) {inplace = array<i64: -1>}
  // expected-note @+1 {{it is written here}}
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%u : memref<4x16xf32>) {inplace = array<i64: -1>}
  // expected-error @+1 {{reads bytes 192 to 256 of the temporaries, which another value has taken}}
  pp.launch @relu ins(%t : memref<4x16xf32>) outs(%s : memref<4x16xf32>) {inplace = array<i64: -1>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

// A result of this task is read before it is made.

pp.task forward stage 0 @before(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<4x16xf32>) attributes {temp_bytes = 256 : i64} {
  %t = pp.temp 0 : memref<4x16xf32>
  // expected-error @+1 {{reads bytes 0 to 256 of the temporaries, which nothing has written}}
  pp.launch @relu ins(%t : memref<4x16xf32>) outs(%s : memref<4x16xf32>) {inplace = array<i64: -1>}
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%t : memref<4x16xf32>) {inplace = array<i64: -1>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

// Buffers of a launch that do not say that they are one.

pp.task forward stage 0 @shared(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}) {
  // expected-error @+1 {{writes bytes 0 to 256 of argument 0, but touches 0 to 256 of the same memory as another operand}}
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%x : memref<4x16xf32>) {inplace = array<i64: -1>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

pp.task forward stage 0 @elsewhere(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %s: memref<4x16xf32>) {
  // expected-error @+1 {{writes result 0 to another buffer than argument 0, which it must overwrite}}
  pp.launch @relu ins(%x : memref<4x16xf32>) outs(%s : memref<4x16xf32>) {inplace = array<i64: 0>}
  pp.return
}
pp.kernel @relu(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

// A matmul whose strides go beyond its operand.

pp.task backward stage 0 @beyond(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %g: memref<16x16xf32> {pp.role = #pp.role<grad, "w">}) {
  // expected-error @+1 {{touches bytes 64 to 320 of argument 0, but its buffer is 0 to 256}}
  pp.gemm %x, %x into %g {m = 16, n = 16, k = 4, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 1, 16>, b_strides = array<i64: 0, 0, 16, 1>,
    c_strides = array<i64: 0, 0, 16, 1>, a_offset = 16, b_offset = 0, c_offset = 0, accumulate} : memref<4x16xf32>, memref<4x16xf32>, memref<16x16xf32>
  pp.return
}

// -----

// expected-error @+1 {{has no form: run --pp-form-kernels}}
pp.kernel @no_form(%x: tensor<4x16xf32>) -> tensor<4x16xf32> {
  pp.return %x : tensor<4x16xf32>
}

// -----

// expected-error @+1 {{has no tiles: run the target's pass that plans kernels}}
pp.kernel @no_tiles(%x: tensor<4x16xf32>) -> (tensor<4x16xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x16>} {
  pp.return %x : tensor<4x16xf32>
}

// -----

// What is in place is read by no later sweep; what a sweep has written is read again where it was written.

pp.kernel @allowed(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}, tensor<4x1xf32>) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  %1 = pp.reduce max %0 [1] {keep_dims, pp.sweep = 0 : i64} : tensor<4x8xf32>
  %2 = pp.sub %0, %1 : tensor<4x8xf32>, tensor<4x1xf32>
  %3 = pp.reduce sum %2 [1] {keep_dims, pp.sweep = 1 : i64} : tensor<4x8xf32>
  pp.return %0, %3 : tensor<4x8xf32>, tensor<4x1xf32>
}
pp.kernel @reads(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {pp.sweep = 0 : i64}, tensor<4x1xf32>) attributes {form = #pp.form<rows 4x8>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.relu %x : tensor<4x8xf32>
  %1 = pp.reduce max %0 [1] {keep_dims, pp.sweep = 0 : i64} : tensor<4x8xf32>
  %2 = pp.sub %x, %1 : tensor<4x8xf32>, tensor<4x1xf32>
  %3 = pp.reduce sum %2 [1] {keep_dims, pp.sweep = 1 : i64} : tensor<4x8xf32>
  pp.return %0, %3 : tensor<4x8xf32>, tensor<4x1xf32>
}
pp.task forward stage 0 @inplace(%x: memref<4x8xf32> {pp.role = #pp.role<input, "x">}, %y: memref<4x8xf32>, %s: memref<4x1xf32>,
    %t: memref<4x1xf32>, %u: memref<4x1xf32>) {
  pp.launch @allowed ins(%x : memref<4x8xf32>) outs(%y, %s : memref<4x8xf32>, memref<4x1xf32>) {inplace = array<i64: -1, -1>}
  pp.launch @allowed ins(%y : memref<4x8xf32>) outs(%y, %t : memref<4x8xf32>, memref<4x1xf32>) {inplace = array<i64: 0, -1>}
  // expected-error @+1 {{overwrites argument 0 in sweep 0 of @reads, but sweep 1 reads it}}
  pp.launch @reads ins(%y : memref<4x8xf32>) outs(%y, %u : memref<4x8xf32>, memref<4x1xf32>) {inplace = array<i64: 0, -1>}
  pp.return
}
