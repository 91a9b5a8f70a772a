// RUN: %ppopt opt %s -split-input-file -verify-diagnostics

// Tiles are columns of lines along the dimension, or lines.
pp.kernel @lines(%x: tensor<4x5x96xf32>, %ids: tensor<4x3x96xi32>, %updates: tensor<4x3x96xf32>) -> tensor<4x5x96xf32>
    attributes {form = #pp.form<scatter 4x96>, tiles = #pp.tiles<8 of 64 columns>} {
  %0 = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x5x96xf32>, tensor<4x3x96xi32>, tensor<4x3x96xf32>
  pp.return %0 : tensor<4x5x96xf32>
}
pp.kernel @sums(%x: tensor<4x5x96xf32>) -> tensor<4x5x96xf32>
    attributes {form = #pp.form<scan 4x96>, tiles = #pp.tiles<2 of 256 rows>} {
  %0 = pp.cumsum %x {dim = 1 : i64} : tensor<4x5x96xf32>
  pp.return %0 : tensor<4x5x96xf32>
}
pp.kernel @order(%x: tensor<4x5x96xf32>) -> tensor<4x5x96xi64>
    attributes {form = #pp.form<order 20x96>, tiles = #pp.tiles<20 of 1 rows>} {
  %0 = pp.order %x : tensor<4x5x96xf32> to tensor<4x5x96xi64>
  pp.return %0 : tensor<4x5x96xi64>
}

// -----

// expected-error @below {{'pp.kernel' op has 7 tiles, but 8 of 64 columns cover its space}}
pp.kernel @lines(%x: tensor<4x5x96xf32>, %ids: tensor<4x3x96xi32>, %updates: tensor<4x3x96xf32>) -> tensor<4x5x96xf32>
    attributes {form = #pp.form<scatter 4x96>, tiles = #pp.tiles<7 of 64 columns>} {
  %0 = pp.scatter_add %x, %ids, %updates {dim = 1 : i64} : tensor<4x5x96xf32>, tensor<4x3x96xi32>, tensor<4x3x96xf32>
  pp.return %0 : tensor<4x5x96xf32>
}

// -----

pp.kernel @sums(%x: tensor<4x5x96xf32>) -> tensor<4x5x96xf32> attributes {form = #pp.form<scan 5x96>} {
  // expected-error @below {{'pp.cumsum' op has a space of [4, 96], but that of @sums is [5, 96]}}
  %0 = pp.cumsum %x {dim = 1 : i64} : tensor<4x5x96xf32>
  pp.return %0 : tensor<4x5x96xf32>
}

// -----

// expected-error @below {{'pp.kernel' op can't be computed in tiles of columns}}
pp.kernel @order(%x: tensor<4x5x96xf32>) -> tensor<4x5x2xi64>
    attributes {form = #pp.form<order 20x96>, tiles = #pp.tiles<20 of 96 columns>} {
  %0 = pp.order %x : tensor<4x5x96xf32> to tensor<4x5x2xi64>
  pp.return %0 : tensor<4x5x2xi64>
}
