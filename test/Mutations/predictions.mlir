// Mutations of tasks that make outputs.

// RUN: %mutate opt %s --mutate-outputs-exchanged | FileCheck %s --check-prefix=EXCHANGED
// RUN: %mutate opt %s --mutate-rows-rotated | FileCheck %s --check-prefix=ROTATED
// RUN: %mutate opt %s --mutate-output-not-gathered | FileCheck %s --check-prefix=GATHER
// RUN: sed 's/ {pp.role = #pp.role<output, "[a-z]*">}//g' %s > %t
// RUN: not %mutate opt %t --mutate-outputs-exchanged 2>&1 | FileCheck %s --check-prefix=NO-PAIR
// RUN: not %mutate opt %t --mutate-rows-rotated 2>&1 | FileCheck %s --check-prefix=NO-ROWS
// RUN: not %mutate opt %t --mutate-output-not-gathered 2>&1 | FileCheck %s --check-prefix=NO-GATHER
// NO-PAIR: error: has no two outputs of one type to change
// NO-ROWS: error: has no output of several rows to change
// NO-GATHER: error: has no gather in a task that makes outputs to change

// EXCHANGED: -> (tensor<8x6xf32> {pp.role = #pp.role<output, "last">}, tensor<8xf32> {pp.role = #pp.role<output, "other">},
// EXCHANGED-SAME: tensor<8x6xf32> {pp.role = #pp.role<output, "first">})

// ROTATED: %[[REST:.*]] = pp.slice %[[Y:.*]] [1, 0] : tensor<8x6xf32> to tensor<7x6xf32>
// ROTATED: %[[FIRST:.*]] = pp.slice %[[Y]] [0, 0] : tensor<8x6xf32> to tensor<1x6xf32>
// ROTATED: %[[ROTATED:.*]] = pp.concat %[[REST]], %[[FIRST]] {dim = 0 : i64}
// ROTATED: pp.return %[[ROTATED]], %{{.*}}, %[[Y]] :

// GATHER: collectives = []
// GATHER: %[[PART:.*]] = pp.reshape %{{.*}} : tensor<8x3xf32> to tensor<24xf32>
// GATHER-NEXT: pp.concat %[[PART]], %[[PART]] {dim = 0 : i64} : tensor<24xf32>, tensor<24xf32>
pp.task evaluation stage 0 @s0_E(%x: tensor<8x3xf32>, %y: tensor<8xf32>)
    -> (tensor<8x6xf32> {pp.role = #pp.role<output, "first">}, tensor<8xf32> {pp.role = #pp.role<output, "other">},
        tensor<8x6xf32> {pp.role = #pp.role<output, "last">})
    attributes {collectives = [#pp.task_collective<<all_gather> over <["tp"]> channel 1 "x" of 48 x f32>]} {
  %0 = pp.reshape %x : tensor<8x3xf32> to tensor<24xf32>
  %1 = pp.all_gather %0 over <["tp"]> "x" {channel = 1 : i64} : tensor<24xf32> to tensor<48xf32>
  %2 = pp.reshape %1 : tensor<48xf32> to tensor<8x6xf32>
  pp.return %2, %y, %2 : tensor<8x6xf32>, tensor<8xf32>, tensor<8x6xf32>
}
