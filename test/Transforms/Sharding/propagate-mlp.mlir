// Megatron's MLP: the first weight is cut by columns over tp, so the second is by rows. What is a sum over batch axes is only added up at
// the end of the step, and is listed at pp.add_grad.

// DEFINE: %{mesh} = dp=2,tp=2 microbatches=2
// DEFINE: %{opt} = ppopt opt %s --pp-insert-plan="mesh=%{mesh}" --pp-decompose-model --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true --split-input-file
// Reshards of 0 bytes are local. Every other reshard and every gradient is listed below.
// DEFINE: %{check} = grep -v "bytes = 0" | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: %{opt} | %{check} -DROWS="dp, mb" -DALL="dp, tp, mb"
// REDEFINE: %{mesh} = dp=2,fsdp=2,tp=3
// RUN: %{opt} | %{check} -DROWS="dp, fsdp" -DALL="dp, fsdp, tp"

// The first layer reads an input: one all-reduce over tp in the forward, none in the backward.
// CHECK-LABEL: func.func @input
// CHECK: %[[W1:.*]] = pp.param "w1" {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}]>]
// CHECK: %[[B1:.*]] = pp.param "b1" {{.*}} pp.shardings = [#pp.sharding<[{tp}]>]
// CHECK: %[[W2:.*]] = pp.param "w2" {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}]>]
// CHECK: %[[B2:.*]] = pp.param "b2" {{.*}} pp.shardings = [#pp.sharding<[{}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.matmul %arg0, %[[W1]] {pp.loops = #pp.sharding<[{[[ROWS]]}, {tp}, {}]>, pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}]>]}
// CHECK: pp.gelu {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}]>]
// CHECK: %[[PART:.*]] = pp.matmul %{{.*}}, %[[W2]] {pp.loops = #pp.sharding<[{[[ROWS]]}, {}, {tp}]>, pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]}
// CHECK: %[[SUM:.*]] = pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 6]
// CHECK: pp.add %[[SUM]], %[[B2]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}]>]
// CHECK: pp.reduce mean {{.*}} pp.shardings = [#pp.sharding<[], sum = {[[ROWS]]}>]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.matmul {{.*}}, %[[W2]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}]>], transpose_rhs
// CHECK: pp.gelu_grad {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}]>]
// CHECK: pp.add_grad %[[W1]], {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[B1]], {{.*}} #pp.sharding<[{tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[W2]], {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[B2]], {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK: return {pp.reads = [#pp.sharding<[], sum = {[[ROWS]]}>]}
func.func @input(%x: tensor<24x6xf32> {pp.input = "x"}) -> tensor<f32> {
  %w1 = pp.param "w1" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<6x12xf32>
  %b1 = pp.param "b1" {init = #pp.init<zeros>} : tensor<12xf32>
  %w2 = pp.param "w2" {init = #pp.init<ones>} : tensor<12x6xf32>
  %b2 = pp.param "b2" {init = #pp.init<zeros>} : tensor<6xf32>
  %0 = pp.matmul %x, %w1 : tensor<24x6xf32>, tensor<6x12xf32>
  %1 = pp.add %0, %b1 : tensor<24x12xf32>, tensor<12xf32>
  %2 = pp.gelu %1 : tensor<24x12xf32>
  %3 = pp.matmul %2, %w2 : tensor<24x12xf32>, tensor<12x6xf32>
  %4 = pp.add %3, %b2 : tensor<24x6xf32>, tensor<6xf32>
  %5 = pp.tanh %4 : tensor<24x6xf32>
  %6 = pp.reduce mean %5 [0, 1] : tensor<24x6xf32>
  return %6 : tensor<f32>
}

// -----

// It reads an activation, beside a residual: one all-reduce over tp in the forward, and one in the backward.
// CHECK-LABEL: func.func @activation
// CHECK: %[[W0:.*]] = pp.param "w0" {{.*}} pp.shardings = [#pp.sharding<[{}]>]
// CHECK: %[[W1:.*]] = pp.param "w1" {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}]>]
// CHECK: pp.place 0 stage 0
// CHECK: %[[PART:.*]] = pp.matmul {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]
// CHECK: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 6]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[PART:.*]] = pp.matmul %{{.*}}, %[[W1]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>], transpose_rhs
// CHECK: %[[SUM:.*]] = pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 6]
// CHECK: pp.add %{{.*}}, %[[SUM]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}]>]
// CHECK: pp.add_grad %[[W0]], {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[W1]], {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
func.func @activation(%x: tensor<24x6xf32> {pp.input = "x"}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<ones>} : tensor<6xf32>
  %w1 = pp.param "w1" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<6x12xf32>
  %b1 = pp.param "b1" {init = #pp.init<zeros>} : tensor<12xf32>
  %w2 = pp.param "w2" {init = #pp.init<ones>} : tensor<12x6xf32>
  %b2 = pp.param "b2" {init = #pp.init<zeros>} : tensor<6xf32>
  %s = pp.mul %x, %w0 : tensor<24x6xf32>, tensor<6xf32>
  %a = pp.tanh %s : tensor<24x6xf32>
  %0 = pp.matmul %a, %w1 : tensor<24x6xf32>, tensor<6x12xf32>
  %1 = pp.add %0, %b1 : tensor<24x12xf32>, tensor<12xf32>
  %2 = pp.gelu %1 : tensor<24x12xf32>
  %3 = pp.matmul %2, %w2 : tensor<24x12xf32>, tensor<12x6xf32>
  %4 = pp.add %3, %b2 : tensor<24x6xf32>, tensor<6xf32>
  %r = pp.add %a, %4 : tensor<24x6xf32>, tensor<24x6xf32>
  %5 = pp.tanh %r : tensor<24x6xf32>
  %6 = pp.reduce mean %5 [0, 1] : tensor<24x6xf32>
  return %6 : tensor<f32>
}
