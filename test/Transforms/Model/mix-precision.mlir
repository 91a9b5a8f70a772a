// RUN: %ppopt opt %s --split-input-file --verify-diagnostics --pp-mix-precision | FileCheck %s

// Matmuls take bf16. What only they read, through element ops, is bf16 from where it is rounded; the sum with the
// f32 bias is f32. A parameter is cast where it is read. The row's statistics and the loss are f32.
// CHECK-LABEL: @mlp(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
// CHECK-DAG: %[[W:.*]] = pp.param "w" {{.*}} : tensor<8x8xf32>
// CHECK-DAG: %[[V:.*]] = pp.param "v" {{.*}} : tensor<8x8xf32>
// CHECK-DAG: %[[B:.*]] = pp.param "b" {{.*}} : tensor<8xf32>
// CHECK: %[[N:.*]] = pp.normalize %[[X]] {{.*}} : tensor<4x8xf32>
// CHECK-NEXT: %[[S:.*]] = pp.mul %[[N]], %[[B]] : tensor<4x8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[SN:.*]] = pp.cast %[[S]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT: %[[WN:.*]] = pp.cast %[[W]] : tensor<8x8xf32> to tensor<8x8xbf16>
// CHECK-NEXT: %[[M:.*]] = pp.matmul %[[SN]], %[[WN]] : tensor<4x8xbf16>, tensor<8x8xbf16>
// CHECK-NEXT: %[[MW:.*]] = pp.cast %[[M]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT: %[[U:.*]] = pp.add %[[MW]], %[[B]] : tensor<4x8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[UN:.*]] = pp.cast %[[U]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT: %[[G:.*]] = pp.gelu %[[UN]] {tanh} : tensor<4x8xbf16>
// CHECK-NEXT: %[[VN:.*]] = pp.cast %[[V]] : tensor<8x8xf32> to tensor<8x8xbf16>
// CHECK-NEXT: %[[Y:.*]] = pp.matmul %[[G]], %[[VN]] : tensor<4x8xbf16>, tensor<8x8xbf16>
// CHECK-NEXT: %[[YW:.*]] = pp.cast %[[Y]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK-NEXT: %[[R:.*]] = pp.add %[[X]], %[[YW]] : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK-NEXT: pp.reduce sum %[[R]] [0, 1] : tensor<4x8xf32>
// CHECK-NOT: pp.cast
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @mlp(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xf32>
  %v = pp.param "v" {init = #pp.init<zeros>} : tensor<8x8xf32>
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<8xf32>
  %n = pp.normalize %x {eps = 1.0e-5 : f64} : tensor<4x8xf32>
  %s = pp.mul %n, %b : tensor<4x8xf32>, tensor<8xf32>
  %m = pp.matmul %s, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %u = pp.add %m, %b : tensor<4x8xf32>, tensor<8xf32>
  %g = pp.gelu %u {tanh} : tensor<4x8xf32>
  %y = pp.matmul %g, %v : tensor<4x8xf32>, tensor<8x8xf32>
  %r = pp.add %x, %y : tensor<4x8xf32>, tensor<4x8xf32>
  %l = pp.reduce sum %r [0, 1] : tensor<4x8xf32>
  return %l : tensor<f32>
}

// -----

// Heads are cut out of a bf16 value; the log of the sums stays f32. A value that a matmul and another op read is f32,
// and cast for the matmul.
// CHECK-LABEL: @attention(
// CHECK-SAME: %[[X:.*]]: tensor<2x1x4x8xf32>
// CHECK: %[[N:.*]] = pp.exp %[[X]] : tensor<2x1x4x8xf32>
// CHECK-NEXT: %[[NN:.*]] = pp.cast %[[N]] : tensor<2x1x4x8xf32> to tensor<2x1x4x8xbf16>
// CHECK-NEXT: %[[Q:.*]] = pp.slice %[[NN]] [0, 0, 0, 0] : tensor<2x1x4x8xbf16> to tensor<2x1x4x4xbf16>
// CHECK-NEXT: %[[K:.*]] = pp.slice %[[NN]] [0, 0, 0, 4] : tensor<2x1x4x8xbf16> to tensor<2x1x4x4xbf16>
// CHECK-NEXT: %[[OUT:.*]], %[[LSE:.*]] = pp.attention %[[Q]], %[[K]], %[[K]] {causal} : tensor<2x1x4x4xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = pp.cast %[[OUT]] : tensor<2x1x4x4xbf16> to tensor<2x1x4x4xf32>
// CHECK-NEXT: %[[T:.*]] = pp.tanh %[[WIDE]] : tensor<2x1x4x4xf32>
// CHECK-NEXT: %[[TN:.*]] = pp.cast %[[T]]
// CHECK-NEXT: pp.matmul %[[TN]], %{{.*}} {transpose_rhs}
// CHECK: pp.reduce sum %[[T]] [0, 1, 2, 3] : tensor<2x1x4x4xf32>
// CHECK-NEXT: pp.reduce sum %[[LSE]] [0, 1, 2, 3] : tensor<2x1x4x2xf32>
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @attention(%x: tensor<2x1x4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %n = pp.exp %x : tensor<2x1x4x8xf32>
  %q = pp.slice %n [0, 0, 0, 0] : tensor<2x1x4x8xf32> to tensor<2x1x4x4xf32>
  %k = pp.slice %n [0, 0, 0, 4] : tensor<2x1x4x8xf32> to tensor<2x1x4x4xf32>
  %out, %lse = pp.attention %q, %k, %k {causal} : tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>
  %t = pp.tanh %out : tensor<2x1x4x4xf32>
  %p = pp.matmul %t, %out {transpose_rhs} : tensor<2x1x4x4xf32>, tensor<2x1x4x4xf32>
  %0 = pp.reduce sum %p [0, 1, 2, 3] : tensor<2x1x4x4xf32>
  %1 = pp.reduce sum %t [0, 1, 2, 3] : tensor<2x1x4x4xf32>
  %2 = pp.reduce sum %lse [0, 1, 2, 3] : tensor<2x1x4x2xf32>
  %3 = pp.add %0, %1 : tensor<f32>, tensor<f32>
  %4 = pp.add %3, %2 : tensor<f32>, tensor<f32>
  return %4 : tensor<f32>
}

// -----

// A mark changes no rounding: what leaves it for a matmul is rounded inside.
// CHECK-LABEL: @marks(
// CHECK: %[[ON:.*]] = pp.on 0 -> tensor<4x8xbf16> {
// CHECK: %[[SUM:.*]] = pp.add
// CHECK-NEXT: %[[U:.*]] = pp.cast %[[SUM]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK-NEXT: pp.yield %[[U]] : tensor<4x8xbf16>
// CHECK: pp.relu %[[ON]] : tensor<4x8xbf16>
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @marks(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xf32>
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<8xf32>
  %u = pp.on 0 -> tensor<4x8xf32> {
    %m = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
    %0 = pp.add %m, %b : tensor<4x8xf32>, tensor<8xf32>
    pp.yield %0 : tensor<4x8xf32>
  }
  %l = pp.on 1 -> tensor<f32> {
    %g = pp.relu %u : tensor<4x8xf32>
    %y = pp.matmul %g, %w : tensor<4x8xf32>, tensor<8x8xf32>
    %0 = pp.reduce sum %y [0, 1] : tensor<4x8xf32>
    pp.yield %0 : tensor<f32>
  }
  return %l : tensor<f32>
}

// -----

// A model that is written in bf16 stays as it is.
// CHECK-LABEL: @written_so(
// CHECK-NOT: pp.cast
// CHECK: return
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @written_so(%x: tensor<4x8xbf16> {pp.input = "x"}, %t: tensor<4xi32> {pp.input = "t"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xbf16>
  %m = pp.matmul %x, %w : tensor<4x8xbf16>, tensor<8x8xbf16>
  %l = pp.token_loss %m, %t : tensor<4x8xbf16>, tensor<4xi32>
  %s = pp.reduce sum %l [0] : tensor<4xf32>
  return %s : tensor<f32>
}

// -----

// Without the plan's word, nothing changes.
// CHECK-LABEL: @as_written(
// CHECK-NOT: pp.cast
// CHECK: return
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">}
func.func @as_written(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xf32>
  %m = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
  %l = pp.reduce sum %m [0, 1] : tensor<4x8xf32>
  return %l : tensor<f32>
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 4 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @in_f64(%x: tensor<4x8xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xf64>
  // expected-error @below {{computes in f64, and --precision=bf16 is for models in f32; write the model in f32, or leave --precision out}}
  %m = pp.matmul %x, %w : tensor<4x8xf64>, tensor<8x8xf64>
  %l = pp.reduce sum %m [0, 1] : tensor<4x8xf64>
  return %l : tensor<f64>
}

// -----

// What is added to scores stays f32, as they are: a bias that a matmul has computed is cast back.
// CHECK-LABEL: @added_to_scores(
// CHECK-DAG: %[[S:.*]] = pp.param "slopes" {{.*}} : tensor<2xf32>
// CHECK: %[[M:.*]] = pp.matmul {{.*}} : tensor<4x4xbf16>, tensor<4x4xbf16>
// CHECK: %[[W:.*]] = pp.cast %[[M]] : tensor<4x4xbf16> to tensor<4x4xf32>
// CHECK: %[[B:.*]] = pp.reshape %[[W]] : tensor<4x4xf32> to tensor<1x1x4x4xf32>
// CHECK: pp.attention %{{.*}}, %{{.*}}, %{{.*}} bias %[[B]] slopes %[[S]] : tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<2x2x4x8xbf16>, tensor<1x1x4x4xf32>, tensor<2xf32>
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @added_to_scores(%q: tensor<2x2x4x8xf32> {pp.input = "q"}) -> tensor<f32> {
  %slopes = pp.param "slopes" {init = #pp.init<zeros>} : tensor<2xf32>
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4x4xf32>
  %m = pp.matmul %w, %w : tensor<4x4xf32>, tensor<4x4xf32>
  %b = pp.reshape %m : tensor<4x4xf32> to tensor<1x1x4x4xf32>
  %out, %lse = pp.attention %q, %q, %q bias %b slopes %slopes : tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<1x1x4x4xf32>, tensor<2xf32>
  %0 = pp.reduce sum %out [0, 1, 2, 3] : tensor<2x2x4x8xf32>
  return %0 : tensor<f32>
}

// -----

// A rotation of bf16 takes angles in f32.
// CHECK-LABEL: @rotated(
// CHECK: %[[C:.*]] = pp.cos %{{.*}} : tensor<4x1x2xf32>
// CHECK: %[[R:.*]] = pp.rotate %{{.*}}, %[[C]], %{{.*}} {{.*}} : tensor<2x2x4x2x2xbf16>, tensor<4x1x2xf32>
// CHECK: pp.attention %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x2x4x4xbf16>
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @rotated(%q: tensor<2x2x4x4xf32> {pp.input = "q"}, %angles: tensor<4x1x2xf32> {pp.input = "angles"}) -> tensor<f32> {
  %pairs = pp.reshape %q : tensor<2x2x4x4xf32> to tensor<2x2x4x2x2xf32>
  %c = pp.cos %angles : tensor<4x1x2xf32>
  %s = pp.sin %angles : tensor<4x1x2xf32>
  %r = pp.rotate %pairs, %c, %s {dim = 3 : i64} : tensor<2x2x4x2x2xf32>, tensor<4x1x2xf32>
  %back = pp.reshape %r : tensor<2x2x4x2x2xf32> to tensor<2x2x4x4xf32>
  %out, %lse = pp.attention %back, %q, %q : tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>
  %0 = pp.reduce sum %out [0, 1, 2, 3] : tensor<2x2x4x4xf32>
  return %0 : tensor<f32>
}

// -----

// A convolution, whose result's type is not inferred.
// CHECK-LABEL: @convolution(
// CHECK: pp.conv %{{.*}}, %{{.*}} offsets [-1] : tensor<2x1x3x8xbf16>, tensor<1x4x3x3xbf16> to tensor<2x1x4x8xbf16>
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v4", features = "">, precision = "bf16"}
func.func @convolution(%x: tensor<2x1x3x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<1x4x3x3xf32>
  %y = pp.conv %x, %w offsets [-1] : tensor<2x1x3x8xf32>, tensor<1x4x3x3xf32> to tensor<2x1x4x8xf32>
  %0 = pp.reduce sum %y [0, 1, 2, 3] : tensor<2x1x4x8xf32>
  return %0 : tensor<f32>
}
