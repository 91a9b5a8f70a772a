// Updates of parameters in bf16 are lost in rounding: one warning, whatever else is compiled of the model, and none where nothing is trained in bf16.
// RUN: %ppopt plan %s --mesh dp=2 2>&1 | FileCheck %s --check-prefixes=CHECK,TWO --implicit-check-not=warning:
// RUN: %ppopt compile %s --mesh pp=2 -o %t 2>&1 | FileCheck %s --check-prefixes=CHECK,TWO --implicit-check-not=warning:
// RUN: not %ppopt plan %s --werror 2>&1 | FileCheck %s --check-prefixes=CHECK,TWO,ERROR --implicit-check-not=warning:
// RUN: %ppopt plan %s --freeze 'w' 2>&1 | FileCheck %s --check-prefix=ONE --implicit-check-not=warning:
// RUN: %ppopt plan %s --freeze 'w; v' --werror 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=warning:
// RUN: sed 's/bf16/f32/g' %s > %t.mlir
// RUN: %ppopt plan %t.mlir --precision bf16 --cpu znver4 --werror 2>&1 | FileCheck %s --check-prefix=NONE --implicit-check-not=warning:

// CHECK: trained-in-bf16.mlir:[[#@LINE+8]]:{{[0-9]+}}: warning:
// TWO-SAME: 'w' and 1 more are trained in bf16: updates of less than 1/512 of a weight are lost in rounding; make parameters f32, and compile with --precision bf16
// ONE: warning: 'v' is trained in bf16: updates
// ERROR: error: 1 warning, which --werror makes errors
// NONE: batch 4
func.func @main(%x: tensor<4x3xbf16> {pp.input = "x"})
    -> (tensor<bf16>, tensor<4x3xbf16> {pp.output = "y"}) {
  %b = pp.param "b" {init = #pp.init<ones>, frozen} : tensor<3xbf16>
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3x3xbf16>
  %v = pp.param "v" {init = #pp.init<ones>} : tensor<3x3xbf16>
  %s = pp.param "s" {init = #pp.init<ones>} : tensor<f32>
  %0 = pp.matmul %x, %w : tensor<4x3xbf16>, tensor<3x3xbf16>
  %1 = pp.add %0, %b : tensor<4x3xbf16>, tensor<3xbf16>
  %2 = pp.tanh %1 : tensor<4x3xbf16>
  %y = pp.matmul %2, %v : tensor<4x3xbf16>, tensor<3x3xbf16>
  %3 = pp.cast %s : tensor<f32> to tensor<bf16>
  %4 = pp.mul %y, %3 : tensor<4x3xbf16>, tensor<bf16>
  %loss = pp.reduce mean %4 [0, 1] : tensor<4x3xbf16>
  return %loss, %y : tensor<bf16>, tensor<4x3xbf16>
}
