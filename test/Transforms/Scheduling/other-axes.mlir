// Any name is an axis of a mesh. Along an axis of the model, gradients and the loss are complete when they are added: of the sums at the end of a
// step only the norm's is over it, wherever it stands in the mesh, since a rank has a part of what the axis cuts.

// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,pp=2 microbatches=2" --pp-place-ops --canonicalize --cse --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-read-through-views --pp-shard --pp-split-tasks --pp-form-buckets --canonicalize --cse --pp-verify-tasks --pp-schedule --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots --pp-verify-schedule | FileCheck %s '-DNORM="pp"'
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,cols=2,pp=2 microbatches=2" --pp-place-ops --canonicalize --cse --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-read-through-views --pp-shard --pp-split-tasks --pp-form-buckets --canonicalize --cse --pp-verify-tasks --pp-schedule --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots --pp-verify-schedule | FileCheck %s '-DNORM="cols", "pp"'
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,pp=2,cols=2 microbatches=2" --pp-place-ops --canonicalize --cse --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-read-through-views --pp-shard --pp-split-tasks --pp-form-buckets --canonicalize --cse --pp-verify-tasks --pp-schedule --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots --pp-verify-schedule | FileCheck %s '-DNORM="pp", "cols"'

// CHECK: pp.start all_reduce over <["dp", "pp"]> channel {{[0-9]+}} <loss>
// CHECK: pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel {{[0-9]+}} <grads, 
// CHECK: pp.start all_reduce over <{{\[}}[[NORM]]]> channel {{[0-9]+}} <norm>
!x = tensor<8x4xf32>
!w = tensor<4x4xf32>
func.func @tied(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : !w
  %b = pp.param "b" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {cols}]>} : !w
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %w : !x, !w
    pp.yield %m : !x
  }
  %1 = pp.on 1 -> tensor<f32> {
    %m = pp.matmul %0, %w : !x, !w
    %n = pp.matmul %m, %b : !x, !w
    %s = pp.reduce mean %n [0, 1] : !x
    pp.yield %s : tensor<f32>
  }
  return %1 : tensor<f32>
}
