// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @rotary
func.func @rotary(%x: tensor<2x3x5x8xf32>, %p: tensor<2x5xi32>, %q: tensor<5xi64>) {
  // CHECK: pp.rotary %{{.*}} : tensor<2x3x5x8xf32>{{$}}
  %0 = pp.rotary %x : tensor<2x3x5x8xf32>
  // CHECK: pp.rotary %{{.*}} {base = 5.000000e+05 : f64, interleaved, width = 4 : i64} : tensor<2x3x5x8xf32>{{$}}
  %1 = pp.rotary %x {base = 5.0e+5 : f64, interleaved, width = 4 : i64} : tensor<2x3x5x8xf32>
  // CHECK: pp.rotary %{{.*}} at %{{.*}} : tensor<2x3x5x8xf32>, tensor<2x5xi32>{{$}}
  %2 = pp.rotary %x at %p : tensor<2x3x5x8xf32>, tensor<2x5xi32>
  // CHECK: pp.rotary %{{.*}} at %{{.*}} scaled linear {factor = 2.000000e+00 : f64} : tensor<2x3x5x8xf32>, tensor<5xi64>{{$}}
  %3 = pp.rotary %x at %q scaled linear {factor = 2.0 : f64} : tensor<2x3x5x8xf32>, tensor<5xi64>
  // CHECK: pp.rotary %{{.*}} scaled ntk {factor = 2 : i64} : tensor<2x3x5x8xf32>{{$}}
  %4 = pp.rotary %x scaled ntk {factor = 2} : tensor<2x3x5x8xf32>
  // CHECK: pp.rotary %{{.*}} scaled llama3 {factor = 8.000000e+00 : f64, high_freq_factor = 4.000000e+00 : f64, low_freq_factor = 1.000000e+00 : f64, original_length = 8192 : i64} : tensor<2x3x5x8xf32>{{$}}
  %5 = pp.rotary %x scaled llama3 {factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_length = 8192 : i64} : tensor<2x3x5x8xf32>
  return
}

// CHECK-LABEL: @rotate
func.func @rotate(%x: tensor<3x5x2x4xbf16>, %t: tensor<5x1x4xf32>) {
  // CHECK: pp.rotate %{{.*}}, %{{.*}}, %{{.*}} {dim = 2 : i64} : tensor<3x5x2x4xbf16>, tensor<5x1x4xf32>
  %0 = pp.rotate %x, %t, %t {dim = 2 : i64} : tensor<3x5x2x4xbf16>, tensor<5x1x4xf32>
  // CHECK: pp.rotate %{{.*}}, %{{.*}}, %{{.*}} {dim = 2 : i64, inverse} : tensor<3x5x2x4xbf16>, tensor<5x1x4xf32>
  %1 = pp.rotate %x, %t, %t {dim = 2 : i64, inverse} : tensor<3x5x2x4xbf16>, tensor<5x1x4xf32>
  return
}
