// RUN: ppopt opt %s --pp-form-buckets | FileCheck %s

// With tied = owner the first place alone updates what several hold: to each other goes the parameters' range, and the gradients'
// comes back to a task that adds it. Ids go on after those of the step. Places 1 and 2 borrow w; place 2 owns v by itself. Place 1 updates nothing, and decides all the same: every rank knows the norm.
// CHECK-DAG: pp.bucket @[[W:b[0-9]]] {borrowed, {{.*}}params = ["w"], places = array<i64: 0, 1, 2>
// CHECK-DAG: pp.bucket @[[V:b[0-9]]] {{{.*}}params = ["v"], places = array<i64: 2>
// CHECK: pp.task collect @p0_C_[[W]](%[[A:.*]]: tensor<64xf32>, %[[D:.*]]: tensor<64xf32> {pp.role = #pp.role<grad_range, "[[W]]">}, %[[B:.*]]: tensor<64xf32>) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "[[W]]">})
// CHECK-NEXT: %[[S:.*]] = pp.accumulate %[[D]], %[[A]]
// CHECK-NEXT: %[[T:.*]] = pp.accumulate %[[S]], %[[B]]
// CHECK-NEXT: pp.return %[[T]]
// CHECK: pp.task norm @p0_N
// CHECK: pp.task decide @p0_D
// CHECK: pp.task update @p0_U_[[W]]
// CHECK-NOT: @p1_N
// CHECK: pp.task decide on 1 @p1_D
// CHECK: pp.task norm on 2 @p2_N(%{{.*}}: tensor<32xf32> {pp.role = #pp.role<grad_range, "[[V]]">}
// CHECK: pp.task decide on 2 @p2_D
// CHECK: pp.task update on 2 @p2_U_[[V]]
// CHECK-NOT: pp.task
// CHECK: pp.step begin {
// CHECK-NEXT: pp.copy_bucket @[[W]] from 0 to 1 {id = 4 : i64}{{$}}
// CHECK-NEXT: pp.copy_bucket @[[W]] from 0 to 2 {id = 6 : i64}{{$}}
// CHECK-NEXT: } microbatch {
// CHECK: } end {
// CHECK-NEXT: %[[G1:.*]] = pp.copy_bucket @[[W]] from 1 to 0 {gradient_of = 4 : i64, id = 5 : i64} : tensor<64xf32>
// CHECK-NEXT: %[[G2:.*]] = pp.copy_bucket @[[W]] from 2 to 0 {gradient_of = 6 : i64, id = 7 : i64} : tensor<64xf32>
// CHECK-NEXT: pp.call @p0_C_[[W]](%[[G1]], %[[G2]]) : (tensor<64xf32>, tensor<64xf32>) -> ()
// CHECK-NEXT: pp.call @p0_N() : () -> ()
// CHECK-NEXT: pp.call @p2_N() : () -> ()
// CHECK-NEXT: pp.call @p0_D() : () -> ()
// CHECK-NEXT: pp.call @p1_D() : () -> ()
// CHECK-NEXT: pp.call @p2_D() : () -> ()
// CHECK-NEXT: pp.call @p0_U_[[W]]() : () -> ()
// CHECK-NEXT: pp.call @p2_U_[[V]]() : () -> ()
// CHECK-NEXT: }
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 3>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1, 2>}
pp.param_decl "v" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 2>}
pp.task forward stage 0 @s0_F(%l: tensor<f32> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}, tensor<2xf32>) {
  %0 = pp.constant dense<0.0> : tensor<2xf32>
  pp.return %l, %0 : tensor<f32>, tensor<2xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 1 on 1 @s1_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 2 on 2 @s2_B(%a: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, %b: tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}, tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.accumulate %a, %a : tensor<40xf32>
  %1 = pp.accumulate %b, %b : tensor<40xf32>
  pp.return %0, %1 : tensor<40xf32>, tensor<40xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<2xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 3 : i64} : tensor<2xf32>
  pp.call @s2_B() : () -> ()
  pp.call @s1_B() : () -> ()
  pp.call @s0_B() : () -> ()
}
