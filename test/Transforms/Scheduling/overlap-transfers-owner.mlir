// RUN: ppopt opt %s --pp-schedule --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots | FileCheck %s
// RUN: sed -e 's/launch = "ranks"/launch = "local"/' -e 's/"dp" = 2/"dp" = 1/' -e 's/, shard_group = [^>]*>//' %s | ppopt opt --pp-schedule-local --pp-insert-collectives --pp-assign-slots | FileCheck %s --check-prefix=LOCAL

// What place 1 borrows comes once per step, before all that is sent for microbatches, and is waited for before the first run that reads
// it; the owner may update it when it has gone. The gradients go back after the last run of a stage, and are in a slot until the
// owner has added them; only then are they summed over dp, on the owner.
// CHECK-LABEL: pp.schedule 0 attributes {slots = array<i64: 192, 192, 256>} {
// CHECK-NEXT: pp.zero
// CHECK-NEXT: %[[P:[0-9]+]] = pp.send copy 1{{$}}
// CHECK: %[[F0:[0-9]+]] = pp.run @s0_F microbatch 0 () slots [0]
// CHECK: pp.send copy 0 microbatch 0 (%[[F0]]) :
// CHECK: pp.run @s0_B microbatch 1
// CHECK: %[[G:[0-9]+]] = pp.recv copy 2 slot 2 : !pp.future<tensor<64xf32>>
// CHECK-NEXT: %[[D:[0-9]+]] = pp.wait %[[G]] :
// CHECK-NEXT: pp.run @p0_C_b0 microbatch 0 (%[[D]])
// CHECK-NEXT: %[[S:[0-9]+]] = pp.start all_reduce over <["dp"]> channel {{[0-9]+}} <grads, "b0">
// CHECK-NEXT: pp.wait %[[S]] :
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 0
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 1
// CHECK: pp.wait %[[P]] :
// CHECK-NEXT: pp.wait
// CHECK-NEXT: pp.run @p0_D
// CHECK-NEXT: pp.run @p0_U_b0
// CHECK-LABEL: pp.schedule 0 attributes {evaluation
// CHECK: pp.send copy 1{{$}}
// CHECK-NOT: copy 2
// CHECK-LABEL: pp.schedule 1 attributes {slots
// CHECK-NEXT: pp.zero
// CHECK: %[[P:[0-9]+]] = pp.recv copy 1 : !pp.token
// CHECK-NEXT: pp.recv copy 0 microbatch 0
// CHECK: pp.wait %[[P]] :
// CHECK-NEXT: pp.run @s1_F microbatch 0
// CHECK: pp.run @s1_B microbatch 1
// CHECK: %[[G:[0-9]+]] = pp.send copy 2{{$}}
// CHECK-NOT: pp.run
// CHECK: pp.wait %[[G]] :
// CHECK-LABEL: pp.schedule 1 attributes {evaluation
// CHECK: pp.recv copy 1 : !pp.token
// CHECK-NOT: copy 2

// LOCAL: pp.schedule local
// LOCAL-NEXT: pp.zero
// LOCAL-NEXT: pp.copy_bucket @b0 from 0 to 1 {id = 1 : i64}
// LOCAL-NEXT: pp.run @s0_F microbatch 0
// LOCAL: pp.run @s0_B microbatch 1
// LOCAL-NEXT: %[[D:[0-9]+]] = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 1 : i64, id = 2 : i64, slot = {{[0-9]+}} : i64} : tensor<64xf32>
// LOCAL-NEXT: pp.run @p0_C_b0 microbatch 0 (%[[D]])
// LOCAL-NEXT: pp.run @p0_N
// LOCAL: pp.schedule local attributes {evaluation
// LOCAL: pp.copy_bucket @b0 from 0 to 1 {id = 1 : i64}
// LOCAL-NOT: pp.copy_bucket
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>, shard_group = #pp.group<["dp"]>}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  pp.return %w : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) {
  pp.return %d : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32>, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C_b0(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32>) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) -> (tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return %n : tensor<f64>
}
pp.task decide @p0_D(%n: tensor<f64> {pp.role = #pp.role<norm, "norm">}) {
  pp.return
}
pp.task update @p0_U_b0(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 1 : i64}
} microbatch {
  %0 = pp.call @s0_F() : () -> tensor<40xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  pp.call @s1_F(%1) : (tensor<40xf32>) -> ()
  pp.call @s1_B() : () -> ()
  pp.call @s0_B() : () -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<40xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  pp.call @s1_F(%1) : (tensor<40xf32>) -> ()
} end {
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 1 : i64, id = 2 : i64} : tensor<64xf32>
  pp.call @p0_C_b0(%0) : (tensor<64xf32>) -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_D() : () -> ()
  pp.call @p0_U_b0() : () -> ()
}
