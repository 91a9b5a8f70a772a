// Layer norm of a sequence that is cut over sp. Only the loss is sent; gradients are sums over sp, as over the batch.

// DEFINE: %{mesh} = dp=2,sp=2 microbatches=2
// DEFINE: %{opt} = ppopt opt %s --pp-insert-plan="mesh=%{mesh}" --pp-decompose-model --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true --split-input-file
// Reshards of 0 bytes are local. Every other reshard and every gradient is listed below.
// DEFINE: %{check} = grep -v "bytes = 0" | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: %{opt} | %{check} -DROWS="dp, mb" -DALL="dp, sp, mb"
// REDEFINE: %{mesh} = dp=2,fsdp=2,sp=3
// RUN: %{opt} | %{check} -DROWS="dp, fsdp" -DALL="dp, fsdp, sp"

// CHECK-LABEL: func.func @sequence
// CHECK-SAME: pp.sharding = #pp.sharding<[{[[ROWS]]}, {}, {}]>
// CHECK-COUNT-3: pp.param {{.*}} pp.shardings = [#pp.sharding<[{}{{(, {})?}}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.matmul {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {sp}, {}]>]
// CHECK: pp.normalize {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {sp}, {}]>]
// CHECK: pp.reshard {{.*}} from <[], sum = {[[ALL]]}> to <[], sum = {[[ROWS]]}> of []
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.normalize_grad {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {sp}, {}]>]
// CHECK: pp.matmul {{.*}} pp.shardings = [#pp.sharding<[{}, {}], sum = {[[ALL]]}>], transpose_lhs
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}, {}], sum = {[[ALL]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ALL]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ALL]]}>]
func.func @sequence(%x: tensor<24x6x4xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {sp}, {}]>}) -> tensor<f32> {
  %w0 = pp.param "w0" {init = #pp.init<ones>} : tensor<4x4xf32>
  %g = pp.param "g" {init = #pp.init<ones>} : tensor<4xf32>
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<4xf32>
  %h = pp.matmul %x, %w0 : tensor<24x6x4xf32>, tensor<4x4xf32>
  %n = pp.layer_norm %h, %g, %b : tensor<24x6x4xf32>, tensor<4xf32>, tensor<4xf32>
  %t = pp.tanh %n : tensor<24x6x4xf32>
  %loss = pp.reduce mean %t [0, 1, 2] : tensor<24x6x4xf32>
  return %loss : tensor<f32>
}
