// RUN: %ppopt opt %s | %ppopt opt | FileCheck %s
// RUN: %ppopt opt %s --mlir-print-op-generic | %ppopt opt | FileCheck %s

// CHECK-LABEL: @one
func.func @one(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[R:.*]] = pp.repeat 24 iter (%[[H:.*]] = %arg0) -> (tensor<4x8xf32>) {
  // CHECK-NEXT: %[[W:.*]] = pp.param "h.{i}.w"
  // CHECK-NEXT: %[[M:.*]] = pp.mul %[[H]], %[[W]]
  // CHECK-NEXT: pp.yield %[[M]] : tensor<4x8xf32>
  // CHECK-NEXT: }
  %r = pp.repeat 24 iter (%h = %x) -> (tensor<4x8xf32>) {
    %w = pp.param "h.{i}.w" {init = #pp.init<ones>} : tensor<8xf32>
    %m = pp.mul %h, %w : tensor<4x8xf32>, tensor<8xf32>
    pp.yield %m : tensor<4x8xf32>
  }
  // CHECK: return %[[R]]
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: @none_and_several
func.func @none_and_several(%x: tensor<4xf32>, %y: tensor<2xi32>) {
  // CHECK: pp.repeat 1 {
  // CHECK-NEXT: pp.yield
  pp.repeat 1 {
    pp.yield
  }
  // CHECK: %[[R:.*]]:2 = pp.repeat 3 index "j" iter (%[[A:.*]] = %arg0, %[[B:.*]] = %arg1) -> (tensor<4xf32>, tensor<2xi32>) {
  // CHECK-NEXT: pp.yield %[[A]], %[[B]] : tensor<4xf32>, tensor<2xi32>
  %r:2 = pp.repeat 3 index "j" iter (%a = %x, %b = %y) -> (tensor<4xf32>, tensor<2xi32>) {
    pp.yield %a, %b : tensor<4xf32>, tensor<2xi32>
  }
  return
}

// CHECK-LABEL: @each
func.func @each() {
  pp.repeat 2 {
    pp.repeat 3 index "j" {
      // CHECK: pp.each dense<[1, 2]> : tensor<2xi32>
      %0 = pp.each dense<[1, 2]> : tensor<2xi32>
      // CHECK: pp.each "j" dense<{{.*}}> : tensor<3x2xf32>
      %1 = pp.each "j" dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
      %2 = pp.mul %1, %1 : tensor<2xf32>, tensor<2xf32>
      pp.yield
    }
    pp.yield
  }
  return
}
