// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @unary
func.func @unary(%x: tensor<4x8xf32>) {
  // CHECK: pp.neg %{{.*}} : tensor<4x8xf32>
  %0 = pp.neg %x : tensor<4x8xf32>
  // CHECK: pp.abs %{{.*}} : tensor<4x8xf32>
  %1 = pp.abs %x : tensor<4x8xf32>
  // CHECK: pp.exp %{{.*}} : tensor<4x8xf32>
  %2 = pp.exp %x : tensor<4x8xf32>
  // CHECK: pp.log %{{.*}} : tensor<4x8xf32>
  %3 = pp.log %x : tensor<4x8xf32>
  // CHECK: pp.sqrt %{{.*}} : tensor<4x8xf32>
  %4 = pp.sqrt %x : tensor<4x8xf32>
  // CHECK: pp.rsqrt %{{.*}} : tensor<4x8xf32>
  %5 = pp.rsqrt %x : tensor<4x8xf32>
  // CHECK: pp.tanh %{{.*}} : tensor<4x8xf32>
  %6 = pp.tanh %x : tensor<4x8xf32>
  // CHECK: pp.erf %{{.*}} : tensor<4x8xf32>
  %7 = pp.erf %x : tensor<4x8xf32>
  // CHECK: pp.sigmoid %{{.*}} : tensor<4x8xf32>
  %8 = pp.sigmoid %x : tensor<4x8xf32>
  // CHECK: pp.relu %{{.*}} : tensor<4x8xf32>
  %9 = pp.relu %x : tensor<4x8xf32>
  // CHECK: pp.checkpoint %{{.*}} : tensor<4x8xf32>
  %16 = pp.checkpoint %x : tensor<4x8xf32>
  // CHECK: pp.softplus %{{.*}} : tensor<4x8xf32>
  %15 = pp.softplus %x : tensor<4x8xf32>
  // CHECK: pp.silu %{{.*}} : tensor<4x8xf32>
  %10 = pp.silu %x : tensor<4x8xf32>
  // CHECK: pp.gelu %{{.*}} : tensor<4x8xf32>
  %11 = pp.gelu %x : tensor<4x8xf32>
  // CHECK: pp.gelu %{{.*}} {tanh} : tensor<4x8xf32>
  %12 = pp.gelu %x {tanh} : tensor<4x8xf32>
  // CHECK: pp.gelu_grad %{{.*}}, %{{.*}} {tanh} : tensor<4x8xf32>
  %13 = pp.gelu_grad %x, %x {tanh} : tensor<4x8xf32>
  // CHECK: pp.expm1 %{{.*}} : tensor<4x8xf32>
  %20 = pp.expm1 %x : tensor<4x8xf32>
  // CHECK: pp.log1p %{{.*}} : tensor<4x8xf32>
  %21 = pp.log1p %x : tensor<4x8xf32>
  // CHECK: pp.atan %{{.*}} : tensor<4x8xf32>
  %31 = pp.atan %x : tensor<4x8xf32>
  // CHECK: pp.mish %{{.*}} : tensor<4x8xf32>
  %32 = pp.mish %x : tensor<4x8xf32>
  // CHECK: pp.hardsigmoid %{{.*}} : tensor<4x8xf32>
  %33 = pp.hardsigmoid %x : tensor<4x8xf32>
  // CHECK: pp.hardswish %{{.*}} : tensor<4x8xf32>
  %34 = pp.hardswish %x : tensor<4x8xf32>
  // CHECK: pp.leaky_relu %{{.*}} : tensor<4x8xf32>
  %35 = pp.leaky_relu %x : tensor<4x8xf32>
  // CHECK: pp.leaky_relu %{{.*}} {slope = 2.000000e-01 : f64} : tensor<4x8xf32>
  %36 = pp.leaky_relu %x {slope = 0.2 : f64} : tensor<4x8xf32>
  // CHECK: pp.elu %{{.*}} {alpha = 5.000000e-01 : f64} : tensor<4x8xf32>
  %37 = pp.elu %x {alpha = 0.5 : f64} : tensor<4x8xf32>
  // CHECK: pp.sin %{{.*}} : tensor<4x8xf32>
  %22 = pp.sin %x : tensor<4x8xf32>
  // CHECK: pp.cos %{{.*}} : tensor<4x8xf32>
  %23 = pp.cos %x : tensor<4x8xf32>
  // CHECK: pp.sign %{{.*}} : tensor<4x8xf32>
  %24 = pp.sign %x : tensor<4x8xf32>
  // CHECK: pp.floor %{{.*}} : tensor<4x8xf32>
  %25 = pp.floor %x : tensor<4x8xf32>
  // CHECK: pp.ceil %{{.*}} : tensor<4x8xf32>
  %26 = pp.ceil %x : tensor<4x8xf32>
  // CHECK: pp.round %{{.*}} : tensor<4x8xf32>
  %27 = pp.round %x : tensor<4x8xf32>
  // CHECK: pp.pow %{{.*}} {exponent = 5.000000e-01 : f64} : tensor<4x8xf32>
  %28 = pp.pow %x {exponent = 0.5 : f64} : tensor<4x8xf32>
  // CHECK: pp.clamp %{{.*}} {max = 1.000000e+00 : f64, min = -1.000000e+00 : f64} : tensor<4x8xf32>
  %29 = pp.clamp %x {min = -1.0 : f64, max = 1.0 : f64} : tensor<4x8xf32>
  // CHECK: pp.clamp %{{.*}} {min = 0.000000e+00 : f64} : tensor<4x8xf32>
  %30 = pp.clamp %x {min = 0.0 : f64} : tensor<4x8xf32>
  // CHECK: pp.detach %{{.*}} : tensor<4x8xf32>
  %14 = pp.detach %x : tensor<4x8xf32>
  return
}

