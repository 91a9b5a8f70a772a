// RUN: ppopt opt %s --pp-block-rows=budget=64 --verify-diagnostics --split-input-file

pp.task forward stage 0 @many(%x: tensor<16384x4xf32>, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<16384xf32> {
  // expected-error @below {{would be computed in 16384 blocks of rows, which makes 32768 ops in blocks, more than 16384; give a block more bytes (--block-bytes) or the model fewer rows at a time (--microbatches)}}
  %0 = pp.matmul %x, %w : tensor<16384x4xf32>, tensor<4x16xf32>
  %1 = pp.reduce sum %0 [1] : tensor<16384x16xf32>
  pp.return %1 : tensor<16384xf32>
}

// -----

// Blocks of one row, each of them in blocks again: their matmul counts.

pp.task forward stage 0 @nested(%x: tensor<128x4xf32>, %w: tensor<4x1024xf32> {pp.role = #pp.role<param, "w">})
    -> tensor<128xf32> {
  // expected-error @below {{would be computed in 64 blocks of rows, which makes 16512 ops in blocks, more than 16384}}
  %0 = pp.matmul %x, %w : tensor<128x4xf32>, tensor<4x1024xf32>
  %1 = pp.reduce sum %0 [1] : tensor<128x1024xf32>
  pp.return %1 : tensor<128xf32>
}
