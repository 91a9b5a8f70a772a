// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @param_without_name() {
  // expected-error @below {{'pp.param' op needs a name: checkpoints are keyed by it}}
  %0 = pp.param "" {init = #pp.init<zeros>} : tensor<4xf32>
  return
}

// -----

func.func @init_unknown() {
  // expected-error @below {{unknown initial value 'gaussian'; use zeros, ones, uniform or normal}}
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
  // expected-error @below {{'pp.iota' op key is of type 'tensor<2xi64>', but must be of 'tensor<4xi64>'}}
  %0 = pp.iota %key : tensor<2xi64> {dim = 0 : i64} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_rank(%key: tensor<4xi64>) {
  // expected-error @below {{'pp.iota' op tile #pp.tile<0, 1, [16]> does not describe a part of a 'tensor<4x8xi32>'}}
  %0 = pp.iota %key : tensor<4xi64> {dim = 0 : i64, tile = #pp.tile<0, 1, [16]>} -> tensor<4x8xi32>
  return
}

// -----

func.func @tile_sizes(%key: tensor<4xi64>) {
  // expected-error @below {{'pp.iota' op tile #pp.tile<0, 1, [16, 9]> does not hold a 'tensor<4x8xi32>' in dimension 1}}
  %0 = pp.iota %key : tensor<4xi64> {dim = 0 : i64, tile = #pp.tile<0, 1, [16, 9]>} -> tensor<4x8xi32>
  return
}
