// Rows that meet: batch axes over ranks are gathered, scattered and reduced inside a stage. Every reshard and every gradient is listed.

// RUN: ppopt opt %s --split-input-file --pp-insert-plan="mesh=dp=2" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true | FileCheck %s -DROWS=dp --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: ppopt opt %s --split-input-file --pp-insert-plan="mesh=dp=2,fsdp=2" --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true | FileCheck %s "-DROWS=dp, fsdp" --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: not ppopt opt %s --split-input-file --pp-insert-plan="mesh=dp=2 microbatches=2" --pp-place-ops --pp-autodiff --pp-propagate-shardings 2>&1 | grep -c "has no equal step over microbatches" | FileCheck %s --check-prefix=REFUSED
// REFUSED: 5

// Each row of one side with all rows of the other: one side is gathered. The gradient of its rows is a sum over ranks, which is scattered for both readers.
// CHECK-LABEL: func.func @pairs
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK: pp.place 0 stage 0 attributes
// CHECK: %[[A:.*]] = pp.matmul %arg0, %[[W]]
// CHECK-NEXT: %[[B:.*]] = pp.matmul %arg1, %[[W]]
// CHECK-NEXT: %[[ALL:.*]] = pp.reshard %[[B]] from <[{[[ROWS]]}, {}]> to <[{}, {}]> of [8, 4]
// CHECK-NEXT: pp.matmul %[[A]], %[[ALL]] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}]>]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[SUM:.*]] = pp.matmul {{.*}} pp.shardings = [#pp.sharding<[{}, {}], sum = {[[ROWS]]}>], transpose_lhs
// CHECK-NEXT: pp.reshard %[[SUM]] from <[{}, {}], sum = {[[ROWS]]}> to <[{[[ROWS]]}, {}]> of [8, 4]
// CHECK-NEXT: pp.reshard %{{.*}} from <[{[[ROWS]]}, {}]> to <[{}, {}]> of [8, 4]
// CHECK: pp.add_grad %[[W]], {{.*}} #pp.sharding<[{}, {}], sum = {[[ROWS]]}>]
func.func @pairs(%x: tensor<8x4xf32> {pp.input = "x"}, %y: tensor<8x4xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4x4xf32>
  %a = pp.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32>
  %b = pp.matmul %y, %w : tensor<8x4xf32>, tensor<4x4xf32>
  %s = pp.matmul %a, %b {transpose_rhs} : tensor<8x4xf32>, tensor<8x4xf32>
  %t = pp.tanh %s : tensor<8x8xf32>
  %loss = pp.reduce mean %t [0, 1] : tensor<8x8xf32>
  return %loss : tensor<f32>
}

// -----

// Statistics are summed before they are broadcast, which each rank does for its rows. What is linear in the gradient of the sum comes first.
// CHECK-LABEL: func.func @statistics
// CHECK: pp.place 0 stage 0 attributes
// CHECK: %[[SUM:.*]] = pp.reduce mean {{.*}} pp.shardings = [#pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK-NEXT: %[[MEAN:.*]] = pp.reshard %[[SUM]] from <[{}], sum = {[[ROWS]]}> to <[{}]> of [4]
// CHECK-NEXT: pp.broadcast %[[MEAN]] [1] {{.*}} pp.shardings = [#pp.sharding<[{[[ROWS]]}, {}]>]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK-NEXT: %[[SUM:.*]] = pp.mul
// CHECK-NEXT: pp.reshard %[[SUM]] from <[{}], sum = {[[ROWS]]}> to <[{}]> of [4]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
func.func @statistics(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4xf32>
  %h = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  %m = pp.reduce mean %h [0] : tensor<8x4xf32>
  %rows = pp.broadcast %m [1] : tensor<4xf32> to tensor<8x4xf32>
  %c = pp.sub %h, %rows : tensor<8x4xf32>, tensor<8x4xf32>
  %e = pp.exp %c : tensor<8x4xf32>
  %loss = pp.reduce mean %e [0, 1] : tensor<8x4xf32>
  return %loss : tensor<f32>
}

// -----

