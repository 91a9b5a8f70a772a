// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @rank(%q: tensor<1x4xf32>, %cache: tensor<1x2x8x4xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{'pp.attention_step' op has an operand that is not of four dimensions [batch, heads, positions, width]}}
  %0:3 = pp.attention_step %q, %q, %q cache %cache, %cache at %at {scale = 1.0 : f64} : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi64>
  return
}

// -----

func.func @two_positions(%q: tensor<1x2x2x4xf32>, %cache: tensor<1x2x8x4xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{'pp.attention_step' op takes k of 'tensor<1x2x2x4xf32>' and v of 'tensor<1x2x2x4xf32>', which are no rows of caches of 'tensor<1x2x8x4xf32>' and 'tensor<1x2x8x4xf32>'}}
  %0:3 = pp.attention_step %q, %q, %q cache %cache, %cache at %at {scale = 1.0 : f64} : tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi64>
  return
}

// -----

func.func @types(%q: tensor<1x2x1x4xf32>, %cache: tensor<1x2x8x4xbf16>, %at: tensor<1xi64>) {
  // expected-error @below {{'pp.attention_step' op has operands of different element types}}
  %0:3 = pp.attention_step %q, %q, %q cache %cache, %cache at %at {scale = 1.0 : f64} : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x8x4xbf16>, tensor<1x2x8x4xbf16>, tensor<1xi64>
  return
}

// -----

func.func @position(%q: tensor<1x2x1x4xf32>, %cache: tensor<1x2x8x4xf32>, %at: tensor<1xi32>) {
  // expected-error @below {{'pp.attention_step' op takes the position as one i64, got 'tensor<1xi32>'}}
  %0:3 = pp.attention_step %q, %q, %q cache %cache, %cache at %at {scale = 1.0 : f64} : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi32>
  return
}

// -----

func.func @heads(%q: tensor<1x3x1x4xf32>, %k: tensor<1x2x1x4xf32>, %cache: tensor<1x2x8x4xf32>, %at: tensor<1xi64>) {
  // expected-error @below {{'pp.attention_step' op takes q of 'tensor<1x3x1x4xf32>', which is no row of heads of 'tensor<1x2x8x4xf32>', or of a multiple of them}}
  %0:3 = pp.attention_step %q, %k, %k cache %cache, %cache at %at {scale = 1.0 : f64} : tensor<1x3x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi64>
  return
}

// -----

func.func @slopes(%q: tensor<1x2x1x4xf32>, %cache: tensor<1x2x8x4xf32>, %at: tensor<1xi64>, %slopes: tensor<3xf32>) {
  // expected-error @below {{'pp.attention_step' op has slopes of 'tensor<3xf32>', not one for each head of q of 'tensor<1x2x1x4xf32>'}}
  %0:3 = pp.attention_step %q, %q, %q cache %cache, %cache at %at slopes %slopes {scale = 1.0 : f64} : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi64>, tensor<3xf32>
  return
}
