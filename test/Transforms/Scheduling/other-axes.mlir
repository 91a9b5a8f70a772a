// Any name is an axis of a mesh. An axis that splits neither the batch nor the model cuts nothing: ranks along it are replicas that
// compute the same, and no sum is over it. So the schedules are those of the mesh without it, wherever it stands.

// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,pp=2 microbatches=2" --pp-place-ops --canonicalize --cse --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-shard --pp-read-through-views --pp-split-tasks --pp-form-buckets --canonicalize --cse --pp-verify-tasks --pp-schedule --pp-insert-transfers --pp-insert-collectives --pp-bind-operands --pp-assign-slots --pp-verify-schedule > %t.without
// RUN: FileCheck %s < %t.without
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,rows=3,pp=2 microbatches=2" --pp-place-ops --canonicalize --cse --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-shard --pp-read-through-views --pp-split-tasks --pp-form-buckets --canonicalize --cse --pp-verify-tasks --pp-schedule --pp-insert-transfers --pp-insert-collectives --pp-bind-operands --pp-assign-slots --pp-verify-schedule > %t.with
// RUN: FileCheck %s --check-prefix=MESH < %t.with
// RUN: sed 's/, #pp.axis<"rows" = 3>//' %t.with | diff %t.without -
// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,pp=2,rows=3 microbatches=2" --pp-place-ops --canonicalize --cse --pp-autodiff --canonicalize --cse --pp-sink-loss --pp-shard --pp-read-through-views --pp-split-tasks --pp-form-buckets --canonicalize --cse --pp-verify-tasks --pp-schedule --pp-insert-transfers --pp-insert-collectives --pp-bind-operands --pp-assign-slots --pp-verify-schedule | sed 's/, #pp.axis<"rows" = 3>//' | diff %t.without -

// MESH: mesh = [#pp.axis<"dp" = 2>, #pp.axis<"rows" = 3>, #pp.axis<"pp" = 2>]
// CHECK: pp.start {{[0-9]+}} all_reduce over <["dp", "pp"]> channel {{[0-9]+}} #pp.role<loss, "loss">
// CHECK: pp.start {{[0-9]+}} all_reduce over <["dp", "pp"] among [0, 1]> channel {{[0-9]+}} @
// CHECK: pp.start {{[0-9]+}} all_reduce over <["pp"]> channel {{[0-9]+}} #pp.role<norm, "norm">
!x = tensor<8x4xf32>
!w = tensor<4x4xf32>
func.func @tied(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : !w
  %b = pp.param "b" {init = #pp.init<ones>} : !w
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