// A loss that all ranks have: each adds its part.
// CHECK-LABEL: func.func @largest
// CHECK: %[[MAX:.*]] = pp.reduce max {{.*}} pp.shardings = [#pp.sharding<[{}], max = {[[ROWS]]}>]
// CHECK-NEXT: pp.reshard %[[MAX]] from <[{}], max = {[[ROWS]]}> to <[{}]> of [4]
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.reshard %{{.*}} from <[{}, {}], sum = {[[ROWS]]}> to <[{}, {}]> of [1, 4]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
// CHECK: pp.reshard %{{.*}} from <[]> to <[], sum = {[[ROWS]]}> of [] {bytes = 0 : i64
func.func @largest(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4xf32>
  %h = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  %m = pp.reduce max %h [0] : tensor<8x4xf32>
  %loss = pp.reduce sum %m [0] : tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

// Rows in order are gathered, and a rank takes its part of a parameter with a row for each. Its gradient is gathered as well, and divided.
// CHECK-LABEL: func.func @sums
// CHECK: %[[W:.*]] = pp.param "w"
// CHECK: %[[PART:.*]] = pp.reshard %[[W]] from <[{}, {}]> to <[{[[ROWS]]}, {}]> of [8, 4] {bytes = 0 : i64
// CHECK-NEXT: %[[H:.*]] = pp.mul %arg0, %[[PART]]
// CHECK-NEXT: %[[ALL:.*]] = pp.reshard %[[H]] from <[{[[ROWS]]}, {}]> to <[{}, {}]> of [8, 4]
// CHECK-NEXT: pp.cumsum %[[ALL]]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[ALL:.*]] = pp.cumsum
// CHECK-NEXT: pp.reshard %[[ALL]] from <[{}, {}]> to <[{[[ROWS]]}, {}]> of [8, 4] {bytes = 0 : i64
// CHECK: pp.reshard %{{.*}} from <[{[[ROWS]]}, {}]> to <[{}, {}], sum = {[[ROWS]]}> of [8, 4]
// CHECK-NEXT: pp.add_grad %[[W]], {{.*}} #pp.sharding<[{}, {}], sum = {[[ROWS]]}>]
// CHECK: pp.reshard %{{.*}} from <[]> to <[], sum = {[[ROWS]]}> of [] {bytes = 0 : i64
func.func @sums(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<8x4xf32>
  %h = pp.mul %x, %w : tensor<8x4xf32>, tensor<8x4xf32>
  %c = pp.cumsum %h {dim = 0 : i64} : tensor<8x4xf32>
  %t = pp.tanh %c : tensor<8x4xf32>
  %loss = pp.reduce mean %t [0, 1] : tensor<8x4xf32>
  return %loss : tensor<f32>
}

// -----

// A softmax along the batch exchanges maxima and sums, and its backward sums.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[MAX:.*]] = pp.reduce max {{.*}} pp.shardings = [#pp.sharding<[{}, {}], max = {[[ROWS]]}>]
// CHECK-NEXT: pp.reshard %[[MAX]] from <[{}, {}], max = {[[ROWS]]}> to <[{}, {}]> of [4, 1]
// CHECK: %[[SUM:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[{}, {}], sum = {[[ROWS]]}>]
// CHECK-NEXT: pp.reshard %[[SUM]] from <[{}, {}], sum = {[[ROWS]]}> to <[{}, {}]> of [4, 1]
// CHECK: pp.place 0 stage 0 backward
// CHECK: %[[SUM:.*]] = pp.reduce sum {{.*}} pp.shardings = [#pp.sharding<[{}, {}], sum = {[[ROWS]]}>]
// CHECK-NEXT: pp.reshard %[[SUM]] from <[{}, {}], sum = {[[ROWS]]}> to <[{}, {}]> of [4, 1]
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]
func.func @softmax(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<4xf32>
  %h = pp.mul %x, %w : tensor<8x4xf32>, tensor<4xf32>
  %columns = pp.transpose %h [1, 0] : tensor<8x4xf32>
  %p = pp.softmax %columns : tensor<4x8xf32>
  %t = pp.tanh %p : tensor<4x8xf32>
  %loss = pp.reduce mean %t [0, 1] : tensor<4x8xf32>
  return %loss : tensor<f32>
}
