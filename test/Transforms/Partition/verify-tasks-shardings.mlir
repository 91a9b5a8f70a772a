// RUN: ppopt opt %s --pp-verify-tasks --split-input-file --verify-diagnostics

// Values of equal local shape that are parts of different wholes do not match.

pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.task forward stage 0 @f() -> (tensor<4x4xf32> {pp.sharding = #pp.sharding<[{dp}, {}]>}) {
  %0 = pp.constant dense<0.0> : tensor<4x4xf32>
  pp.return %0 : tensor<4x4xf32>
}
pp.task backward stage 0 @b(%v: tensor<4x4xf32> {pp.sharding = #pp.sharding<[{}, {dp}]>}) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @f() : () -> tensor<4x4xf32>
  // expected-error @below {{gives @b a value that is #pp.sharding<[{dp}, {}]>, and the task takes #pp.sharding<[{}, {dp}]>}}
  pp.call @b(%0) : (tensor<4x4xf32>) -> ()
}

// -----

// A partial sum is not the sum.
pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.task forward stage 0 @f() -> (tensor<4xf32> {pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  %0 = pp.constant dense<0.0> : tensor<4xf32>
  pp.return %0 : tensor<4xf32>
}
pp.task backward stage 0 @b(%v: tensor<4xf32>) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @f() : () -> tensor<4xf32>
  // expected-error @below {{gives @b a value that is #pp.sharding<[{}], sum = {dp}>, and the task takes the same on all ranks}}
  pp.call @b(%0) : (tensor<4xf32>) -> ()
}

// -----

// A copy brings what its value is, cut as that is.
pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.task forward stage 0 @f() -> (tensor<4xf32> {pp.sharding = #pp.sharding<[{dp}]>}) {
  %0 = pp.constant dense<0.0> : tensor<4xf32>
  pp.return %0 : tensor<4xf32>
}
pp.task forward stage 1 on 1 @g(%v: tensor<4xf32>) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @f() : () -> tensor<4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<4xf32>
  // expected-error @below {{gives @g a value that is #pp.sharding<[{dp}]>, and the task takes the same on all ranks}}
  pp.call @g(%1) : (tensor<4xf32>) -> ()
}

// -----

// An input is cut as it is declared.
pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.input_decl "x" {type = tensor<8xf32>, shift = 0 : i64, pp.sharding = #pp.sharding<[{dp}]>}
// expected-error @below {{has #pp.role<input, "x"> as the same on all ranks, but it is #pp.sharding<[{dp}]>}}
pp.task forward stage 0 @f(%x: tensor<4xf32> {pp.role = #pp.role<input, "x">}) {
  pp.return
}

// -----

// All tasks add parts of a gradient over the same axes, and cut as the parameter is.
pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.param_decl "w" {init = #pp.init<zeros>, type = tensor<4xf32>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32}
pp.task backward stage 0 @b(%w: tensor<4xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) -> (tensor<4xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp}>}) {
  pp.return %w : tensor<4xf32>
}
// expected-error @below {{has #pp.role<grad, "w"> as the same on all ranks, but it is #pp.sharding<[{}], sum = {dp}>}}
pp.task backward stage 0 @c(%w: tensor<4xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<4xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %w : tensor<4xf32>
}

// -----

pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.param_decl "w" {init = #pp.init<zeros>, type = tensor<4xf32>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32}
// expected-error @below {{has #pp.role<grad, "w"> as #pp.sharding<[{tp}], sum = {dp}>, but it is the same on all ranks}}
pp.task backward stage 0 @b(%w: tensor<4xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{tp}], sum = {dp}>}) -> (tensor<4xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{tp}], sum = {dp}>}) {
  pp.return %w : tensor<4xf32>
}

// -----

// The same axes cut all parameters of a bucket, whatever the dimension.
pp.plan {batch = 8 : i64, mesh = [#pp.axis<"tp" = 2>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
pp.param_decl "v" {type = tensor<4x2xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{}, {tp}]>}
pp.param_decl "w" {type = tensor<2x4xf32>, init = #pp.init<zeros>, pp.sharding = #pp.sharding<[{tp}, {}]>}
pp.param_decl "u" {type = tensor<4xf32>, init = #pp.init<zeros>}
// expected-error @below {{has "v", which {tp} cuts, and "u", which {} cuts}}
pp.bucket @b0 {params = ["v", "w", "u"], offsets = array<i64: 0, 32, 64>, elements = 96 : i64, type = f32}
