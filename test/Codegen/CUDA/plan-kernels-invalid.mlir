// RUN: ppopt opt %s --pp-plan-cuda-kernels --split-input-file --verify-diagnostics

// expected-error@+1 {{'pp.kernel' op has no form; run --pp-form-kernels first}}
pp.kernel @unformed(%x: tensor<9xf32>) -> tensor<9xf32> {
  pp.return %x : tensor<9xf32>
}

// -----

!w = tensor<1x4x32x4096xf64>
!m = tensor<1x4x32x2xf64>
// expected-error@+1 {{bytes of shared memory, of which a GPU's block has 166912; use narrower heads}}
pp.kernel @wide(%q: !w, %k: !w, %v: !w) -> (!w, !m) attributes {form = #pp.form<attention 1x4x32x4096>} {
  %0:2 = pp.attention %q, %k, %v : !w, !w, !w
  pp.return %0#0, %0#1 : !w, !m
}

// -----

!w = tensor<1x4x32x4096xbf16>
!m = tensor<1x4x32x2xf32>
// expected-error@+1 {{bytes of shared memory, of which a GPU's block has 166912; use narrower heads}}
pp.kernel @bf16(%q: !w, %k: !w, %v: !w) -> (!w, !m) attributes {form = #pp.form<attention 1x4x32x4096>} {
  %0:2 = pp.attention %q, %k, %v : !w, !w, !w
  pp.return %0#0, %0#1 : !w, !m
}
