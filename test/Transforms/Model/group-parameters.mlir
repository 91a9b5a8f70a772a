// RUN: ppopt opt %s --pp-group-parameters="freeze='h.*;wte' lr-scale='*.b=10; wpe=0.5; h.w=1' decay='*.b=0;w*e=0.25;n=1'" | FileCheck %s
// RUN: ppopt opt %s --pp-group-parameters | FileCheck %s --check-prefix=SAME
// RUN: not ppopt opt %s --pp-group-parameters="freeze='h.w; wtf'" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not ppopt opt %s --pp-group-parameters="freeze='mean'" 2>&1 | FileCheck %s --check-prefix=STATE
// RUN: not ppopt opt %s --pp-group-parameters="freeze='[h'" 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not ppopt opt %s --pp-group-parameters="lr-scale='h.w'" 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not ppopt opt %s --pp-group-parameters="lr-scale='h.w=-1'" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not ppopt opt %s --pp-group-parameters="decay='h.w=inf'" 2>&1 | FileCheck %s --check-prefix=INFINITE
// RUN: not ppopt opt %s --pp-group-parameters="decay='h.w=0.5; *.w=0.25'" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: ppopt opt %s --pp-group-parameters="decay='h.w=0.5; *.w=0.5'"

// NAME: error: --freeze: no parameter is named 'wtf'; did you mean 'wte'?
// STATE: error: --freeze: no parameter is named 'mean'
// GLOB: error: --freeze: '[h' is no glob: {{.*}}
// VALUE: error: --lr-scale: 'h.w' is not GLOB=FACTOR, such as '*.bias=0.1'
// NEGATIVE: error: --lr-scale: '-1' of 'h.w' is no finite number of at least 0
// INFINITE: error: --decay: 'inf' of 'h.w' is no finite number of at least 0
// TWICE: error: --decay: 'h.w' and '*.w' match 'h.w' and say different factors

// What a flag says stands in place of what the model says. A factor of 1 is none.
// CHECK: pp.param "h.w" {frozen, init = #pp.init<zeros>} :
// CHECK: pp.param "h.b" {frozen, init = #pp.init<zeros>, lr_scale = 1.000000e+01 : f64, no_decay} :
// CHECK: pp.param "wte" {decay_scale = 2.500000e-01 : f64, frozen, init = #pp.init<zeros>} :
// CHECK: pp.param "wpe" {decay_scale = 2.500000e-01 : f64, init = #pp.init<zeros>, lr_scale = 5.000000e-01 : f64} :
// CHECK: pp.param "n" {init = #pp.init<ones>, lr_scale = 3.000000e+00 : f64} :
// SAME: pp.param "h.w" {init = #pp.init<zeros>, lr_scale = 2.000000e+00 : f64} :
// SAME: pp.param "n" {init = #pp.init<ones>, lr_scale = 3.000000e+00 : f64, no_decay} :
func.func @f(%x: tensor<2x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.param "h.w" {init = #pp.init<zeros>, lr_scale = 2.0} : tensor<4xf32>
  %1 = pp.param "h.b" {init = #pp.init<zeros>} : tensor<4xf32>
  %2 = pp.param "wte" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %3 = pp.param "wpe" {init = #pp.init<zeros>, no_decay} : tensor<4xf32>
  %4 = pp.param "n" {init = #pp.init<ones>, no_decay, lr_scale = 3.0} : tensor<4xf32>
  %s = pp.param "mean" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %5 = pp.mul %x, %0 : tensor<2x4xf32>, tensor<4xf32>
  %6 = pp.reduce sum %5 [0, 1] : tensor<2x4xf32>
  return %6 : tensor<f32>
}
