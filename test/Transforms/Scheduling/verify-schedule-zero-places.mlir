// RUN: ppopt opt %s --pp-form-buckets --pp-gather-parameters --pp-scatter-gradients --pp-sign-tasks --pp-schedule --pp-overlap-transfers --pp-insert-collectives --pp-assign-slots > %t
// RUN: ppopt opt %t --pp-verify-schedule
// RUN: FileCheck %s --input-file=%t

// What two places use, with sharded gradients: each place has all shards, which are summed over the places after the last run of both. Its squares are
// those of the first place.
// CHECK: pp.task norm @p0_N(%{{[^:]*}}: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">},
// CHECK-NOT: pp.task norm
// CHECK: pp.schedule 0
// CHECK: pp.run @s0_B microbatch 1
// CHECK-NEXT: [[SUM:%[0-9]+]] = pp.start all_reduce over <["pp"] among [0, 1]> channel [[C:[0-9]+]] <grads, "b0">
// CHECK-NEXT: pp.wait [[SUM]]
// CHECK-NEXT: pp.run @p0_N
// CHECK-NEXT: %{{[0-9]+}} = pp.start all_reduce over <["fsdp", "pp"]> channel {{[0-9]+}} <norm>
// CHECK: pp.run @p0_U_b0
// CHECK-NEXT: {{^  }$}}
// CHECK: pp.schedule 1
// CHECK: pp.run @s1_B microbatch 1
// CHECK: [[SUM:%[0-9]+]] = pp.start all_reduce over <["pp"] among [0, 1]> channel [[C]] <grads, "b0">
// CHECK: pp.run @p1_U_b0

// RUN: sed 's/all_reduce over <\["pp"\] among \[0, 1\]>/all_reduce over <["fsdp"]>/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: 'pp.start' op must be an all_reduce of #pp.buffer<grads, "b0"> over #pp.group<["pp"] among [0, 1]>: tasks have summed it over #pp.group<["fsdp"]>
// RUN: sed 's/all_reduce over <\["pp"\] among \[0, 1\]>/all_reduce over <["pp"]>/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
pp.plan {zero = 3 : i64, mesh = [#pp.axis<"fsdp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<40xf32>, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {fsdp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {fsdp}>}, tensor<40xf32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  %1 = pp.mul %x, %w : tensor<40xf32>, tensor<40xf32>
  pp.return %0, %1 : tensor<f32>, tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {fsdp}>}, tensor<40xf32>) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  %1 = pp.exp %a : tensor<40xf32>
  pp.return %0, %1 : tensor<40xf32>, tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32>, %g: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {fsdp}>}) {
  %0 = pp.mul %a, %g : tensor<40xf32>, tensor<40xf32>
  %1 = pp.accumulate %d, %0 : tensor<40xf32>
  pp.return %1 : tensor<40xf32>
}
pp.step microbatch {
  %a = pp.call @s0_F() : () -> tensor<40xf32>
  %x = pp.copy %a from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %b = pp.call @s1_F(%x) : (tensor<40xf32>) -> tensor<40xf32>
  %g = pp.call @s1_B(%b) : (tensor<40xf32>) -> tensor<40xf32>
  %back = pp.copy %g from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<40xf32>
  pp.call @s0_B(%a, %back) : (tensor<40xf32>, tensor<40xf32>) -> ()
} evaluation {
  %a = pp.call @s0_F() : () -> tensor<40xf32>
  %x = pp.copy %a from 0 to 1 {id = 0 : i64} : tensor<40xf32>
  %b = pp.call @s1_F(%x) : (tensor<40xf32>) -> tensor<40xf32>
}
