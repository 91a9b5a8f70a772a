// RUN: ppopt opt %s --pp-test-localize --verify-each=0 --verify-diagnostics

// A tile lists the cuts of all dimensions; an iota needs it for those of its own dimension only.
func.func @tiles(%x: tensor<8x6xf32>) {
  // expected-remark @below {{tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 8}, {dim = 0, axis = mb, at = 5, parts = 4, period = 4}, {dim = 1, axis = tp, at = 4, parts = 3, period = 6}], [8, 6]>} needs the random key}}
  %0 = pp.dropout %x {p = 0.5 : f64, test.cuts = [["dp", 2, "mb", 4], ["tp", 3]]} : tensor<8x6xf32>
  // expected-remark @below {{{p = 5.000000e-01 : f64} needs the random key}}
  %1 = pp.dropout %x {p = 0.5 : f64, test.cuts = [[], []]} : tensor<8x6xf32>
  // expected-remark @below {{tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 8}, {dim = 1, axis = tp, at = 4, parts = 3, period = 6}], [8, 6]>} needs the random key}}
  %2 = pp.iota {dim = 1 : i64, test.cuts = [["dp", 2], ["tp", 3]]} -> tensor<8x6xi64>
  // expected-remark @below {{{dim = 1 : i64}}}
  %3 = pp.iota {dim = 1 : i64, test.cuts = [["dp", 2], []]} -> tensor<8x6xi64>
  return
}

// The rows of the table are loop c, its columns loop d. A cut of columns alone needs no tile, and ids may be cut as they like.
func.func @tables(%table: tensor<16x8xf32>, %ids: tensor<2x4xi32>, %dy: tensor<2x4x8xf32>) {
  // expected-remark @below {{tile = #pp.tile<[{dim = 0, axis = tp, at = 4, parts = 2, period = 16}, {dim = 1, axis = fsdp, at = 4, parts = 4, period = 8}], [16, 8]>} needs the random key}}
  %0 = pp.embedding %table, %ids {test.cuts = [["dp", 2], [], ["tp", 2], ["fsdp", 4]]} : tensor<16x8xf32>, tensor<2x4xi32>
  // expected-remark-re @below {{{{^}}{}{{$}}}}
  %1 = pp.embedding %table, %ids {test.cuts = [["dp", 2], [], [], ["fsdp", 4]]} : tensor<16x8xf32>, tensor<2x4xi32>
  // expected-remark @below {{tile = #pp.tile<[{dim = 0, axis = tp, at = 4, parts = 2, period = 16}], [16, 8]>} needs the random key}}
  %2 = pp.embedding_grad %ids, %dy {test.cuts = [["dp", 2], [], ["tp", 2], []]} : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  // expected-remark-re @below {{{{^}}{}{{$}}}}
  %3 = pp.embedding_grad %ids, %dy {test.cuts = [["dp", 2], [], [], ["tp", 2]]} : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  return
}

// Offsets shrink with the units that are cut (loop b), and stay along dimensions whose elements don't move (loop a).
func.func @offsets(%x: tensor<8x24xf32>, %y: tensor<8x8xf32>) {
  // expected-remark @below {{offsets = array<i64: 0, 8>}}
  %0 = pp.slice %x [0, 16] {test.cuts = [["dp", 2], ["tp", 2], [], []]} : tensor<8x24xf32> to tensor<8x8xf32>
  // expected-remark @below {{offsets = array<i64: 0, 2>}}
  %1 = pp.slice %x [0, 16] {test.cuts = [[], ["tp", 2, "sp", 4], [], []]} : tensor<8x24xf32> to tensor<8x8xf32>
  // expected-remark @below {{offsets = array<i64: 0, 16>}}
  %2 = pp.slice %x [0, 16] {test.cuts = [["dp", 8], [], [], []]} : tensor<8x24xf32> to tensor<8x8xf32>
  // expected-remark @below {{offsets = array<i64: 0, 4>}}
  %3 = pp.pad %y [0, 8] {test.cuts = [["dp", 2], ["tp", 2], [], []]} : tensor<8x8xf32> to tensor<8x24xf32>
  return
}
