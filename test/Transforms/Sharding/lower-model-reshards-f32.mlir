// RUN: ppopt opt %s --pp-lower-model-reshards | FileCheck %s
// RUN: sed 's/resharded = "f32", //' %s | ppopt opt --pp-lower-model-reshards | FileCheck %s --check-prefix=MODEL
// RUN: sed 's/bf16/f64/g' %s | not ppopt opt --pp-lower-model-reshards 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --reshard-dtype f32: no bf16 value is summed over an axis of the model; leave it out

// With --reshard-dtype f32 sums of bf16 values are of f32, and rounded once. What is only moved stays bf16.
// CHECK-LABEL: func.func @model
// CHECK: %[[PART:.*]] = pp.matmul
// CHECK-NEXT: %[[WIDE:.*]] = pp.cast %[[PART]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT: %[[SUM:.*]] = pp.all_reduce %[[WIDE]] over <["tp"]> "pp.matmul at {{[^"]*}}" : tensor<4x8xf32> to tensor<4x8xf32>
// CHECK-NEXT: %[[B:.*]] = pp.cast %[[SUM]] {pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK: %[[FLAT:.*]] = pp.reshape %{{.*}} : tensor<4x8xf32> to tensor<32xf32>
// CHECK-NEXT: %[[OWN:.*]] = pp.reduce_scatter %[[FLAT]] over <["tp"]> "{{[^"]*}}" : tensor<32xf32> to tensor<16xf32>
// CHECK-NEXT: %[[ROWS:.*]] = pp.reshape %[[OWN]]
// CHECK-NEXT: pp.cast %[[ROWS]] {{.*}} : tensor<2x8xf32> to tensor<2x8xbf16>
// CHECK: pp.all_gather %{{.*}} : tensor<16xbf16> to tensor<32xbf16>
// MODEL-NOT: pp.cast
// MODEL: pp.all_reduce {{.*}} : tensor<4x8xbf16> to tensor<4x8xbf16>
// MODEL: pp.reduce_scatter {{.*}} : tensor<32xbf16> to tensor<16xbf16>
// MODEL-NOT: pp.cast
pp.plan {mesh = [#pp.axis<"tp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", resharded = "f32", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @model(%x: tensor<4x4xbf16>) -> tensor<4x8xbf16> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4x8xbf16>
  %0 = pp.place 0 stage 0 -> tensor<4x8xbf16> {
    %a = pp.matmul %x, %w : tensor<4x4xbf16>, tensor<4x8xbf16>
    %b = pp.reshard %a from <[{}, {}], sum = {tp}> to <[{}, {}]> of [4, 8] {bytes = 64 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<4x8xbf16> to tensor<4x8xbf16>
    %c = pp.relu %b : tensor<4x8xbf16>
    %d = pp.reshard %c from <[{}, {}], sum = {tp}> to <[{tp}, {}]> of [4, 8] {bytes = 32 : i64, pp.shardings = [#pp.sharding<[{tp}, {}]>]} : tensor<4x8xbf16> to tensor<2x8xbf16>
    %e = pp.tanh %d : tensor<2x8xbf16>
    %f = pp.reshard %e from <[{tp}, {}]> to <[{}, {}]> of [4, 8] {bytes = 32 : i64, pp.shardings = [#pp.sharding<[{}, {}]>]} : tensor<2x8xbf16> to tensor<4x8xbf16>
    pp.yield %f : tensor<4x8xbf16>
  }
  return %0 : tensor<4x8xbf16>
}
