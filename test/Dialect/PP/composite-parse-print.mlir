// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @rows
func.func @rows(%x: tensor<4x8xf32>, %v: tensor<8xf32>) {
  // CHECK: pp.softmax %{{.*}} : tensor<4x8xf32>
  %0 = pp.softmax %x : tensor<4x8xf32>
  // CHECK: pp.softmax_grad %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %1 = pp.softmax_grad %0, %x : tensor<4x8xf32>
  // CHECK: pp.log_softmax %{{.*}} : tensor<4x8xf32>
  %2 = pp.log_softmax %x : tensor<4x8xf32>
  // CHECK: pp.log_softmax_grad %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %3 = pp.log_softmax_grad %2, %x : tensor<4x8xf32>
  // CHECK: pp.normalize %{{.*}} {center, eps = 1.000000e-05 : f64} : tensor<4x8xf32>
  %4 = pp.normalize %x {center, eps = 1.0e-5 : f64} : tensor<4x8xf32>
  // CHECK: pp.normalize_grad %{{.*}}, %{{.*}} {eps = 1.000000e-05 : f64} : tensor<4x8xf32>
  %5 = pp.normalize_grad %x, %x {eps = 1.0e-5 : f64} : tensor<4x8xf32>
  // CHECK: pp.layer_norm %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  %6 = pp.layer_norm %x, %v, %v : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK: pp.rms_norm %{{.*}}, %{{.*}} {eps = 2.500000e-01 : f64} : tensor<4x8xf32>, tensor<8xf32>
  %7 = pp.rms_norm %x, %v {eps = 2.5e-1 : f64} : tensor<4x8xf32>, tensor<8xf32>
  return
}

// CHECK-LABEL: @embedding
func.func @embedding(%table: tensor<16x8xf32>, %ids: tensor<2x4xi32>, %key: tensor<15xi64>) -> tensor<2x4x8xf32> {
  // CHECK: pp.embedding %{{.*}}, %{{.*}} : tensor<16x8xf32>, tensor<2x4xi32>
  %0 = pp.embedding %table, %ids : tensor<16x8xf32>, tensor<2x4xi32>
  // CHECK: pp.embedding_grad %{{.*}}, %{{.*}} : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  %1 = pp.embedding_grad %ids, %0 : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  // The rows of the table are cut.
  // CHECK: pp.embedding %{{.*}}, %{{.*}} key %{{.*}} : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<2x4xi32>
  %2 = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<16x8xf32>, tensor<2x4xi32>
  // CHECK: pp.embedding_grad %{{.*}}, %{{.*}} key %{{.*}} : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  %3 = pp.embedding_grad %ids, %2 key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 32}], [32, 8]>} : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  return %0 : tensor<2x4x8xf32>
}

// The log-sum-exp is f32 for bf16 operands.
// CHECK-LABEL: @attention
func.func @attention(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x5x8xbf16>, %v: tensor<2x3x5x7xbf16>)
    -> (tensor<2x3x4x7xbf16>, tensor<2x3x4x2xf32>) {
  // CHECK: %[[OUT:.*]], %[[LSE:.*]] = pp.attention %{{.*}}, %{{.*}}, %{{.*}} {scale = 5.000000e-01 : f64} : tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x7xbf16>
  %0:2 = pp.attention %q, %k, %v {scale = 0.5 : f64} : tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x7xbf16>
  // CHECK: pp.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[OUT]], %[[LSE]], %[[OUT]] : tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x7xbf16>, tensor<2x3x4x7xbf16>, tensor<2x3x4x2xf32>
  %1:3 = pp.attention_grad %q, %k, %v, %0#0, %0#1, %0#0 : tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x7xbf16>, tensor<2x3x4x7xbf16>, tensor<2x3x4x2xf32>
  // CHECK: pp.attention %{{.*}}, %{{.*}}, %{{.*}} {causal}
  %2:2 = pp.attention %q, %q, %q {causal} : tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>, tensor<2x3x4x8xbf16>
  return %0#0, %0#1 : tensor<2x3x4x7xbf16>, tensor<2x3x4x2xf32>
}

// CHECK-LABEL: @losses
func.func @losses(%x: tensor<2x4x16xf32>, %t: tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<f32>, tensor<f32>) {
  // CHECK: pp.token_loss %{{.*}}, %{{.*}} : tensor<2x4x16xf32>, tensor<2x4xi32>
  %0 = pp.token_loss %x, %t : tensor<2x4x16xf32>, tensor<2x4xi32>
  // CHECK: pp.token_loss_grad %{{.*}}, %{{.*}}, %{{.*}} {ignore_index = -100 : i64} : tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<2x4xf32>
  %1 = pp.token_loss_grad %x, %t, %0 {ignore_index = -100 : i64} : tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<2x4xf32>
  // CHECK: pp.cross_entropy %{{.*}}, %{{.*}} {ignore_index = -1 : i64} : tensor<2x4x16xf32>, tensor<2x4xi32>
  %2 = pp.cross_entropy %x, %t {ignore_index = -1 : i64} : tensor<2x4x16xf32>, tensor<2x4xi32>
  // CHECK: pp.count %{{.*}} {ignore_index = -1 : i64} : tensor<2x4xi32> to tensor<f32>
  %3 = pp.count %t {ignore_index = -1 : i64} : tensor<2x4xi32> to tensor<f32>
  // CHECK: pp.mse %{{.*}}, %{{.*}} : tensor<2x4xf32>, tensor<2x4xf32>
  %4 = pp.mse %0, %0 : tensor<2x4xf32>, tensor<2x4xf32>
  return %0, %2, %4 : tensor<2x4xf32>, tensor<f32>, tensor<f32>
}
