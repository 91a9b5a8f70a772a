// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @param
func.func @param() {
  // CHECK: pp.param "w" {frozen, init = #pp.init<zeros>} : tensor<4x8xf32>
  %0 = pp.param "w" {init = #pp.init<zeros>, frozen} : tensor<4x8xf32>
  // CHECK: pp.param "b" {init = #pp.init<ones>, no_decay} : tensor<8xf64>
  %1 = pp.param "b" {init = #pp.init<ones>, no_decay} : tensor<8xf64>
  // CHECK: pp.param "u" {init = #pp.init<uniform, -1.000000e+00, 5.000000e-01>} : tensor<8xbf16>
  %2 = pp.param "u" {init = #pp.init<uniform, -1.0, 0.5>} : tensor<8xbf16>
  // CHECK: pp.param "n" {init = #pp.init<normal, 0.000000e+00, 2.000000e-02>} : tensor<f32>
  %3 = pp.param "n" {init = #pp.init<normal, 0.0, 0.02>} : tensor<f32>
  // CHECK: pp.param "t" {init = #pp.init<trunc_normal, 1.000000e+00, 2.000000e-02>} : tensor<f32>
  %4 = pp.param "t" {init = #pp.init<trunc_normal, 1, 0.02>} : tensor<f32>
  // CHECK: pp.param "xu" {init = #pp.init<xavier_uniform, 1.000000e+00>} : tensor<4x8xf32>
  %5 = pp.param "xu" {init = #pp.init<xavier_uniform, 1.0>} : tensor<4x8xf32>
  // CHECK: pp.param "xn" {init = #pp.init<xavier_normal, 5.000000e-01>} : tensor<3x4x8xf32>
  %6 = pp.param "xn" {init = #pp.init<xavier_normal, 0.5>} : tensor<3x4x8xf32>
  // CHECK: pp.param "ku" {init = #pp.init<kaiming_uniform, 1.000000e+00, 8.000000e+00>} : tensor<4x8xf32>
  %7 = pp.param "ku" {init = #pp.init<kaiming_uniform, 1.0, 8>} : tensor<4x8xf32>
  // CHECK: pp.param "kn" {init = #pp.init<kaiming_normal, 1.414{{[0-9e+]+}}, 3.000000e+00>} : tensor<f32>
  %8 = pp.param "kn" {init = #pp.init<kaiming_normal, 1.414, 3.0>} : tensor<f32>
  return
}

// CHECK-LABEL: @constant
func.func @constant() {
  // CHECK: pp.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = pp.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: pp.constant dense<true> : tensor<2x2xi1>
  %1 = pp.constant dense<true> : tensor<2x2xi1>
  return
}

// CHECK-LABEL: @iota
func.func @iota(%key: tensor<15xi64>) {
  // CHECK: pp.iota {dim = 1 : i64} -> tensor<4x8xi32>
  %0 = pp.iota {dim = 1 : i64} -> tensor<4x8xi32>
  // CHECK: pp.iota %{{.*}} : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 2, period = 8}], [16, 8]>} -> tensor<4x8xf32>
  %1 = pp.iota %key : tensor<15xi64> {dim = 0 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 2, period = 8}], [16, 8]>} -> tensor<4x8xf32>
  // An axis that is no identifier is quoted.
  // CHECK: pp.iota %{{.*}} : tensor<15xi64> {dim = 1 : i64, tile = #pp.tile<[{dim = 1, axis = "1st", at = 11, parts = 2, period = 16}], [4, 16]>} -> tensor<4x8xi32>
  %2 = pp.iota %key : tensor<15xi64> {dim = 1 : i64, tile = #pp.tile<[{dim = 1, axis = "1st", at = 11, parts = 2, period = 16}], [4, 16]>} -> tensor<4x8xi32>
  return
}
