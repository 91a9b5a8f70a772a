// RUN: ppopt opt %s --pp-verify-tasks

// The tasks below are right; each of the others has something that its place can't supply, or is called elsewhere.

// RUN: sed 's/^pp.task backward stage 1 on 1/pp.task backward stage 1 on 0/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=STAGE
// STAGE: error: {{.*}}is on place 0, and another task of its stage is not
// STAGE: note: this one is on place 1

// RUN: sed 's/^pp.task forward stage 0 @/pp.task forward stage 0 on 2 @/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: {{.*}}is on place 2, and the plan has 2

// RUN: sed 's/^pp.task norm @/pp.task norm on 1 @/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=BUCKET
// BUCKET: error: {{.*}}takes #pp.role<grad_range, "b0">, but place 1 holds no such bucket

// RUN: sed 's/param_decl "c" .*/param_decl "c" {type = tensor<16xf32>, init = #pp.init<zeros>, frozen}/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=PARAM
// PARAM: error: {{.*}}takes #pp.role<param, "c">, but place 1 holds no such parameter

// RUN: sed 's/params = \["w"\]/params = ["u"]/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=LOOSE
// LOOSE: error: {{.*}}adds to #pp.role<grad, "w">, which no bucket updates

// RUN: sed '/^pp.input_decl/d' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: error: {{.*}}takes #pp.role<input, "x">, which is not declared

// RUN: sed 's/^pp.task forward stage 1 \(.*\)"g0"/pp.task forward stage 1 \1"g1"/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=GLOBAL
// GLOBAL: error: {{.*}}takes #pp.role<global, "g1">, which no prologue computes

// RUN: sed 's/^pp.task prologue/pp.task forward stage 2/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=PROLOGUE
// PROLOGUE: error: {{.*}}computes #pp.role<global, "g0">, which only a prologue may

// RUN: sed 's/^pp.task decide @/pp.task decide on 1 @/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=DECIDED
// DECIDED: error: {{.*}}takes #pp.role<step_state, "hold">, which no task of place 0 computes

// RUN: sed 's/^pp.task decide \(.*\)"hold"/pp.task decide \1"lr"/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: error: {{.*}}computes #pp.role<step_state, "lr">, which is given before a step

// RUN: sed 's/^pp.task norm @p0_N(\(.*\)) {/pp.task norm @p0_N(\1, %h: tensor<f64> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f64> {pp.role = #pp.role<step_state, "hold">}) {\n  pp.return %h : tensor<f64>\n}\npp.task norm on 1 @p1_N() {/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: {{.*}}makes #pp.role<step_state, "hold">, as another task does
// TWICE: note: the other is here

// RUN: sed 's/pp.call @s1_B(%v)/pp.call @s1_B(%h)/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=ELSEWHERE
// ELSEWHERE: error: {{.*}}gives @s1_B, on place 1, a value of place 0

// RUN: sed 's/pp.copy %g from 1/pp.copy %h from 1/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: error: {{.*}}copies from place 1 a value of place 0

// RUN: sed 's/from 0 to 1/from 0 to 2/; s/from 1 to 0/from 2 to 0/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=NOWHERE
// NOWHERE: error: {{.*}}is on place 2, and the plan has 2

// RUN: sed 's/pp.call @s0_W(%x1)/pp.call @s0_W(%h)/' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=UNREAD
// UNREAD: error: {{.*}}brings a value that nothing reads

// RUN: sed '/^pp.step/,$d' %s | not ppopt opt --pp-verify-tasks 2>&1 | FileCheck %s --check-prefix=STEPLESS
// STEPLESS: error: has tasks, and no pp.step that calls them

!g = tensor<16xf32>
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 4 : i64, microbatches = 2 : i64, schedule = "gpipe", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.input_decl "x" {type = tensor<4x8xf32>, shift = 0 : i64}
pp.param_decl "w" {type = tensor<16xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "c" {type = !g, init = #pp.init<zeros>, frozen, places = array<i64: 1>}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 16 : i64, type = f32}
pp.task prologue on 1 @p1_P(%g: tensor<f32> {pp.role = #pp.role<global, "g0">}) -> (tensor<f32> {pp.role = #pp.role<global, "g0">}) {
  pp.return %g : tensor<f32>
}
pp.task forward stage 0 @s0_F(%x: tensor<2x8xf32> {pp.role = #pp.role<input, "x">}, %w: tensor<16xf32> {pp.role = #pp.role<param, "w">}) -> tensor<16xf32> {
  pp.return %w : tensor<16xf32>
}
pp.task forward stage 1 on 1 @s1_F(%h: tensor<16xf32>, %g: tensor<f32> {pp.role = #pp.role<global, "g0">}, %c: !g {pp.role = #pp.role<param, "c">}) -> (!g) {
  pp.return %c : !g
}
pp.task backward stage 1 on 1 @s1_B(%v: !g) -> (!g) {
  pp.return %v : !g
}
pp.task backward_weight stage 0 @s0_W(%g: !g, %d: tensor<16xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<16xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<16xf32>
}
pp.task norm @p0_N(%g: tensor<16xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task decide @p0_D(%l: tensor<f64> {pp.role = #pp.role<loss, "loss">}) -> (tensor<f64> {pp.role = #pp.role<step_state, "hold">}) {
  pp.return %l : tensor<f64>
}
pp.task update @p0_U_b0(%p: tensor<16xf32> {pp.role = #pp.role<param_range, "b0">}, %s: tensor<16xf32> {pp.role = #pp.role<state_range, "b0", "momentum">}, %h: tensor<f64> {pp.role = #pp.role<step_state, "hold">}) -> (tensor<16xf32> {pp.role = #pp.role<param_range, "b0">}, tensor<16xf32> {pp.role = #pp.role<state_range, "b0", "momentum">}) {
  pp.return %p, %s : tensor<16xf32>, tensor<16xf32>
}
pp.step prologue {
  pp.call @p1_P() : () -> ()
} microbatch {
  %h = pp.call @s0_F() : () -> tensor<16xf32>
  %x0 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<16xf32>
  %v = pp.call @s1_F(%x0) : (tensor<16xf32>) -> !g
  %g = pp.call @s1_B(%v) : (!g) -> !g
  %x1 = pp.copy %g from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : !g
  pp.call @s0_W(%x1) : (!g) -> ()
} evaluation {
  %h = pp.call @s0_F() : () -> tensor<16xf32>
  %x0 = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<16xf32>
  %v = pp.call @s1_F(%x0) : (tensor<16xf32>) -> !g
} end {
  pp.call @p0_N() : () -> ()
  pp.call @p0_D() : () -> ()
  pp.call @p0_U_b0() : () -> ()
}
