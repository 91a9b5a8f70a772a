// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @heads(%q: tensor<2x4x6x8xf32>, %k: tensor<2x3x6x8xf32>) {
  // expected-error @below {{'pp.attention' op q of 'tensor<2x4x6x8xf32>' has 4 heads, not a multiple of the 3 heads of k of 'tensor<2x3x6x8xf32>'}}
  %0:2 = pp.attention %q, %k, %k : tensor<2x4x6x8xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>
  return
}

// -----

func.func @causal_keys(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x5x8xf32>) {
  // expected-error @below {{'pp.attention' op causal needs a key for each query: the last query is at the position of the last key; got q of 'tensor<2x4x6x8xf32>' and k of 'tensor<2x2x5x8xf32>'}}
  %0:2 = pp.attention %q, %k, %k {causal} : tensor<2x4x6x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>
  return
}

// -----

func.func @window_keys(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x5x8xf32>) {
  // expected-error @below {{'pp.attention' op window needs a key for each query: the last query is at the position of the last key; got q of 'tensor<2x4x6x8xf32>' and k of 'tensor<2x2x5x8xf32>'}}
  %0:2 = pp.attention %q, %k, %k {window = 2 : i64} : tensor<2x4x6x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>
  return
}

// -----

func.func @slopes_keys(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x5x8xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{'pp.attention' op slopes needs a key for each query: the last query is at the position of the last key; got q of 'tensor<2x4x6x8xf32>' and k of 'tensor<2x2x5x8xf32>'}}
  %0:2 = pp.attention %q, %k, %k slopes %s : tensor<2x4x6x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @bias_shape_4(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<2x4x6xf32>) {
  // expected-error @below {{'pp.attention' op bias of 'tensor<2x4x6xf32>' does not fit the scores, which are 'tensor<2x4x6x6xf32>': each of its four dimensions is the same or 1}}
  %0:2 = pp.attention %q, %k, %k bias %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x4x6xf32>
  return
}

// -----

func.func @bias_shape_5(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<2x4x5x6xf32>) {
  // expected-error @below {{'pp.attention' op bias of 'tensor<2x4x5x6xf32>' does not fit the scores, which are 'tensor<2x4x6x6xf32>': each of its four dimensions is the same or 1}}
  %0:2 = pp.attention %q, %k, %k bias %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x4x5x6xf32>
  return
}

// -----

func.func @mask_shape_6(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<2x2x1x6xi1>) {
  // expected-error @below {{'pp.attention' op mask of 'tensor<2x2x1x6xi1>' does not fit the scores, which are 'tensor<2x4x6x6xi1>': each of its four dimensions is the same or 1}}
  %0:2 = pp.attention %q, %k, %k mask %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x1x6xi1>
  return
}

// -----

func.func @bias_type(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<1x1x6x6xbf16>) {
  // expected-error @below {{'pp.attention' op bias of 'tensor<1x1x6x6xbf16>' must be of f32, as q is; pp.cast them}}
  %0:2 = pp.attention %q, %k, %k bias %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<1x1x6x6xbf16>
  return
}

// -----

func.func @slopes_type(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<4xf64>) {
  // expected-error @below {{'pp.attention' op slopes of 'tensor<4xf64>' must be of f32, as q is; pp.cast them}}
  %0:2 = pp.attention %q, %k, %k slopes %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<4xf64>
  return
}

// -----

func.func @slopes_heads(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<2xf32>) {
  // expected-error @below {{'pp.attention' op slopes of 'tensor<2xf32>' are not one for each head of q of 'tensor<2x4x6x8xf32>'}}
  %0:2 = pp.attention %q, %k, %k slopes %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2xf32>
  return
}

// -----

func.func @segments_tokens(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %x: tensor<2x5xi32>) {
  // expected-error @below {{'pp.attention' op segments of 'tensor<2x5xi32>' are not one for each token [batch, tokens] of q of 'tensor<2x4x6x8xf32>' and k of 'tensor<2x2x6x8xf32>'}}
  %0:2 = pp.attention %q, %k, %k segments %x : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x5xi32>
  return
}

// -----

func.func @window(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>) {
  // expected-error @below {{'pp.attention' op window is 0, but a query sees at least one key: itself}}
  %0:2 = pp.attention %q, %k, %k {window = 0 : i64} : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>
  return
}

// -----

func.func @soft_cap(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>) {
  // expected-error @below {{'pp.attention' op soft_cap is 0.000000e+00, but must be positive; leave it out for none}}
  %0:2 = pp.attention %q, %k, %k {soft_cap = 0.0 : f64} : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>
  return
}

// -----

func.func @large_cap(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>) {
  // expected-error @below {{'pp.attention' op soft_cap is 1.000000e+40, but must be from 1e-30 to 1e30; leave it out for none}}
  %0:2 = pp.attention %q, %k, %k {soft_cap = 1.0e40 : f64} : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>
  return
}

// -----

func.func @dropout(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>) {
  // expected-error @below {{'pp.attention' op dropout is 1.000000e+00, but must be in [0, 1)}}
  %0:2 = pp.attention %q, %k, %k {dropout = 1.0 : f64} : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>
  return
}

// -----

func.func @dbias(%q: tensor<2x4x6x8xf32>, %k: tensor<2x2x6x8xf32>, %lse: tensor<2x4x6x2xf32>, %bias: tensor<1x1x6x6xf32>) {
  // expected-error @below {{'pp.attention_grad' op dbias of 'tensor<1x1x6x6xf32>' must be of 'tensor<2x4x6x6xf32>', as scores are}}
  %0:4 = pp.attention_grad %q, %k, %k, %q, %lse, %q bias %bias : tensor<2x4x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x2x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x2xf32> bias tensor<1x1x6x6xf32> -> tensor<1x1x6x6xf32>
  return
}

// -----

func.func @bias_of_bf16(%q: tensor<2x4x6x8xbf16>, %k: tensor<2x2x6x8xbf16>, %x: tensor<1x1x6x6xf64>) {
  // expected-error @below {{'pp.attention' op bias of 'tensor<1x1x6x6xf64>' must be of bf16, as q is, or of f32, as scores are; pp.cast them}}
  %0:2 = pp.attention %q, %k, %k bias %x : tensor<2x4x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<1x1x6x6xf64>
  return
}

// -----

func.func @infinite_scale(%q: tensor<2x4x6x8xf32>) {
  // expected-error @below {{'pp.attention' op scale is INF, but must be finite; leave it out for 1/sqrt(width)}}
  %0:2 = pp.attention %q, %q, %q {scale = 0x7FF0000000000000 : f64} : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
  return
}

// -----

func.func @scale_is_no_number(%q: tensor<2x4x6x8xf32>) {
  // expected-error @below {{'pp.attention' op scale is nan, but must be finite; leave it out for 1/sqrt(width)}}
  %0:2 = pp.attention %q, %q, %q {scale = 0x7FF8000000000000 : f64} : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>
  return
}
