// RUN: ppopt opt %s --pp-verify-kernels --split-input-file --verify-diagnostics

// What is allowed: a kernel and matmuls that take padded rows as they lie, all of them or a part of their columns; the last row ends with its columns.
pp.kernel @relu(%x: tensor<4x13xf32> {pp.pitch = 16 : i64}) -> (tensor<4x13xf32> {pp.pitch = 16 : i64, pp.sweep = 0 : i64})
    attributes {form = #pp.form<rows 4x13>, tiles = #pp.tiles<4 of 1 rows>} {
  %0 = pp.relu %x : tensor<4x13xf32>
  pp.return %0 : tensor<4x13xf32>
}
pp.task forward stage 0 @allowed(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %w: memref<16x13xf32> {pp.role = #pp.role<param, "w">},
    %y: memref<12x12xf32>) attributes {temp_bytes = 256 : i64} {
  %t = pp.temp 0 : memref<2x2x13xf32, strided<[32, 16, 1]>>
  pp.gemm %x, %w into %t {m = 4, n = 13, k = 16, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 16, 1>, b_strides = array<i64: 0, 0, 13, 1>,
    c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0, b_offset = 0, c_offset = 0} : memref<4x16xf32>, memref<16x13xf32>, memref<2x2x13xf32, strided<[32, 16, 1]>>
  %0 = memref.reinterpret_cast %t to offset: [0], sizes: [4, 13], strides: [16, 1] : memref<2x2x13xf32, strided<[32, 16, 1]>> to memref<4x13xf32, strided<[16, 1]>>
  pp.launch @relu ins(%0 : memref<4x13xf32, strided<[16, 1]>>) outs(%0 : memref<4x13xf32, strided<[16, 1]>>) {inplace = array<i64: 0>}
  pp.gemm %t, %t into %y {m = 12, n = 12, k = 4, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 1, 16>, b_strides = array<i64: 0, 0, 16, 1>,
    c_strides = array<i64: 0, 0, 12, 1>, a_offset = 1, b_offset = 0, c_offset = 0}
    : memref<2x2x13xf32, strided<[32, 16, 1]>>, memref<2x2x13xf32, strided<[32, 16, 1]>>, memref<12x12xf32>
  pp.return
}

// -----

// The pitch is ignored in one stride.
pp.task forward stage 0 @dense_strides(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %w: memref<16x13xf32> {pp.role = #pp.role<param, "w">})
    attributes {temp_bytes = 256 : i64} {
  %t = pp.temp 0 : memref<4x13xf32, strided<[16, 1]>>
  // expected-error @+1 {{touches the padding of 'memref<4x13xf32, strided<[16, 1]>>': its strides 0, 0, 13, 1 lead to column 51 of 13}}
  pp.gemm %x, %w into %t {m = 4, n = 13, k = 16, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 16, 1>, b_strides = array<i64: 0, 0, 13, 1>,
    c_strides = array<i64: 0, 0, 13, 1>, a_offset = 0, b_offset = 0, c_offset = 0} : memref<4x16xf32>, memref<16x13xf32>, memref<4x13xf32, strided<[16, 1]>>
  pp.return
}

// -----

// A column too far.
pp.task forward stage 0 @offset(%x: memref<4x16xf32> {pp.role = #pp.role<input, "x">}, %w: memref<16x12xf32> {pp.role = #pp.role<param, "w">})
    attributes {temp_bytes = 256 : i64} {
  %t = pp.temp 0 : memref<4x13xf32, strided<[16, 1]>>
  // expected-error @+1 {{its strides 0, 0, 16, 1 lead to column 13 of 13}}
  pp.gemm %x, %w into %t {m = 4, n = 12, k = 16, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 16, 1>, b_strides = array<i64: 0, 0, 12, 1>,
    c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0, b_offset = 0, c_offset = 2} : memref<4x16xf32>, memref<16x12xf32>, memref<4x13xf32, strided<[16, 1]>>
  pp.return
}

// -----

// Written dense and read padded, in the room of a result.
pp.kernel @write(%x: tensor<4x13xf32>) -> (tensor<4x13xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 4x13>, tiles = #pp.tiles<1 of 64 elements>} {
  %0 = pp.relu %x : tensor<4x13xf32>
  pp.return %0 : tensor<4x13xf32>
}
pp.kernel @read(%x: tensor<3x13xf32> {pp.pitch = 16 : i64}) -> (tensor<3x13xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 3x13>, tiles = #pp.tiles<3 of 1 rows>} {
  %0 = pp.relu %x : tensor<3x13xf32>
  pp.return %0 : tensor<3x13xf32>
}
pp.task forward stage 0 @rows(%x: memref<4x13xf32> {pp.role = #pp.role<input, "x">}, %s: memref<4x13xf32>,
    %y: memref<3x13xf32>) {
  pp.launch @write ins(%x : memref<4x13xf32>) outs(%s : memref<4x13xf32>) {inplace = array<i64: -1>}
  %0 = memref.reinterpret_cast %s to offset: [0], sizes: [3, 13], strides: [16, 1] : memref<4x13xf32> to memref<3x13xf32, strided<[16, 1]>>
  // expected-error @+1 {{reads bytes 0 to 180 of argument 1 in rows with a pitch of 64 bytes, which were written with 0 (0: dense)}}
  pp.launch @read ins(%0 : memref<3x13xf32, strided<[16, 1]>>) outs(%y : memref<3x13xf32>) {inplace = array<i64: -1>}
  pp.return
}

// -----

pp.task forward stage 0 @view(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) attributes {temp_bytes = 256 : i64} {
  %t = pp.temp 0 : memref<4x13xf32, strided<[16, 1]>>
  // expected-error @+1 {{has other rows than its buffer, 'memref<4x13xf32, strided<[16, 1]>>'}}
  %0 = memref.reinterpret_cast %t to offset: [0], sizes: [4, 13], strides: [13, 1] : memref<4x13xf32, strided<[16, 1]>> to memref<4x13xf32>
  pp.return
}

// -----

// The padding of the last row counts.
pp.task forward stage 0 @bytes(%l: memref<16xf32> {pp.role = #pp.role<loss, "loss">}) attributes {temp_bytes = 192 : i64} {
  // expected-error @+1 {{ends at byte 256 of @bytes's 192}}
  %t = pp.temp 0 : memref<4x13xf32, strided<[16, 1]>>
  pp.return
}

// -----

// expected-error @+1 {{takes 'memref<4x13xf32, strided<[16, 1]>>', but what tasks exchange has dense rows}}
pp.task forward stage 0 @exchanged(%s: memref<4x13xf32, strided<[16, 1]>>) {
  pp.return
}
