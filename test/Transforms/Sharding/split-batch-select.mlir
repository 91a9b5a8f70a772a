// RUN: %ppopt compile %s --mesh dp=2 --stop-after=partitioned -o - | FileCheck %s

// A choice between a sum over the batch and zero is a sum over the batch: the gradient of |w| is made of such.
// CHECK: pp.task
// CHECK: pp.select

func.func @penalty(%x: tensor<4x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3xf64>
  %a = pp.abs %w : tensor<3xf64>
  %m = pp.mul %x, %a : tensor<4x3xf64>, tensor<3xf64>
  %loss = pp.reduce sum %m [0, 1] : tensor<4x3xf64>
  return %loss : tensor<f64>
}
