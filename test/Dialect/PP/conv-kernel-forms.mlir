// RUN: %ppopt opt %s -split-input-file -verify-diagnostics

// Tiles are columns of the result, or elements.
pp.kernel @columns(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32>
    attributes {form = #pp.form<conv 2x1x4x6>, tiles = #pp.tiles<16 of 4 columns>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}
pp.kernel @elements(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32>
    attributes {form = #pp.form<conv 2x1x4x6>, tiles = #pp.tiles<2 of 32 elements>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}

// -----

// expected-error @below {{'pp.kernel' op has 8 tiles, but 16 of 4 columns cover its space}}
pp.kernel @columns(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32>
    attributes {form = #pp.form<conv 2x1x4x6>, tiles = #pp.tiles<8 of 4 columns>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}

// -----

pp.kernel @space(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32> attributes {form = #pp.form<conv 2x1x4x8>} {
  // expected-error @below {{'pp.conv' op has a space of [2, 1, 4, 6], but that of @space is [2, 1, 4, 8]}}
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}

// -----

// expected-error @below {{'pp.kernel' op can't be computed in tiles of rows}}
pp.kernel @rows(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32>
    attributes {form = #pp.form<conv 2x1x4x6>, tiles = #pp.tiles<8 of 1 rows>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}
