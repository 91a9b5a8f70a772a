// RUN: ppopt opt %s --pp-schedule --pp-insert-transfers --pp-insert-collectives --pp-bind-operands --pp-assign-slots | FileCheck %s
// RUN: sed -e 's/launch = "ranks"/launch = "local"/' -e 's/"dp" = 2/"dp" = 1/' -e 's/, shard_group = [^>]*>//' %s | ppopt opt --pp-schedule-local --pp-insert-collectives --pp-bind-operands --pp-assign-slots | FileCheck %s --check-prefix=LOCAL

// What place 1 borrows comes once per step, before all that is sent for microbatches, and is waited for before the first run that reads
// it; the owner may update it when it has gone. The gradients go back after the last run of a stage, and are in a slot until the
// owner has added them; only then are they summed over dp, on the owner.
// CHECK-LABEL: pp.schedule 0 attributes {slots = array<i64: 192, 192, 256>} {
// CHECK-NEXT: pp.zero
// CHECK-NEXT: pp.send [[P:[0-9]+]] @b0_to_1 microbatch 0 <params, "b0">
// CHECK: pp.run @s0_F microbatch 0
// CHECK: pp.send {{.*}} @x0 microbatch 0 slot 0
// CHECK: pp.run @s0_B microbatch 1
// CHECK: pp.recv [[G:[0-9]+]] @b0_from_1 microbatch 0 slot 2
// CHECK-NEXT: pp.wait [[G]]
// CHECK-NEXT: pp.run @p0_C_b0 microbatch 0 (<grads, "b0">, slot 2)
// CHECK-NEXT: pp.start [[S:[0-9]+]] all_reduce over <["dp"]> channel {{[0-9]+}} @b0
// CHECK-NEXT: pp.wait [[S]]
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 0
// CHECK-NEXT: pp.run @p0_N microbatch 0 chunk 1
// CHECK: pp.wait [[P]]
// CHECK-NEXT: pp.wait
// CHECK-NEXT: pp.run @p0_D
// CHECK-NEXT: pp.run @p0_U_b0
// CHECK-LABEL: pp.schedule 0 attributes {evaluation
// CHECK: pp.send {{.*}} @b0_to_1
// CHECK-NOT: @b0_from_1
// CHECK-LABEL: pp.schedule 1 attributes {slots
// CHECK-NEXT: pp.zero
// CHECK: pp.recv [[P:[0-9]+]] @b0_to_1 microbatch 0 <params, "b0">
// CHECK-NEXT: pp.recv {{.*}} @x0 microbatch 0
// CHECK: pp.wait [[P]]
// CHECK-NEXT: pp.run @s1_F microbatch 0
// CHECK: pp.run @s1_B microbatch 1
// CHECK: pp.send [[G:[0-9]+]] @b0_from_1 microbatch 0 <grads, "b0">
// CHECK-NOT: pp.run
// CHECK: pp.wait [[G]]
// CHECK-LABEL: pp.schedule 1 attributes {evaluation
// CHECK: pp.recv {{.*}} @b0_to_1
// CHECK-NOT: @b0_from_1

// LOCAL: pp.zero
// LOCAL-NEXT: pp.recv 0 @b0_to_1 microbatch 0 <params, "b0">
// LOCAL-NEXT: pp.send 1 @b0_to_1 microbatch 0 <params, "b0">
// LOCAL-NEXT: pp.wait 1
// LOCAL-NEXT: pp.wait 0
// LOCAL-NEXT: pp.run @s0_F microbatch 0
// LOCAL: pp.run @s0_B microbatch 1
// LOCAL-NEXT: pp.recv [[R:[0-9]+]] @b0_from_1 microbatch 0 slot [[G:[0-9]+]]
// LOCAL-NEXT: pp.send [[S:[0-9]+]] @b0_from_1 microbatch 0 <grads, "b0">
// LOCAL-NEXT: pp.wait [[S]]
// LOCAL-NEXT: pp.wait [[R]]
// LOCAL-NEXT: pp.run @p0_C_b0 microbatch 0 (<grads, "b0">, slot [[G]])
// LOCAL-NEXT: pp.run @p0_N
// LOCAL: pp.schedule local attributes {evaluation
// LOCAL: pp.send {{.*}} @b0_to_1
// LOCAL-NOT: @b0_from_1
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>, shard_group = #pp.group<["dp"]>}
pp.transfer @x0 "s0.v0" from 0 to 1 stage 0 to 1 : tensor<40xf32>
pp.transfer @b0_to_1 "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @b0_from_1 "b0" from 1 to 0 stage 1 to 0 {gradient_of = @b0_to_1, step} : tensor<64xf32>
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "s0.v0">}) {
  pp.return %w : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) {
  pp.return %d : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32> {pp.role = #pp.role<received, "x0">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C_b0(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "b0_from_1">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
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
