// RUN: ppopt opt %s --pp-form-generator --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: pp.input_decl "token" {ranges = [#pp.id_range<[0], [1], 16, "">], shift = 0 : i64, type = tensor<1x1xi32>}
// CHECK-NEXT: pp.input_decl "position" {ranges = [#pp.id_range<[], [], 8, "">], shift = 0 : i64, type = tensor<1xi64>}
// Parameters stay in the order of the model, those that nothing uses too; the task takes what it uses.
// CHECK-NEXT: pp.param_decl "unused" {init = #pp.init<zeros>, pp.aliases = ["spare"]
// CHECK-NEXT: pp.param_decl "w" {frozen, init = #pp.init<zeros>, no_decay, type = tensor<16x16xf32>}
// CHECK-NEXT: pp.task forward stage 0 @generate(%arg0: tensor<1x1xi32> {pp.role = #pp.role<input, "token">}, %arg1: tensor<1xi64> {pp.role = #pp.role<input, "position">},
// CHECK-SAME: %arg2: tensor<1x2x8x4xf32> {pp.role = #pp.role<cache, "cache0">}, %arg3: tensor<16x16xf32> {pp.role = #pp.role<param, "w">})
// CHECK-SAME: -> (tensor<16xf32> {pp.role = #pp.role<output, "logits">}, tensor<1x2x8x4xf32> {pp.role = #pp.role<cache, "cache0">}) {
// CHECK-NEXT: pp.embedding %arg3, %arg0
// CHECK: pp.return %{{.*}}, %arg2
// CHECK: pp.step evaluation {
// CHECK-NEXT: pp.call @generate() : () -> ()
// CHECK-NEXT: }
// CHECK: pp.schedule 0 attributes {evaluation, slots = array<i64>} {
// CHECK-NEXT: pp.run @generate microbatch 0
// CHECK-NEXT: }
// CHECK-NOT: func.func
func.func @main(%token: tensor<1x1xi32> {pp.range = 16 : i64, pp.role = #pp.role<input, "token">}, %at: tensor<1xi64> {pp.range = 8 : i64, pp.role = #pp.role<input, "position">},
    %k: tensor<1x2x8x4xf32> {pp.role = #pp.role<cache, "cache0">})
    -> (tensor<16xf32> {pp.role = #pp.role<output, "logits">}, tensor<1x2x8x4xf32> {pp.role = #pp.role<cache, "cache0">}) {
  %u = pp.param "unused" {init = #pp.init<zeros>, pp.aliases = ["spare"]} : tensor<3xf32>
  %w = pp.param "w" {init = #pp.init<zeros>, frozen, no_decay} : tensor<16x16xf32>
  %x = pp.embedding %w, %token : tensor<16x16xf32>, tensor<1x1xi32>
  %y = pp.reshape %x : tensor<1x1x16xf32> to tensor<16xf32>
  return %y, %k : tensor<16xf32>, tensor<1x2x8x4xf32>
}

// -----

// expected-error @below {{is not the entry of a program that generates: argument 0 has no pp.role; run --pp-make-generator first}}
func.func @model(%x: tensor<2x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %l = pp.reduce sum %x [0, 1] : tensor<2x8xf32>
  return %l : tensor<f32>
}
