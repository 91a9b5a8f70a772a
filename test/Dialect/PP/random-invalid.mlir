// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @other_numbers() {
  // expected-error @below {{'pp.random' op is uniform, which has no mean}}
  %0 = pp.random uniform {mean = 1.0 : f64} -> tensor<4xf32>
  return
}

// -----

func.func @infinite() {
  // expected-error @below {{'pp.random' op mean is INF, but must be finite}}
  %0 = pp.random normal {mean = 0x7FF0000000000000 : f64} -> tensor<4xf32>
  return
}

// -----

func.func @empty() {
  // expected-error @below {{'pp.random' op is uniform from 1.000000e+00 to 1.000000e+00, but low must be below high}}
  %0 = pp.random uniform {low = 1.0 : f64} -> tensor<4xf32>
  return
}

// -----

func.func @deviation() {
  // expected-error @below {{'pp.random' op std is -1.000000e+00, but must be at least 0}}
  %0 = pp.random normal {std = -1.0 : f64} -> tensor<4xf32>
  return
}

// -----

func.func @mean_beyond_f32() {
  // expected-error @below {{'pp.random' op computes with 1.000000e+39, which is beyond the numbers of f32}}
  %0 = pp.random normal {mean = 1.0e39 : f64} -> tensor<4xf32>
  // f64 has it.
  %1 = pp.random normal {mean = 1.0e39 : f64} -> tensor<4xf64>
  return
}

// -----

func.func @width_beyond_f32() {
  // expected-error @below {{'pp.random' op computes with 6.000000e+38, which is beyond the numbers of f32}}
  %0 = pp.random uniform {low = -3.0e38 : f64, high = 3.0e38 : f64} -> tensor<4xbf16>
  return
}

// -----

func.func @integers() {
  // expected-error @below {{'pp.random' op result #0 must be statically shaped tensor of f32, f64 or bf16 values, but got 'tensor<4xi32>'}}
  %0 = pp.random normal -> tensor<4xi32>
  return
}

// -----

func.func @slope(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.leaky_relu' op slope is INF, but must be finite}}
  %0 = pp.leaky_relu %x {slope = 0x7FF0000000000000 : f64} : tensor<4xf32>
  return
}

// -----

func.func @alpha(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.elu' op alpha is nan, but must be finite}}
  %0 = pp.elu %x {alpha = 0x7FF8000000000000 : f64} : tensor<4xf32>
  return
}
