// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

!q = tensor<2x4x6x8xbf16>
!k = tensor<2x2x6x8xbf16>
!lse = tensor<2x4x6x2xf32>

// Each operand that changes or hides scores, and all of them, with the type after those of q, k and v.
// CHECK-LABEL: @all
func.func @all(%q: !q, %k: !k, %bias: tensor<1x4x6x6xf32>, %mask: tensor<2x1x1x6xi1>, %slopes: tensor<4xf32>, %ids: tensor<2x6xi32>) -> !q {
  // CHECK: %[[OUT:.*]], %[[LSE:.*]] = pp.attention %arg0, %arg1, %arg1 bias %arg2 mask %arg3 slopes %arg4 segments %arg5 {causal, dropout = 1.000000e-01 : f64, scale = 1.250000e-01 : f64, soft_cap = 5.000000e+01 : f64, window = 4 : i64} : tensor<2x4x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<1x4x6x6xf32>, tensor<2x1x1x6xi1>, tensor<4xf32>, tensor<2x6xi32>
  %0, %lse = pp.attention %q, %k, %k bias %bias mask %mask slopes %slopes segments %ids
      {causal, window = 4 : i64, soft_cap = 50.0 : f64, scale = 0.125 : f64, dropout = 0.1 : f64}
      : !q, !k, !k, tensor<1x4x6x6xf32>, tensor<2x1x1x6xi1>, tensor<4xf32>, tensor<2x6xi32>
  // CHECK: pp.attention_grad %arg0, %arg1, %arg1, %[[OUT]], %[[LSE]], %[[OUT]] bias %arg2 mask %arg3 slopes %arg4 segments %arg5 {causal, window = 4 : i64} : tensor<2x4x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<2x2x6x8xbf16>, tensor<2x4x6x8xbf16>, tensor<2x4x6x2xf32> bias tensor<1x4x6x6xf32> mask tensor<2x1x1x6xi1> slopes tensor<4xf32> segments tensor<2x6xi32> -> tensor<2x4x6x6xf32>
  %1:4 = pp.attention_grad %q, %k, %k, %0, %lse, %0 bias %bias mask %mask slopes %slopes segments %ids {causal, window = 4 : i64}
      : !q, !k, !k, !q, !lse bias tensor<1x4x6x6xf32> mask tensor<2x1x1x6xi1> slopes tensor<4xf32> segments tensor<2x6xi32>
      -> tensor<2x4x6x6xf32>
  return %0 : !q
}

// CHECK-LABEL: @each
func.func @each(%q: !q, %k: !k, %bias: tensor<2x1x1x1xbf16>, %mask: tensor<1x1x6x6xi1>, %slopes: tensor<4xbf16>, %ids: tensor<2x6xi64>) {
  // CHECK: pp.attention %arg0, %arg1, %arg1 bias %arg2 : {{.*}}, tensor<2x1x1x1xbf16>
  %0:2 = pp.attention %q, %k, %k bias %bias : !q, !k, !k, tensor<2x1x1x1xbf16>
  // CHECK: pp.attention %arg0, %arg1, %arg1 mask %arg3 : {{.*}}, tensor<1x1x6x6xi1>
  %1:2 = pp.attention %q, %k, %k mask %mask : !q, !k, !k, tensor<1x1x6x6xi1>
  // CHECK: pp.attention %arg0, %arg1, %arg1 slopes %arg4 : {{.*}}, tensor<4xbf16>
  %2:2 = pp.attention %q, %k, %k slopes %slopes : !q, !k, !k, tensor<4xbf16>
  // CHECK: pp.attention %arg0, %arg1, %arg1 segments %arg5 : {{.*}}, tensor<2x6xi64>
  %3:2 = pp.attention %q, %k, %k segments %ids : !q, !k, !k, tensor<2x6xi64>
  return
}

// Fewer queries than keys: the last query is at the last key.
// CHECK-LABEL: @last_queries
func.func @last_queries(%q: tensor<2x4x3x8xbf16>, %k: !k) {
  // CHECK: pp.attention %arg0, %arg1, %arg1 {causal}
  %0:2 = pp.attention %q, %k, %k {causal} : tensor<2x4x3x8xbf16>, !k, !k
  return
}
