// RUN: ppopt opt %s --pp-form-buckets --pp-verify-tasks | FileCheck %s
// RUN: ppopt opt %s --pp-form-buckets --pp-verify-tasks --pp-schedule --pp-insert-collectives --pp-assign-slots --pp-verify-schedule | FileCheck %s --check-prefix=SCHEDULE

// A bucket has parameters that the same axes cut, along whichever dimension.
// CHECK: pp.bucket @b0 {{.*}}params = ["whole"]
// CHECK: pp.bucket @b1 {{.*}}params = ["columns", "rows"]

// A norm task for each such class; the entries of the first count once, those of the second on both ranks of tp.
// CHECK: pp.task norm @p0_N(%{{[^:]*}}: tensor<{{[0-9]+}}xf32> {pp.role = #pp.role<grad_range, "b0">}, %{{[^:]*}}: tensor<f64> {pp.role = #pp.role<norm, "norm">})
// CHECK: pp.task norm @p0_N_tp(%{{[^:]*}}: tensor<{{[0-9]+}}xf32> {pp.role = #pp.role<grad_range, "b1">}, %{{[^:]*}}: tensor<f64> {pp.role = #pp.role<norm, "norm">})
// CHECK: pp.task decide @p0_D({{.*}}: tensor<8xf64> {pp.role = #pp.role<norm, "norm">}
// CHECK: %[[ENTRIES:.*]] = pp.reshape %{{.*}} : tensor<8xf64> to tensor<2x1x2x2xf64>
// CHECK: %[[FIRST:.*]] = pp.slice %[[ENTRIES]] [0, 0, 0, 0] : tensor<2x1x2x2xf64> to tensor<1x1x1x2xf64>
// CHECK: pp.reduce sum %[[FIRST]] [0, 1, 2, 3]
// CHECK: %[[BOTH:.*]] = pp.slice %[[ENTRIES]] [1, 0, 0, 0] : tensor<2x1x2x2xf64> to tensor<1x1x2x2xf64>
// CHECK: pp.reduce sum %[[BOTH]] [0, 1, 2, 3]

// Of all sums, that of the norm alone is over tp.
// SCHEDULE: pp.start all_reduce over <["dp"]> channel {{[0-9]+}} <grads, "b0">
// SCHEDULE: pp.start all_reduce over <["dp"]> channel {{[0-9]+}} <grads, "b1">
// SCHEDULE: pp.start all_reduce over <["tp"]> channel {{[0-9]+}} <norm>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "columns" {type = tensor<8x4xf32>, init = #pp.init<zeros>, learns, pp.sharding = #pp.sharding<[{}, {tp}]>}
pp.param_decl "rows" {type = tensor<4x8xf32>, init = #pp.init<zeros>, learns, pp.sharding = #pp.sharding<[{tp}, {}]>}
pp.param_decl "whole" {type = tensor<8x8xf32>, init = #pp.init<zeros>, learns}
pp.task forward stage 0 @s0_F(%l: tensor<f64> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp}>}) -> (tensor<f64> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp}>}) {
  %0 = pp.constant dense<1.0> : tensor<f64>
  %1 = pp.accumulate %l, %0 : tensor<f64>
  pp.return %1 : tensor<f64>
}
pp.task backward stage 0 @s0_B(
    %whole: tensor<8x8xf32> {pp.role = #pp.role<grad, "whole">, pp.sharding = #pp.sharding<[{}, {}], sum = {dp}>},
    %columns: tensor<8x4xf32> {pp.role = #pp.role<grad, "columns">, pp.sharding = #pp.sharding<[{}, {tp}], sum = {dp}>},
    %rows: tensor<4x8xf32> {pp.role = #pp.role<grad, "rows">, pp.sharding = #pp.sharding<[{tp}, {}], sum = {dp}>})
    -> (tensor<8x8xf32> {pp.role = #pp.role<grad, "whole">, pp.sharding = #pp.sharding<[{}, {}], sum = {dp}>},
        tensor<8x4xf32> {pp.role = #pp.role<grad, "columns">, pp.sharding = #pp.sharding<[{}, {tp}], sum = {dp}>},
        tensor<4x8xf32> {pp.role = #pp.role<grad, "rows">, pp.sharding = #pp.sharding<[{tp}, {}], sum = {dp}>}) {
  %a = pp.constant dense<1.0> : tensor<8x8xf32>
  %b = pp.constant dense<1.0> : tensor<8x4xf32>
  %c = pp.constant dense<1.0> : tensor<4x8xf32>
  %0 = pp.accumulate %whole, %a : tensor<8x8xf32>
  %1 = pp.accumulate %columns, %b : tensor<8x4xf32>
  %2 = pp.accumulate %rows, %c : tensor<4x8xf32>
  pp.return %0, %1, %2 : tensor<8x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>
}
pp.step microbatch {
  pp.call @s0_F() : () -> ()
  pp.call @s0_B() : () -> ()
} evaluation {
  pp.call @s0_F() : () -> ()
}
