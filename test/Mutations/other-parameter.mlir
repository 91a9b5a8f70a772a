// RUN: %mutate opt %s --mutate-other-parameter | FileCheck %s
// RUN: sed 's/param, "w"/input, "x"/; s/param, "b"/input, "y"/' %s | not %mutate opt --mutate-other-parameter 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: has no task with two parameters to change

// In the first task that can, the largest parameter of which another is as large: v, not b. Every run of the task reads w twice.
// CHECK: pp.run @F microbatch 0 () at (<params, "b0"> + 256, <params, "b0"> + 256, <params, "b0"> + 512)
// CHECK-NEXT: pp.run @F microbatch 1 () at (<params, "b0"> + 256, <params, "b0"> + 256, <params, "b0"> + 512)
// CHECK-NEXT: pp.run @G microbatch 0 () at (<params, "b0">, <params, "b0"> + 256)
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["v", "w", "b"], offsets = array<i64: 0, 64, 128>, elements = 192 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">}, %b: tensor<8xf32> {pp.role = #pp.role<param, "b">}) {
  pp.return
}
pp.task forward stage 1 @G(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64>} {
  pp.run @F microbatch 0 () at (<params, "b0">, <params, "b0"> + 256, <params, "b0"> + 512) : () -> ()
  pp.run @F microbatch 1 () at (<params, "b0">, <params, "b0"> + 256, <params, "b0"> + 512) : () -> ()
  pp.run @G microbatch 0 () at (<params, "b0">, <params, "b0"> + 256) : () -> ()
}
