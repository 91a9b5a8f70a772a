// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @param_without_name() {
  // expected-error @below {{'pp.param' op needs a name: checkpoints are keyed by it}}
  %0 = pp.param "" {init = #pp.init<zeros>} : tensor<4xf32>
  return
}

// -----

func.func @init_unknown() {
  // expected-error @below {{unknown initial value 'gaussian'; use zeros, ones, uniform, normal, trunc_normal, xavier_uniform, xavier_normal, kaiming_uniform or kaiming_normal}}
  %0 = pp.param "w" {init = #pp.init<gaussian>} : tensor<4xf32>
  return
}

// -----

func.func @init_uniform() {
  // expected-error @below {{uniform needs low < high, got 1.000000e+00 and 5.000000e-01}}
  %0 = pp.param "w" {init = #pp.init<uniform, 1.0, 0.5>} : tensor<4xf32>
  return
}

// -----

func.func @init_infinite() {
  // expected-error @below {{trunc_normal needs finite numbers, got}}
  %0 = pp.param "w" {init = #pp.init<trunc_normal, 0.0, 0x7FF0000000000000>} : tensor<4xf32>
  return
}

// -----

func.func @init_truncated() {
  // expected-error @below {{trunc_normal needs a standard deviation >= 0, got -1.000000e+00}}
  %0 = pp.param "w" {init = #pp.init<trunc_normal, 0.0, -1.0>} : tensor<4xf32>
  return
}

// -----

func.func @init_gain() {
  // expected-error @below {{xavier_normal needs a gain above 0, got 0.000000e+00}}
  %0 = pp.param "w" {init = #pp.init<xavier_normal, 0.0>} : tensor<4x4xf32>
  return
}

// -----

func.func @init_fan() {
  // expected-error @below {{kaiming_uniform needs a fan above 0, got -3.000000e+00}}
  %0 = pp.param "w" {init = #pp.init<kaiming_uniform, 1.0, -3>} : tensor<4x4xf32>
  return
}

// -----

func.func @init_without_fan() {
  // expected-error @below {{expected ','}}
  %0 = pp.param "w" {init = #pp.init<kaiming_uniform, 1.0>} : tensor<4x4xf32>
  return
}

// -----

func.func @init_of_a_vector() {
  // expected-error @below {{'pp.param' op is initialised by xavier_uniform, which needs inputs and outputs, the last two dimensions, and is a 'tensor<4xf32>'; use kaiming or give the numbers}}
  %0 = pp.param "w" {init = #pp.init<xavier_uniform, 1.0>} : tensor<4xf32>
  return
}

// -----

func.func @init_normal() {
  // expected-error @below {{normal needs a standard deviation >= 0, got -1.000000e+00}}
  %0 = pp.param "w" {init = #pp.init<normal, 0.0, -1.0>} : tensor<4xf32>
  return
}

// -----

func.func @param_of_integers() {
  // expected-error @below {{'pp.param' op result #0 must be statically shaped tensor of f32, f64 or bf16 values, but got 'tensor<4xi32>'}}
  %0 = pp.param "w" {init = #pp.init<zeros>} : tensor<4xi32>
  return
}

// -----

func.func @constant_not_dense() {
  // expected-error @below {{'pp.constant' op value must be written as dense<...>}}
  %0 = pp.constant sparse<[[0]], [1.0]> : tensor<2xf32>
  return
}

// -----

func.func @iota_dim() {
  // expected-error @below {{'pp.iota' op dim 2 is not a dimension of 'tensor<4x8xi32>'}}
  %0 = pp.iota {dim = 2 : i64} -> tensor<4x8xi32>
  return
}

// -----

func.func @key_type(%key: tensor<2xi64>) {
  // expected-error @below {{'pp.iota' op key is of type 'tensor<2xi64>', but must be of 'tensor<15xi64>'}}
  %0 = pp.iota %key : tensor<2xi64> {dim = 0 : i64} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_rank(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile is of 1 dimensions, and the tensor is a 'tensor<4x8xi32>'}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 4, period = 16}], [16]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_dim(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts dimension 2 after dimension 0 of a 'tensor<4x8xi32>': cuts are ordered by dimension}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 2, axis = dp, at = 4, parts = 4, period = 16}], [16, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_dim_order(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts dimension 0 after dimension 1 of a 'tensor<4x8xi32>': cuts are ordered by dimension}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 1, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 4, period = 16}], [16, 16]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_axis(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts over "dp" twice}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = dp, at = 4, parts = 2, period = 8}], [16, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_at(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile reads the coordinate on "dp" from element 2 of the random key, which has coordinates in elements 3 to 11}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 2, parts = 4, period = 16}], [16, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_at_end(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile reads the coordinate on "dp" from element 12 of the random key, which has coordinates in elements 3 to 11}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 12, parts = 4, period = 16}], [16, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_one_part(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts dimension 0 over "dp" into 1 parts of each 16 elements, but there are 4 here: they are cut into two or more equal parts, the largest period first}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 1, period = 16}], [4, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_unequal_parts(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts dimension 0 over "dp" into 3 parts of each 16 elements, but there are 12 here: they are cut into two or more equal parts, the largest period first}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 3, period = 16}], [12, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_order(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts dimension 0 over "dp" into 2 parts of each 16 elements, but there are 4 here: they are cut into two or more equal parts, the largest period first}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = mb, at = 3, parts = 2, period = 8}, {dim = 0, axis = dp, at = 4, parts = 2, period = 16}], [16, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_sizes(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts the 16 elements of dimension 0 into 2 parts, but 'tensor<4x8xi32>' has 4 of them}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}], [16, 8]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_uncut(%key: tensor<15xi64>) {
  // expected-error @below {{'pp.iota' op tile cuts the 9 elements of dimension 1 into 1 parts, but 'tensor<4x8xi32>' has 8 of them}}
  %0 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 4, period = 16}], [16, 9]>} -> tensor<4x8xi32>
  return
}