// Results have the shape that numpy broadcasts the operands to.
// CHECK-LABEL: @binary
func.func @binary(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %u: tensor<4x1xf32>, %s: tensor<f32>,
                  %i: tensor<4xi64>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xi64>) {
  // CHECK: pp.add %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %0 = pp.add %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.sub %{{.*}}, %{{.*}} : tensor<4x1xf32>, tensor<8xf32>
  %1 = pp.sub %u, %b : tensor<4x1xf32>, tensor<8xf32>
  // CHECK: pp.mul %{{.*}}, %{{.*}} : tensor<f32>, tensor<4x8xf32>
  %2 = pp.mul %s, %x : tensor<f32>, tensor<4x8xf32>
  // CHECK: pp.div %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x1xf32>
  %3 = pp.div %x, %u : tensor<4x8xf32>, tensor<4x1xf32>
  // CHECK: pp.maximum %{{.*}}, %{{.*}} : tensor<4xi64>, tensor<4xi64>
  %4 = pp.maximum %i, %i : tensor<4xi64>, tensor<4xi64>
  // CHECK: pp.minimum %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
  %5 = pp.minimum %s, %s : tensor<f32>, tensor<f32>
  // CHECK: pp.power %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %6 = pp.power %x, %b : tensor<4x8xf32>, tensor<8xf32>
  return %0, %1, %4 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xi64>
}

// CHECK-LABEL: @choice
func.func @choice(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK: pp.compare eq %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8xf32>
  %0 = pp.compare eq %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.compare ne
  %1 = pp.compare ne %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.compare lt
  %2 = pp.compare lt %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.compare le
  %3 = pp.compare le %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.compare gt
  %4 = pp.compare gt %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.compare ge
  %5 = pp.compare ge %x, %b : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: pp.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8xi1>, tensor<8xf32>, tensor<8xf32>
  %6 = pp.select %0, %b, %b : tensor<4x8xi1>, tensor<8xf32>, tensor<8xf32>
  return %6 : tensor<4x8xf32>
}

// CHECK-LABEL: @cast
func.func @cast(%x: tensor<4xf32>, %c: tensor<4xi1>) {
  // CHECK: pp.cast %{{.*}} : tensor<4xf32> to tensor<4xbf16>
  %0 = pp.cast %x : tensor<4xf32> to tensor<4xbf16>
  // CHECK: pp.cast %{{.*}} : tensor<4xi1> to tensor<4xi32>
  %1 = pp.cast %c : tensor<4xi1> to tensor<4xi32>
  return
}

// CHECK-LABEL: @random
func.func @random(%key: tensor<15xi64>) {
  // CHECK: pp.random uniform -> tensor<4x8xf32>
  %0 = pp.random uniform -> tensor<4x8xf32>
  // CHECK: pp.random uniform {high = 2 : i64, low = -1.000000e+00 : f64} -> tensor<bf16>
  %1 = pp.random uniform {low = -1.0, high = 2} -> tensor<bf16>
  // CHECK: pp.random normal key %{{.*}} : tensor<15xi64> {mean = 1.000000e+00 : f64, std = 0.000000e+00 : f64, stream = 7 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 4, period = 16}], [16, 8]>} -> tensor<4x8xf64>
  %2 = pp.random normal key %key : tensor<15xi64> {mean = 1.0, std = 0.0, stream = 7 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 4, period = 16}], [16, 8]>} -> tensor<4x8xf64>
  return
}

// CHECK-LABEL: @dropout
func.func @dropout(%x: tensor<4x8xf32>, %key: tensor<15xi64>) {
  // CHECK: pp.dropout %{{.*}} {p = 1.000000e-01 : f64} : tensor<4x8xf32>
  %0 = pp.dropout %x {p = 0.1 : f64} : tensor<4x8xf32>
  // CHECK: pp.dropout %{{.*}} key %{{.*}} : tensor<15xi64> {p = 0.000000e+00 : f64, stream = 7 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 2, period = 8}], [16, 8]>} : tensor<4x8xf32>
  %1 = pp.dropout %x key %key : tensor<15xi64> {p = 0.0 : f64, stream = 7 : i64, tile = #pp.tile<[{dim = 0, axis = dp, at = 4, parts = 2, period = 16}, {dim = 0, axis = mb, at = 3, parts = 2, period = 8}], [16, 8]>} : tensor<4x8xf32>
  return
}

// CHECK-LABEL: @accumulate
func.func @accumulate(%x: tensor<4x8xf32>) {
  // CHECK: pp.accumulate %{{.*}}, %{{.*}} : tensor<4x8xf32>
  %0 = pp.accumulate %x, %x : tensor<4x8xf32>
  return
}
