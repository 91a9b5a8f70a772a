// RUN: %ppopt compile %s --mesh pp=2 --stop-after partitioned -o - 2>/dev/null | FileCheck %s
// RUN: %ppopt compile %s --mesh pp=2 --stop-after scheduled -o - 2>/dev/null | FileCheck %s --check-prefix=SCHEDULE
// RUN: %ppopt compile %s --mesh pp=2 --launch local --stop-after scheduled -o - 2>/dev/null | FileCheck %s --check-prefix=LOCAL

// The forward of a stage makes the proposals of its states, in place. Training centres by the batch, and evaluations, which have tasks of their own, by
// the state, so that they are over all rows. A place with states opens them at the begin of a step and commits them after its decision.

// CHECK: pp.plan {{{.*}}evaluates_rows
// CHECK: pp.param_decl "running" {init = #pp.init<zeros>, state, type = tensor<4xf32>}
// CHECK: pp.task forward stage 0 @s0_F(
// CHECK-SAME: %[[OLD:[a-z0-9]*]]: tensor<4xf32> {pp.role = #pp.role<proposal, "running">}
// CHECK-NOT: #pp.role<param, "running">
// CHECK-SAME: ) -> (tensor<4xf32> {pp.role = #pp.role<proposal, "running">}, tensor<8x4xf32>
// CHECK: %[[NEW:.*]] = pp.add %[[OLD]], %{{.*}} : tensor<4xf32>, tensor<4xf32>
// CHECK: pp.return %[[NEW]],
// CHECK: pp.task backward stage 0 @s0_B(
// CHECK-NOT: "running"
// CHECK: pp.task evaluation stage 0 @s0_E(
// CHECK-NOT: proposal
// CHECK-SAME: #pp.role<param, "running">
// CHECK-NOT: pp.reduce
// CHECK: pp.task evaluation stage 1 on 1 @s1_E(
// CHECK: pp.task open @p0_O(%[[S:.*]]: tensor<4xf32> {pp.role = #pp.role<param, "running">}, %{{.*}}: tensor<4xf32> {pp.role = #pp.role<proposal, "running">}) -> (tensor<4xf32> {pp.role = #pp.role<proposal, "running">}) {
// CHECK-NEXT: pp.return %[[S]]
// CHECK: pp.task commit @p0_M(%{{.*}}: tensor<f64> {pp.role = #pp.role<step_state, "hold">}, %[[S:.*]]: tensor<4xf32> {pp.role = #pp.role<param, "running">}, %[[P:.*]]: tensor<4xf32> {pp.role = #pp.role<proposal, "running">}) -> (tensor<4xf32> {pp.role = #pp.role<param, "running">}) {
// CHECK: pp.select %{{.*}}, %[[S]], %[[P]]
// CHECK-NOT: pp.task commit on 1
// CHECK: pp.step begin {
// CHECK-NEXT: pp.call @p0_O() : () -> ()
// CHECK: } evaluation {
// CHECK-NEXT: pp.call @s0_E()
// CHECK: } end {
// CHECK: pp.call @p0_D()
// CHECK: pp.call @p0_M() : () -> ()
// CHECK-NEXT: }

// SCHEDULE: pp.schedule 0
// SCHEDULE: pp.run @p0_O
// SCHEDULE: pp.run @s0_F
// SCHEDULE: pp.run @p0_D
// SCHEDULE: pp.run @p0_M
// SCHEDULE: pp.schedule 0 attributes {evaluation
// SCHEDULE-NOT: pp.run @p0_O
// SCHEDULE-NOT: pp.run @p0_M

// LOCAL: pp.schedule local
// LOCAL: pp.run @p0_O
// LOCAL: pp.run @s0_F
// LOCAL: pp.run @p0_M
// LOCAL: pp.schedule local attributes {evaluation
// LOCAL-NOT: pp.run @p0_O
func.func @centred(%x: tensor<8x6xf32> {pp.input = "x"}, %y: tensor<8x4xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.1>} : tensor<6x4xf32>
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.1>} : tensor<4x4xf32>
  %running = pp.param "running" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %h = pp.on 0 -> tensor<8x4xf32> {
    %a = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x4xf32>
    %batch = pp.reduce mean %a [0] : tensor<8x4xf32>
    %mean = pp.by_mode %batch, %running : tensor<4xf32>
    %c = pp.sub %a, %mean : tensor<8x4xf32>, tensor<4xf32>
    %old = pp.proposed %running : tensor<4xf32>
    %new = pp.add %old, %batch : tensor<4xf32>, tensor<4xf32>
    pp.propose %running, %new : tensor<4xf32>
    pp.yield %c : tensor<8x4xf32>
  }
  %loss = pp.on 1 -> tensor<f32> {
    %o = pp.matmul %h, %v : tensor<8x4xf32>, tensor<4x4xf32>
    %l = pp.mse %o, %y : tensor<8x4xf32>, tensor<8x4xf32>
    pp.yield %l : tensor<f32>
  }
  return %loss : tensor<f32>
}
