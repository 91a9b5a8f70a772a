// Attention with a fused projection of queries, keys and values, cut by heads over tp: {3 * tp} cuts each of the three parts.
// As in Megatron, there is one all-reduce over tp in the forward, after the output projection, and one in the backward.

// DEFINE: %{mesh} = dp=2,tp=2 microbatches=2
// DEFINE: %{opt} = ppopt opt %s --pp-insert-plan="mesh=%{mesh}" --pp-decompose-model --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true --split-input-file
// Reshards of 0 bytes are local. Every other reshard and every gradient is listed below.
// DEFINE: %{check} = grep -v "bytes = 0" | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: %{opt} | %{check} -DROWS="dp, mb" -DALL="dp, tp, mb"
// REDEFINE: %{mesh} = dp=2,fsdp=2,tp=3
// RUN: %{opt} | %{check} -DROWS="dp, fsdp" -DALL="dp, fsdp, tp"

// Queries, keys and values are slices of columns.
// CHECK-LABEL: func.func @columns
// CHECK: %[[SCALE:.*]] = pp.param "scale" {{.*}} pp.shardings = [#pp.sharding<[{}]>]
// CHECK: %[[QKV:.*]] = pp.param "w_qkv" {{.*}} pp.shardings = [#pp.sharding<[{}, {3 * tp}]>]
// CHECK: %[[BIAS:.*]] = pp.param "b_qkv" {{.*}} pp.shardings = [#pp.sharding<[{3 * tp}]>]
// CHECK: %[[OUT:.*]] = pp.param "w_out" {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.matmul {{.*}}, %[[QKV]] {pp.loops = #pp.sharding<[{[[ROWS]]}, {}, {3 * tp}, {}]>, pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {3 * tp}]>]}
// CHECK-COUNT-3: pp.slice {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {tp}]>]
// CHECK: pp.attention {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>, #pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>]
// CHECK: %[[PART:.*]] = pp.matmul %{{.*}}, %[[OUT]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {}], sum = {tp}>]
// CHECK: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 12]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.attention_grad {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>, #pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>, #pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>]
// CHECK-COUNT-3: pp.pad {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {3 * tp}]>]
// CHECK: %[[PART:.*]] = pp.matmul %{{.*}}, %[[QKV]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {}], sum = {tp}>], transpose_rhs
// CHECK: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 12]
// CHECK: pp.add_grad %[[SCALE]], {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[QKV]], {{.*}} #pp.sharding<[{}, {3 * tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[BIAS]], {{.*}} #pp.sharding<[{3 * tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[OUT]], {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
!x = tensor<24x4x12xf32>
!x3 = tensor<24x4x36xf32>
!split = tensor<24x4x6x2xf32>
!heads = tensor<24x6x4x2xf32>
func.func @columns(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %scale = pp.param "scale" {init = #pp.init<ones>} : tensor<12xf32>
  %w_qkv = pp.param "w_qkv" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {3 * tp}]>} : tensor<12x36xf32>
  %b_qkv = pp.param "b_qkv" {init = #pp.init<zeros>} : tensor<36xf32>
  %w_out = pp.param "w_out" {init = #pp.init<ones>} : tensor<12x12xf32>
  %b_out = pp.param "b_out" {init = #pp.init<zeros>} : tensor<12xf32>
  %h = pp.mul %x, %scale : !x, tensor<12xf32>
  %m = pp.matmul %h, %w_qkv : !x, tensor<12x36xf32>
  %qkv = pp.add %m, %b_qkv : !x3, tensor<36xf32>
  %q0 = pp.slice %qkv [0, 0, 0] : !x3 to !x
  %k0 = pp.slice %qkv [0, 0, 12] : !x3 to !x
  %v0 = pp.slice %qkv [0, 0, 24] : !x3 to !x
  %q1 = pp.reshape %q0 : !x to !split
  %k1 = pp.reshape %k0 : !x to !split
  %v1 = pp.reshape %v0 : !x to !split
  %q = pp.transpose %q1 [0, 2, 1, 3] : !split
  %k = pp.transpose %k1 [0, 2, 1, 3] : !split
  %v = pp.transpose %v1 [0, 2, 1, 3] : !split
  %a, %lse = pp.attention %q, %k, %v {causal} : !heads, !heads, !heads
  %at = pp.transpose %a [0, 2, 1, 3] : !heads
  %o = pp.reshape %at : !split to !x
  %p = pp.matmul %o, %w_out : !x, tensor<12x12xf32>
  %pb = pp.add %p, %b_out : !x, tensor<12xf32>
  %y = pp.add %h, %pb : !x, !x
  %t = pp.tanh %y : !x
  %loss = pp.reduce mean %t [0, 1, 2] : !x
  return %loss : tensor<f32>
}

// -----

// They are slices of heads, after the reshape and the transpose of all three.
// CHECK-LABEL: func.func @heads
// CHECK: %[[SCALE:.*]] = pp.param "scale" {{.*}} pp.shardings = [#pp.sharding<[{}]>]
// CHECK: %[[QKV:.*]] = pp.param "w_qkv" {{.*}} pp.shardings = [#pp.sharding<[{}, {3 * tp}]>]
// CHECK: %[[BIAS:.*]] = pp.param "b_qkv" {{.*}} pp.shardings = [#pp.sharding<[{3 * tp}]>]
// CHECK: %[[OUT:.*]] = pp.param "w_out" {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.matmul {{.*}}, %[[QKV]] {pp.loops = #pp.sharding<[{[[ROWS]]}, {}, {3 * tp}, {}]>, pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {3 * tp}]>]}
// CHECK: pp.reshape {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {3 * tp}, {}]>]
// CHECK: pp.transpose {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {3 * tp}, {}, {}]>]
// CHECK-COUNT-3: pp.slice {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>]
// CHECK: pp.attention {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>, #pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>]
// CHECK: %[[PART:.*]] = pp.matmul %{{.*}}, %[[OUT]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {}], sum = {tp}>]
// CHECK: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 12]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.attention_grad {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>, #pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>, #pp.sharding<[{[[ROWS]]}, {tp}, {}, {}]>]
// CHECK-COUNT-3: pp.pad {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {3 * tp}, {}, {}]>]
// CHECK: %[[PART:.*]] = pp.matmul %{{.*}}, %[[QKV]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {}], sum = {tp}>], transpose_rhs
// CHECK: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 12]
// CHECK: pp.add_grad %[[SCALE]], {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[QKV]], {{.*}} #pp.sharding<[{}, {3 * tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[BIAS]], {{.*}} #pp.sharding<[{3 * tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[OUT]], {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
!x = tensor<24x4x12xf32>
!x3 = tensor<24x4x36xf32>
!split = tensor<24x4x6x2xf32>
!split3 = tensor<24x4x18x2xf32>
!heads3 = tensor<24x18x4x2xf32>
!heads = tensor<24x6x4x2xf32>
func.func @heads(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %scale = pp.param "scale" {init = #pp.init<ones>} : tensor<12xf32>
  %w_qkv = pp.param "w_qkv" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {3 * tp}]>} : tensor<12x36xf32>
  %b_qkv = pp.param "b_qkv" {init = #pp.init<zeros>} : tensor<36xf32>
  %w_out = pp.param "w_out" {init = #pp.init<ones>} : tensor<12x12xf32>
  %b_out = pp.param "b_out" {init = #pp.init<zeros>} : tensor<12xf32>
  %h = pp.mul %x, %scale : !x, tensor<12xf32>
  %m = pp.matmul %h, %w_qkv : !x, tensor<12x36xf32>
  %qkv = pp.add %m, %b_qkv : !x3, tensor<36xf32>
  %s = pp.reshape %qkv : !x3 to !split3
  %all = pp.transpose %s [0, 2, 1, 3] : !split3
  %q = pp.slice %all [0, 0, 0, 0] : !heads3 to !heads
  %k = pp.slice %all [0, 6, 0, 0] : !heads3 to !heads
  %v = pp.slice %all [0, 12, 0, 0] : !heads3 to !heads
  %a, %lse = pp.attention %q, %k, %v {causal} : !heads, !heads, !heads
  %at = pp.transpose %a [0, 2, 1, 3] : !heads
  %o = pp.reshape %at : !split to !x
  %p = pp.matmul %o, %w_out : !x, tensor<12x12xf32>
  %pb = pp.add %p, %b_out : !x, tensor<12xf32>
  %y = pp.add %h, %pb : !x, !x
  %t = pp.tanh %y : !x
  %loss = pp.reduce mean %t [0, 1, 2] : !x
  return %loss : tensor<f32>
}
