// RUN: ppopt opt %s --pp-bufferize-tasks --verify-diagnostics

pp.task forward stage 0 @no_kernel(%x: tensor<4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4xf32> {
  // expected-error @below {{is neither a matmul, a launch nor a view; run --pp-form-kernels first}}
  %0 = pp.relu %x : tensor<4xf32>
  pp.return %0 : tensor<4xf32>
}
