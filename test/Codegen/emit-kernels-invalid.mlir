// RUN: ppopt opt %s --pp-emit-kernels --split-input-file --verify-diagnostics

pp.kernel @lookup(%table: tensor<16x8xf32>, %ids: tensor<4xi32>, %key: tensor<12xi64>) -> tensor<4x8xf32> {
  // expected-error @below {{'pp.embedding' op looks up rows of a table that axes of the mesh cut: cut rows of a table are not compiled yet; leave the rows whole}}
  %0 = pp.embedding %table, %ids key %key : tensor<12xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<4xi32>
  pp.return %0 : tensor<4x8xf32>
}

// -----

pp.kernel @scatter(%dy: tensor<4x8xf32>, %ids: tensor<4xi32>, %key: tensor<12xi64>) -> tensor<16x8xf32> {
  // expected-error @below {{'pp.embedding_grad' op looks up rows of a table that axes of the mesh cut: cut rows of a table are not compiled yet; leave the rows whole}}
  %0 = pp.embedding_grad %ids, %dy key %key : tensor<12xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<4xi32>, tensor<4x8xf32> to tensor<16x8xf32>
  pp.return %0 : tensor<16x8xf32>
}
