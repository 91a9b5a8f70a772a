// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @vector(%x: tensor<8xf32>) {
  // expected-error @below {{'pp.rotary' op needs positions and a row for each, [..., T, D], got 'tensor<8xf32>'}}
  %0 = pp.rotary %x : tensor<8xf32>
  return
}

// -----

func.func @odd(%x: tensor<5x7xf32>) {
  // expected-error @below {{'pp.rotary' op rotates 7 of 7 elements of a row, but they are pairs: give an even width}}
  %0 = pp.rotary %x : tensor<5x7xf32>
  return
}

// -----

func.func @wide(%x: tensor<5x6xf32>) {
  // expected-error @below {{rotates 8 of 6 elements of a row}}
  %0 = pp.rotary %x {width = 8 : i64} : tensor<5x6xf32>
  return
}

// -----

func.func @positions(%x: tensor<2x3x5x8xf32>, %p: tensor<3x5xi32>) {
  // expected-error @below {{'pp.rotary' op has positions of 'tensor<3x5xi32>', which are not [5] or [2, 5], for x of 'tensor<2x3x5x8xf32>'}}
  %0 = pp.rotary %x at %p : tensor<2x3x5x8xf32>, tensor<3x5xi32>
  return
}

// -----

func.func @positions_of_a_matrix(%x: tensor<5x8xf32>, %p: tensor<5x5xi32>) {
  // expected-error @below {{has positions of 'tensor<5x5xi32>', which are not [5], for x of 'tensor<5x8xf32>'}}
  %0 = pp.rotary %x at %p : tensor<5x8xf32>, tensor<5x5xi32>
  return
}

// -----

func.func @base(%x: tensor<5x8xf32>) {
  // expected-error @below {{'pp.rotary' op base is 0.000000e+00, but must be finite and above 0}}
  %0 = pp.rotary %x {base = 0.0 : f64} : tensor<5x8xf32>
  return
}

// -----

func.func @no_factor(%x: tensor<5x8xf32>) {
  // expected-error @below {{'pp.rotary' op is scaled linear, which needs factor}}
  %0 = pp.rotary %x scaled linear : tensor<5x8xf32>
  return
}

// -----

func.func @no_length(%x: tensor<5x8xf32>) {
  // expected-error @below {{'pp.rotary' op is scaled llama3, which needs original_length}}
  %0 = pp.rotary %x scaled llama3 {factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64} : tensor<5x8xf32>
  return
}

// -----

func.func @unread(%x: tensor<5x8xf32>) {
  // expected-error @below {{'pp.rotary' op has factor, and is of no scaling, which does not read it}}
  %0 = pp.rotary %x {factor = 2.0 : f64} : tensor<5x8xf32>
  return
}

// -----

func.func @length(%x: tensor<5x8xf32>) {
  // expected-error @below {{original_length is 0, but must be at least 1}}
  %0 = pp.rotary %x scaled llama3 {factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_length = 0 : i64} : tensor<5x8xf32>
  return
}

// -----

func.func @order(%x: tensor<5x8xf32>) {
  // expected-error @below {{low_freq_factor is 4.000000e+00, which must be below high_freq_factor, 4.000000e+00}}
  %0 = pp.rotary %x scaled llama3 {factor = 8.0 : f64, low_freq_factor = 4.0 : f64, high_freq_factor = 4.0 : f64, original_length = 64 : i64} : tensor<5x8xf32>
  return
}

// -----

func.func @ntk(%x: tensor<5x2xf32>) {
  // expected-error @below {{is scaled ntk, which is not defined for a width of 2: its one frequency is 1}}
  %0 = pp.rotary %x scaled ntk {factor = 2.0 : f64} : tensor<5x2xf32>
  return
}

// -----

func.func @unknown(%x: tensor<5x8xf32>) {
  // expected-error @below {{'yarn' is none of linear, ntk, llama3}}
  // expected-error @below {{failed to parse PP_RotaryScalingAttr}}
  %0 = pp.rotary %x scaled yarn {factor = 2.0 : f64} : tensor<5x8xf32>
  return
}

// -----

func.func @pairs(%x: tensor<5x3xf32>, %t: tensor<5x3xf32>) {
  // expected-error @below {{'pp.rotate' op dim 1 is not a dimension of pairs of 'tensor<5x3xf32>'}}
  %0 = pp.rotate %x, %t, %t {dim = 1 : i64} : tensor<5x3xf32>, tensor<5x3xf32>
  return
}

// -----

func.func @table(%x: tensor<5x4xbf16>, %t: tensor<5x4xbf16>) {
  // expected-error @below {{'pp.rotate' op cosines of 'tensor<5x4xbf16>' do not broadcast to 'tensor<5x4xbf16>', in the type of statistics}}
  %0 = pp.rotate %x, %t, %t {dim = 1 : i64} : tensor<5x4xbf16>, tensor<5x4xbf16>
  return
}
