// RUN: ppopt opt %s --pp-block-rows=budget=64 --verify-diagnostics

pp.task forward stage 0 @many(%x: tensor<8192x4xf32> {pp.role = #pp.role<saved, "v">}, %w: tensor<4x16xf32> {pp.role = #pp.role<param, "w">})
    -> (tensor<8192xf32> {pp.role = #pp.role<saved, "g">}) {
  // expected-error @below {{would be computed in 8192 blocks of rows, more than 256; give a block more bytes: --block-bytes}}
  %0 = pp.matmul %x, %w : tensor<8192x4xf32>, tensor<4x16xf32>
  %1 = pp.reduce sum %0 [1] : tensor<8192x16xf32>
  pp.return %1 : tensor<8192xf32>
}
