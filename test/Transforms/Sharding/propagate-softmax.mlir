// Softmax and cross entropy whose classes are cut over tp are decomposed: the partial maximum is resolved at once.

// DEFINE: %{mesh} = dp=2,tp=2 microbatches=2
// DEFINE: %{opt} = ppopt opt %s --pp-insert-plan="mesh=%{mesh}" --pp-decompose-model --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true --split-input-file
// Reshards of 0 bytes are local. Every other reshard and every gradient is listed below.
// DEFINE: %{check} = grep -v "bytes = 0" | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: %{opt} | %{check} -DROWS="dp, mb" -DALL="dp, tp, mb"
// REDEFINE: %{mesh} = dp=2,fsdp=2,tp=3
// RUN: %{opt} | %{check} -DROWS="dp, fsdp" -DALL="dp, fsdp, tp"

// Sums of exponentials are added up, and the sum that the gradient subtracts.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[W:.*]] = pp.param "w" {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}]>]
// CHECK: %[[VALUES:.*]] = pp.param "values" {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}]>]
// CHECK: pp.place 0 stage 0
// CHECK: %[[SCORES:.*]] = pp.matmul %arg0, %[[W]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}]>]
// CHECK-NEXT: %[[PART:.*]] = pp.reduce max %[[SCORES]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], max = {tp}>]
// CHECK-NEXT: %[[MAX:.*]] = pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], max = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK-NEXT: pp.sub %[[SCORES]], %[[MAX]]
// CHECK: %[[PART:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]
// CHECK-NEXT: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: %[[PART:.*]] = pp.matmul {{.*}}, %[[VALUES]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]
// CHECK: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 4]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[PART:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]
// CHECK-NEXT: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: pp.add_grad %[[W]], {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[VALUES]], {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
func.func @softmax(%x: tensor<24x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<4x6xf32>
  %values = pp.param "values" {init = #pp.init<ones>} : tensor<6x4xf32>
  %scores = pp.matmul %x, %w : tensor<24x4xf32>, tensor<4x6xf32>
  %p = pp.softmax %scores : tensor<24x6xf32>
  %y = pp.matmul %p, %values : tensor<24x6xf32>, tensor<6x4xf32>
  %t = pp.tanh %y : tensor<24x4xf32>
  %loss = pp.reduce mean %t [0, 1] : tensor<24x4xf32>
  return %loss : tensor<f32>
}

// -----

// The picked score is a partial sum as well. The backward computes the maximum and the sum of exponentials again.
// CHECK-LABEL: func.func @cross_entropy
// CHECK: %[[S:.*]] = pp.param "s" {{.*}} pp.shardings = [#pp.sharding<[{}]>]
// CHECK: %[[W:.*]] = pp.param "w" {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}]>]
// CHECK: pp.place 0 stage 0
// CHECK: %[[PART:.*]] = pp.reduce max {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], max = {tp}>]
// CHECK-NEXT: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], max = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: %[[PART:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]
// CHECK-NEXT: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: pp.iota {{.*}} pp.shardings = [#pp.sharding<[{tp}]>]
// CHECK: %[[PICKED:.*]] = pp.select {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {tp}]>]
// CHECK: %[[PART:.*]] = pp.reduce sum %[[PICKED]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>]
// CHECK-NEXT: pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[], sum = {[[ROWS]]}>]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}], max = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 1]
// CHECK: pp.add_grad %[[S]], {{.*}} #pp.sharding<[{}], sum = {[[ALL]]}>]
// CHECK: pp.add_grad %[[W]], {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
func.func @cross_entropy(%x: tensor<24x4xf32> {pp.input = "x"}, %t: tensor<24xi32> {pp.input = "t"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<ones>} : tensor<4xf32>
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<4x6xf32>
  %h = pp.mul %x, %s : tensor<24x4xf32>, tensor<4xf32>
  %logits = pp.matmul %h, %w : tensor<24x4xf32>, tensor<4x6xf32>
  %loss = pp.cross_entropy %logits, %t : tensor<24x6xf32>, tensor<24xi32>
  return %loss : tensor<f32>
}
