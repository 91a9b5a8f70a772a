// RUN: ppopt opt %s --pp-emit-cuda-kernels --split-input-file --verify-diagnostics

// expected-error@+1 {{'pp.kernel' op has no tiles or threads; run --pp-plan-cuda-kernels first}}
pp.kernel @unplanned(%x: tensor<9x768xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x768>} {
  %0 = pp.reduce sum %x [1] {pp.sweep = 0 : i64} : tensor<9x768xf32>
  pp.return %0 : tensor<9xf32>
}

// -----

// expected-error@+1 {{'pp.kernel' op has a reduction whose lanes are not those of the threads of a row; run --pp-plan-cuda-kernels first}}
pp.kernel @lanes(%x: tensor<9x768xf32>) -> tensor<9xf32> attributes {form = #pp.form<rows 9x768>, threads = #pp.threads<64, 32 per row, 8 each>, tiles = #pp.tiles<5 of 2 rows>} {
  %0 = pp.reduce sum %x [1] {pp.lanes = 64 : i64, pp.sweep = 0 : i64} : tensor<9x768xf32>
  pp.return %0 : tensor<9xf32>
}

// -----

// expected-error@+1 {{48 threads per row must be a power of two that divides the 96 of a block}}
pp.kernel @threads(%x: tensor<9xf32>) -> tensor<9xf32> attributes {threads = #pp.threads<96, 48 per row, 8 each>} {
  pp.return %x : tensor<9xf32>
}

// -----

// expected-error@+1 {{has a size below 1}}
pp.kernel @each(%x: tensor<9xf32>) -> tensor<9xf32> attributes {threads = #pp.threads<32, 32 per row, 0 each>} {
  pp.return %x : tensor<9xf32>
}

// -----

// expected-error@+1 {{'pp.kernel' op has blocks of 48 keys, not a multiple of the 32 that its threads have at a time}}
pp.kernel @keys(%q: tensor<1x2x1x4xf32>, %k: tensor<1x2x8x4xf32>, %at: tensor<1xi64>) -> (tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>)
    attributes {form = #pp.form<attention_step 1x2x1x4>, threads = #pp.threads<32, 1 per row, 4 each>, tiles = #pp.tiles<2 of 1 heads, blocks of 48>} {
  %o, %a, %b = pp.attention_step %q, %q, %q cache %k, %k at %at {scale = 1.0 : f64} : tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>, tensor<1xi64>
  pp.return %o, %a, %b : tensor<1x2x1x4xf32>, tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>
}

// -----

!row = tensor<1x2x1x4xf32>
!cache = tensor<1x2x8x4xf32>
pp.kernel @step(%q: !row, %cache: !cache, %at: tensor<1xi64>) -> (!row, !cache)
    attributes {form = #pp.form<attention_step 1x2x1x4>, threads = #pp.threads<32, 1 per row, 4 each>, tiles = #pp.tiles<2 of 1 heads, blocks of 32>} {
  // expected-error @below {{'pp.attention_step' op returns a cache in another buffer than it takes; a task must tie both}}
  %o, %k, %v = pp.attention_step %q, %q, %q cache %cache, %cache at %at {scale = 1.0 : f64} : !row, !row, !row, !cache, !cache, tensor<1xi64>
  pp.return %o, %k : !row, !cache
}

// -----

// expected-error@+1 {{'pp.kernel' op has 4096 bytes of shared memory, and the ids of a scatter need 4192; run --pp-plan-cuda-kernels first}}
pp.kernel @scatter(%d: tensor<8x96xf32>, %i: tensor<8xi32>) -> tensor<16x96xf32> attributes {form = #pp.form<scatter 8x96>, threads = #pp.threads<256, 16 per row, 4 each, 4096 shared>, tiles = #pp.tiles<2 of 64 columns>} {
  %0 = pp.embedding_grad %i, %d : tensor<8xi32>, tensor<8x96xf32> to tensor<16x96xf32>
  pp.return %0 : tensor<16x96xf32>
}

// -----

// expected-error@+1 {{'pp.kernel' op has no tiles of one element per thread; run --pp-plan-cuda-kernels first}}
pp.kernel @convolution(%x: tensor<2x1x3x8xf32>, %w: tensor<1x4x3x3xf32>) -> tensor<2x1x4x6xf32>
    attributes {form = #pp.form<conv 2x1x4x6>, threads = #pp.threads<32, 1 per row, 1 each>, tiles = #pp.tiles<1 of 64 elements>} {
  %0 = pp.conv %x, %w : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x6xf32>
  pp.return %0 : tensor<2x1x4x6xf32>
}
