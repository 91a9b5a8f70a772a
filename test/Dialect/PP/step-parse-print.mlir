// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.task collect @p0_C(%g: tensor<64xf32>) {
  pp.return
}
// CHECK: pp.step begin {
// CHECK-NEXT: pp.copy_bucket @b0 from 0 to 1 {id = 4 : i64}{{$}}
// CHECK-NEXT: } microbatch {
// CHECK-NEXT: %[[H:.*]] = pp.call @s0_F() : () -> tensor<1x4xf32>
// CHECK-NEXT: %{{.*}} = pp.copy %[[H]] from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
// CHECK-NEXT: } end {
// CHECK-NEXT: %[[G:.*]] = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 4 : i64, id = 5 : i64} : tensor<64xf32>
// CHECK-NEXT: pp.call @p0_C(%[[G]]) : (tensor<64xf32>) -> ()
// CHECK-NEXT: }
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 4 : i64}
} microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
} end {
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 4 : i64, id = 5 : i64} : tensor<64xf32>
  pp.call @p0_C(%0) : (tensor<64xf32>) -> ()
}
