// RUN: ppopt opt %s --pp-read-through-views --split-input-file | FileCheck %s

// The forward goes on with the heads merged into rows, through a checkpoint too; the backward reads that, and takes them apart.
// CHECK-LABEL: func.func @merged
// CHECK: %[[F:.*]]:4 = pp.place 0 stage 0
// CHECK: %[[A:.*]], %{{.*}} = pp.attention
// CHECK: %[[T:.*]] = pp.transpose %[[A]]
// CHECK: %[[C:.*]] = pp.checkpoint %[[T]]
// CHECK: %[[R:.*]] = pp.reshape %[[C]]
// CHECK: pp.yield %{{.*}}, %[[A]], %{{.*}}, %[[R]]
// CHECK: pp.place 0 stage 0 backward
// CHECK-NEXT: %[[S:.*]] = pp.reshape %[[F]]#3 : tensor<2x4x6xf32> to tensor<2x4x2x3xf32>
// CHECK-NEXT: %[[U:.*]] = pp.transpose %[[S]] [0, 2, 1, 3]
// CHECK-NEXT: pp.mul %[[U]], %[[F]]#2
// CHECK-NEXT: pp.neg %[[F]]#2
!heads = tensor<2x2x4x3xf32>
func.func @merged(%q: !heads {pp.input = "q"}, %k: !heads {pp.input = "k"}, %v: !heads {pp.input = "v"}) -> tensor<f32> {
  %f:3 = pp.place 0 stage 0 -> tensor<f32>, !heads, !heads {
    %a, %lse = pp.attention %q, %k, %v : !heads, !heads, !heads
    %t = pp.transpose %a [0, 2, 1, 3] : !heads
    %c = pp.checkpoint %t : tensor<2x4x2x3xf32>
    %r = pp.reshape %c : tensor<2x4x2x3xf32> to tensor<2x4x6xf32>
    %l = pp.reduce sum %r [0, 1, 2] : tensor<2x4x6xf32>
    %e = pp.exp %q : !heads
    pp.yield %l, %a, %e : tensor<f32>, !heads, !heads
  }
  pp.place 0 stage 0 backward {
    %0 = pp.mul %f#1, %f#2 : !heads, !heads
    %1 = pp.neg %f#2 : !heads
    pp.yield
  }
  return %f#0 : tensor<f32>
}

// -----

// The forward reads it as it is too: the backward does so as well.
// CHECK-LABEL: func.func @read_twice
// CHECK: %[[F:.*]]:2 = pp.place 0 stage 0
// CHECK: pp.place 0 stage 0 backward
// CHECK-NEXT: pp.neg %[[F]]#1
!heads = tensor<2x2x4x3xf32>
func.func @read_twice(%q: !heads {pp.input = "q"}, %k: !heads {pp.input = "k"}, %v: !heads {pp.input = "v"}) -> tensor<f32> {
  %f:2 = pp.place 0 stage 0 -> tensor<f32>, !heads {
    %a, %lse = pp.attention %q, %k, %v : !heads, !heads, !heads
    %t = pp.transpose %a [0, 2, 1, 3] : !heads
    %r = pp.reshape %t : tensor<2x4x2x3xf32> to tensor<2x4x6xf32>
    %0 = pp.reduce sum %r [0, 1, 2] : tensor<2x4x6xf32>
    %1 = pp.reduce sum %a [0, 1, 2, 3] : !heads
    %l = pp.add %0, %1 : tensor<f32>, tensor<f32>
    pp.yield %l, %a : tensor<f32>, !heads
  }
  pp.place 0 stage 0 backward {
    %0 = pp.neg %f#1 : !heads
    pp.yield
  }
  return %f#0 : tensor<f32>
}
