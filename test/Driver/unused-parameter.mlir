// A parameter that nothing uses, or that only an unused value uses, stays in the program: files of parameters name it.
// RUN: ppopt compile %s --stop-after=scheduled 2> %t.err | FileCheck %s
// RUN: FileCheck --check-prefix=WARN %s < %t.err

// WARN: unused-parameter.mlir:[[#@LINE+9]]:{{.*}}warning: 'alone' never learns: it does not reach the loss
// WARN: unused-parameter.mlir:[[#@LINE+9]]:{{.*}}warning: 'dead' never learns: it does not reach the loss

// CHECK-DAG: pp.param_decl "w"{{.*}}learns
// CHECK-DAG: pp.param_decl "alone"
// CHECK-DAG: pp.param_decl "dead"
// CHECK-NOT: pp.exp
func.func @main(%x: tensor<4x3xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3xf32>
  %alone = pp.param "alone" {init = #pp.init<ones>} : tensor<2xf32>
  %dead = pp.param "dead" {init = #pp.init<ones>} : tensor<2xf32>
  %unused = pp.exp %dead : tensor<2xf32>
  %0 = pp.mul %x, %w : tensor<4x3xf32>, tensor<3xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<4x3xf32>
  return %1 : tensor<f32>
}
