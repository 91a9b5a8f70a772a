// RUN: %ppopt opt %s --pp-autodiff --verify-diagnostics

func.func @loss_of_lse(%k: tensor<1x1x4x8xf32> {pp.input = "k"}) -> tensor<f32> {
  %q = pp.param "q" {init = #pp.init<ones>} : tensor<1x1x4x8xf32>
  %l = pp.place 0 stage 0 -> tensor<f32> {
    // expected-error @below {{has no gradient for its second result, the log-sum-exp, and the loss depends on it; put a pp.detach after it}}
    %out, %lse = pp.attention %q, %k, %k : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>
    %sum = pp.reduce sum %lse [0, 1, 2, 3] : tensor<1x1x4x2xf32>
    pp.yield %sum : tensor<f32>
  }
  return %l : tensor<f32>
}
