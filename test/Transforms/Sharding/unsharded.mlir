// RUN: ppopt opt %s --pp-shard --split-input-file --verify-diagnostics | FileCheck %s

// One rank and one microbatch: no op is annotated. Inputs are declared, a count is completed and dropout gets the random key all the same.
// CHECK: pp.input_decl "x" {{.*}}type = tensor<12xf32>
// CHECK: func.func @main(%arg0: tensor<12xf32> {pp.input = "x"}, %arg1: tensor<12xi32> {pp.input = "y"}, %[[KEY:.*]]: tensor<15xi64>
// CHECK-NOT: pp.sharding
// CHECK: %[[COUNT:.*]] = pp.count
// CHECK-NEXT: %[[ALL:.*]] = pp.batch_sum %[[COUNT]] {count}
// CHECK-NEXT: pp.dropout %arg0 key %[[KEY]] : tensor<15xi64> {p = 5.000000e-01 : f64}
// CHECK: pp.div %{{.*}}, %[[ALL]]
pp.plan {batch = 12 : i64, mesh = [#pp.axis<"dp" = 1>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
func.func @main(%x: tensor<12xf32> {pp.input = "x"}, %y: tensor<12xi32> {pp.input = "y"}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %1 = pp.count %y {ignore_index = 0 : i64} : tensor<12xi32> to tensor<f32>
    %2 = pp.dropout %x {p = 0.5 : f64} : tensor<12xf32>
    %3 = pp.reduce sum %2 [0] : tensor<12xf32>
    %4 = pp.div %3, %1 : tensor<f32>, tensor<f32>
    pp.yield %4 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// An annotation is checked, though nothing has the axis.
pp.plan {batch = 12 : i64, mesh = [#pp.axis<"dp" = 1>], microbatches = 1 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "", features = "">}
// expected-error @+1 {{this input has a sharding of 2 dimensions, but 1 of its own}}
func.func @main(%x: tensor<12xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}]>}) -> tensor<f32> {
  %0 = pp.place 0 stage 0 -> tensor<f32> {
    %1 = pp.reduce sum %x [0] : tensor<12xf32>
    pp.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}
