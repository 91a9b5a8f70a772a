// RUN: ppopt opt %s --pp-emit-kernels --verify-diagnostics

pp.kernel @step(%q: tensor<1x2x1x4xf32>, %cache: tensor<1x2x8x4xf32>, %at: tensor<1xi64>) -> (tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>)
    attributes {form = #pp.form<attention_step 1x2x1x4>, tiles = #pp.tiles<2 of 1 heads, blocks of 8>} {
  // expected-error @below {{'pp.attention_step' op returns a cache in another buffer than it takes; a task must tie both}}
  %o, %k, %v = pp.attention_step %q, %q, %q cache %cache, %cache at %at {scale = 1.0 : f64} : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi64>
  pp.return %o, %k : tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>
}
