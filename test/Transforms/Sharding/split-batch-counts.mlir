// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1,pp=3 microbatches=4" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-shard | FileCheck %s

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// A count that several stages read is completed after the stage that makes it, once for all of them.
// CHECK-LABEL: func.func @count
// CHECK: %[[MADE:.*]] = pp.place 2 stage 0
// CHECK: %[[COPY:.*]] = pp.copy %[[MADE]] from 2 to 0
// CHECK-NEXT: %[[COUNT:.*]] = pp.batch_sum %[[COPY]]
// CHECK-NOT: pp.batch_sum
// CHECK: pp.place 0 stage 3 {{.*}}-> tensor<f32>
// CHECK: pp.div {{.*}}, %[[COUNT]]
// CHECK: pp.place 0 stage 3 backward {{.*}}-> tensor<2xf32>
// CHECK: pp.div {{.*}}, %[[COUNT]]
func.func @count(%x: !x {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f32> {
  %a = pp.param "a" {init = #pp.init<zeros>} : !w
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %a : !x, !w
    pp.yield %m : !x
  }
  %n = pp.on 2 -> tensor<f32> {
    %c = pp.count %t {ignore_index = -1 : i64} : tensor<8xi32> to tensor<f32>
    pp.yield %c : tensor<f32>
  }
  %k = pp.on 1 -> tensor<8xf32> {
    %c = pp.token_loss %0, %t {ignore_index = -1 : i64} : !x, tensor<8xi32>
    pp.yield %c : tensor<8xf32>
  }
  %l = pp.on 0 -> tensor<f32> {
    %r = pp.reduce sum %k [0] : tensor<8xf32>
    %q = pp.div %r, %n : tensor<f32>, tensor<f32>
    pp.yield %q : tensor<f32>
  }
  return %l : tensor<f32>
}
