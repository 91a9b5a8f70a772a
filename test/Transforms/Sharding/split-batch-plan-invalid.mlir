// RUN: ppopt opt %s --pp-shard --split-input-file --verify-diagnostics

pp.plan {batch = 16 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 1>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
// expected-error @below {{has a batch of 8 rows, but the plan says 16}}
func.func @main(%x: tensor<8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<8xf32>
  return %0 : tensor<f32>
}

// -----

// The batch is the first dimension of the first input that has one.

pp.plan {batch = 8 : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 1>], microbatches = 2 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
// expected-error @below {{the model has no input with a first dimension, so there is no batch to split}}
func.func @main(%x: tensor<f32> {pp.input = "x"}) -> tensor<f32> {
  return %x : tensor<f32>
}
