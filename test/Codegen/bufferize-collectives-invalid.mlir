// RUN: ppopt opt %s --pp-form-kernels --pp-plan-kernels --pp-place-collectives --pp-bufferize-tasks --split-input-file --verify-diagnostics

// A part that is accumulated in a range that is not aligned, which is memory of its own.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @not_aligned(%x: tensor<16xf32>, %g: tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<32xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.zeros : tensor<64xf32>
  %1 = pp.slice %0 [3] : tensor<64xf32> to tensor<16xf32>
  %2 = pp.accumulate %1, %x : tensor<16xf32>
  // expected-error @below {{has part 0 at element 3, where it is not accumulated: it would be lost}}
  %3 = pp.join %0(%2) at [3] : tensor<64xf32>, tensor<16xf32>
  %4 = pp.reduce_scatter %3 over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<32xf32>
  %5 = pp.accumulate %g, %4 : tensor<32xf32>
  pp.return %5 : tensor<32xf32>
}
