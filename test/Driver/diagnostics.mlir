// Errors in a model point into the user's file.

// RUN: split-file %s %t
// RUN: not %ppopt compile %t/syntax.mlir --stop-after=model 2>&1 | FileCheck %s --check-prefix=SYNTAX
// RUN: not %ppopt compile %t/shape.mlir --stop-after=model 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not %ppopt compile %t/batch.mlir --mesh dp=3 --stop-after=placed 2>&1 | FileCheck %s --check-prefix=BATCH

// SYNTAX: syntax.mlir:2:{{[0-9]+}}: error: {{.*}}'pp.mtmul'
//--- syntax.mlir
func.func @f(%x: tensor<4x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %y = pp.mtmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32>
  return %y : tensor<f32>
}

// SHAPE: shape.mlir:3:{{[0-9]+}}: error:
//--- shape.mlir
func.func @f(%x: tensor<4x5xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x5xf32>
  %y = pp.matmul %x, %w : tensor<4x5xf32>, tensor<4x5xf32>
  %l = pp.reduce sum %y [0, 1] : tensor<4x5xf32>
  return %l : tensor<f32>
}

// BATCH: batch.mlir:1:1: error: {{.*}}batch of 4 rows is not divided by dp 3 x microbatches 1
//--- batch.mlir
func.func @f(%x: tensor<4x5xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<5x5xf32>
  %y = pp.matmul %x, %w : tensor<4x5xf32>, tensor<5x5xf32>
  %l = pp.reduce sum %y [0, 1] : tensor<4x5xf32>
  return %l : tensor<f32>
}
