// Where layers are computed again, what is computed stays marked; what the model is given is there without a mark.
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1 recompute=layer" | FileCheck %s
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1 recompute=none" | FileCheck %s --check-prefix=NONE

// A metric that is a parameter crosses to the place of the loss.
// RUN: ppopt compile %s --mesh pp=2 --recompute layer --threads 1 --stop-after=native -o /dev/null

// CHECK: %[[W:.*]] = pp.param "w"
// CHECK-NOT: pp.checkpoint %[[W]]
// CHECK: pp.matmul %{{[a-z]+}}0
// CHECK: %[[MARK:.*]] = pp.checkpoint
// CHECK: pp.matmul %[[MARK]]
// CHECK: return %{{.*}}, %[[W]]
// NONE-NOT: pp.checkpoint
func.func @model(%x: tensor<4x5xf64> {pp.input = "x"}) -> (tensor<f64>, tensor<f64> {pp.metric = "m"}) {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<f64>
  %a = pp.param "a" {init = #pp.init<ones>} : tensor<5x5xf64>
  %b = pp.param "b" {init = #pp.init<ones>} : tensor<5x5xf64>
  %kept = pp.checkpoint %w : tensor<f64>
  %given = pp.checkpoint %x : tensor<4x5xf64>
  %1 = pp.matmul %given, %a : tensor<4x5xf64>, tensor<5x5xf64>
  %2 = pp.checkpoint %1 : tensor<4x5xf64>
  %3 = pp.matmul %2, %b : tensor<4x5xf64>, tensor<5x5xf64>
  %l = pp.reduce sum %3 [0, 1] : tensor<4x5xf64>
  return %l, %kept : tensor<f64>, tensor<f64>
}
