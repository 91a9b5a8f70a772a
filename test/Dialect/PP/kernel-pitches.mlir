// RUN: ppopt opt %s --split-input-file --verify-diagnostics

pp.kernel @padded(%x: tensor<9x33xf32> {pp.pitch = 36 : i64}) -> (tensor<9x33xf32> {pp.pitch = 40 : i64, pp.sweep = 0 : i64})
    attributes {form = #pp.form<rows 9x33>, tiles = #pp.tiles<9 of 1 rows>} {
  %0 = pp.relu %x : tensor<9x33xf32>
  pp.return %0 : tensor<9x33xf32>
}
func.func @launches(%x: memref<9x33xf32, strided<[36, 1]>>, %y: memref<9x33xf32, strided<[40, 1]>>, %dense: memref<9x33xf32>) {
  pp.launch @padded ins(%x : memref<9x33xf32, strided<[36, 1]>>) outs(%y : memref<9x33xf32, strided<[40, 1]>>) {inplace = array<i64: -1>}
  // expected-error @+1 {{has argument 0 with a pitch of 40, but @padded takes it with a pitch of 36}}
  pp.launch @padded ins(%y : memref<9x33xf32, strided<[40, 1]>>) outs(%y : memref<9x33xf32, strided<[40, 1]>>) {inplace = array<i64: -1>}
  return
}

// -----

pp.kernel @padded(%x: tensor<9x33xf32>) -> (tensor<9x33xf32> {pp.pitch = 40 : i64, pp.sweep = 0 : i64})
    attributes {form = #pp.form<rows 9x33>, tiles = #pp.tiles<9 of 1 rows>} {
  %0 = pp.relu %x : tensor<9x33xf32>
  pp.return %0 : tensor<9x33xf32>
}
func.func @dense(%x: memref<9x33xf32>) {
  // expected-error @+1 {{has result 0 with dense rows, but @padded takes it with a pitch of 40}}
  pp.launch @padded ins(%x : memref<9x33xf32>) outs(%x : memref<9x33xf32>) {inplace = array<i64: -1>}
  return
}

// -----

// expected-error @+1 {{argument 0 has a pitch of 32 elements, but 9 rows of 33 columns}}
pp.kernel @short(%x: tensor<9x33xf32> {pp.pitch = 32 : i64}) -> (tensor<9x33xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 9x33>} {
  %0 = pp.relu %x : tensor<9x33xf32>
  pp.return %0 : tensor<9x33xf32>
}

// -----

// expected-error @+1 {{argument 0 has a pitch of 36 elements, but 1 rows of 33 columns}}
pp.kernel @row(%x: tensor<33xf32> {pp.pitch = 36 : i64}) -> (tensor<33xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 33>} {
  %0 = pp.relu %x : tensor<33xf32>
  pp.return %0 : tensor<33xf32>
}

// -----

// expected-error @+1 {{result 0 has a pitch of 36 elements, but its tiles make all rows one range}}
pp.kernel @flat(%x: tensor<9x33xf32>) -> (tensor<9x33xf32> {pp.pitch = 36 : i64, pp.sweep = 0 : i64})
    attributes {form = #pp.form<rows 9x33>, tiles = #pp.tiles<1 of 512 elements>} {
  %0 = pp.relu %x : tensor<9x33xf32>
  pp.return %0 : tensor<9x33xf32>
}

// -----

// expected-error @+1 {{result 0 has a pitch of 36 elements, which its form does not read or write by}}
pp.kernel @columns(%x: tensor<2x9x33xf32> {pp.pitch = 36 : i64}) -> (tensor<2x33xf32> {pp.pitch = 36 : i64}) attributes {form = #pp.form<columns 2x9x33>} {
  %0 = pp.reduce sum %x [1] : tensor<2x9x33xf32>
  pp.return %0 : tensor<2x33xf32>
}
