// A table of embeddings that is cut over tp.

// DEFINE: %{mesh} = dp=2,tp=2 microbatches=2
// DEFINE: %{opt} = ppopt opt %s --pp-insert-plan="mesh=%{mesh}" --pp-decompose-model --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true --split-input-file
// Reshards of 0 bytes are local. Every other reshard and every gradient is listed below.
// DEFINE: %{check} = grep -v "bytes = 0" | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: %{opt} | %{check} -DROWS="dp, mb" -DALL="dp, tp, mb"
// REDEFINE: %{mesh} = dp=2,fsdp=2,tp=3
// RUN: %{opt} | %{check} -DROWS="dp, fsdp" -DALL="dp, fsdp, tp"

// By rows: each rank looks up what it has, and one all-reduce in the forward adds up. The backward leaves out what other ranks have.
// CHECK-LABEL: func.func @rows
// CHECK: %[[TABLE:.*]] = pp.param "table" {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}]>]
// CHECK: %[[SCALE:.*]] = pp.param "scale" {{.*}} pp.shardings = [#pp.sharding<[{}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.embedding %[[TABLE]], %arg0 {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {}], sum = {tp}>]
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 6]
// CHECK: pp.tanh {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {}]>]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.embedding_grad {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[TABLE]], {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[SCALE]], {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
func.func @rows(%ids: tensor<24x4xi32> {pp.input = "ids"}) -> tensor<f32> {
  %table = pp.param "table" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x6xf32>
  %scale = pp.param "scale" {init = #pp.init<ones>} : tensor<6xf32>
  %e = pp.embedding %table, %ids : tensor<12x6xf32>, tensor<24x4xi32>
  %s = pp.mul %e, %scale : tensor<24x4x6xf32>, tensor<6xf32>
  %t = pp.tanh %s : tensor<24x4x6xf32>
  %loss = pp.reduce mean %t [0, 1, 2] : tensor<24x4x6xf32>
  return %loss : tensor<f32>
}

// -----

// By width: nothing is sent but the loss, a scalar.
// CHECK-LABEL: func.func @width
// CHECK: %[[TABLE:.*]] = pp.param "table" {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}]>]
// CHECK: %[[SCALE:.*]] = pp.param "scale" {{.*}} pp.shardings = [#pp.sharding<[{tp}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.embedding %[[TABLE]], %arg0 {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}, {tp}]>]
// CHECK: pp.reshard {{.*}} from <[], sum = {[[ALL]]}> to <[], sum = {[[ROWS]]}> of []
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.embedding_grad {{.*}} pp.shardings = [#pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[TABLE]], {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[SCALE]], {{.*}} #pp.sharding<[{tp}], sum = {[[ROWS]]}>]
func.func @width(%ids: tensor<24x4xi32> {pp.input = "ids"}) -> tensor<f32> {
  %table = pp.param "table" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<12x6xf32>
  %scale = pp.param "scale" {init = #pp.init<ones>} : tensor<6xf32>
  %e = pp.embedding %table, %ids : tensor<12x6xf32>, tensor<24x4xi32>
  %s = pp.mul %e, %scale : tensor<24x4x6xf32>, tensor<6xf32>
  %t = pp.tanh %s : tensor<24x4x6xf32>
  %loss = pp.reduce mean %t [0, 1, 2] : tensor<24x4x6xf32>
  return %loss : tensor<f32>
}

// -----

// The gradient of the lookup is a partial sum over tp where a matmul cut by columns reads it. On a rank it is smaller than that of the table, so
// it is added up first, and each rank computes the gradient of its rows of the table.
// CHECK-LABEL: func.func @read_by_columns
// CHECK: %[[TABLE:.*]] = pp.param "table" {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}]>]
// CHECK: pp.place 0 stage 0
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 6]
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 6]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[PART:.*]] = pp.matmul {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}], sum = {tp}>], transpose_rhs
// CHECK-NEXT: %[[SUM:.*]] = pp.reshard %[[PART]] from <[{[[ROWS]]}, {}], sum = {tp}> to <[{[[ROWS]]}, {}]> of [24, 6]
// CHECK-NEXT: pp.embedding_grad %arg0, %[[SUM]] {{.*}} pp.shardings = [#pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad %[[TABLE]], {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]
func.func @read_by_columns(%ids: tensor<24xi32> {pp.input = "ids"}) -> tensor<f32> {
  %table = pp.param "table" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<12x6xf32>
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<6x12xf32>
  %w2 = pp.param "w2" {init = #pp.init<ones>} : tensor<12x6xf32>
  %e = pp.embedding %table, %ids : tensor<12x6xf32>, tensor<24xi32>
  %h = pp.matmul %e, %w : tensor<24x6xf32>, tensor<6x12xf32>
  %t = pp.gelu %h : tensor<24x12xf32>
  %y = pp.matmul %t, %w2 : tensor<24x12xf32>, tensor<12x6xf32>
  %z = pp.tanh %y : tensor<24x6xf32>
  %loss = pp.reduce mean %z [0, 1] : tensor<24x6xf32>
  return %loss : tensor<f32>
}
