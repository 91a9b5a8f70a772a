// RUN: %ppopt opt %s --pp-verify-tasks --split-input-file --verify-diagnostics

// A step calls each task once, on values of its place.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "x" {shift = 0 : i64, type = tensor<2x4xf32>}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.mul %x, %h : tensor<1x4xf32>, tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 0 @s0_B(%h: tensor<1x4xf32>, %g: tensor<1x4xf32>) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = pp.call @s1_B(%1, %2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = pp.copy %3 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<1x4xf32>
  pp.call @s0_B(%0, %4) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
}

// -----

// Another place's value.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "x" {shift = 0 : i64, type = tensor<2x4xf32>}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.mul %x, %h : tensor<1x4xf32>, tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 0 @s0_B(%h: tensor<1x4xf32>, %g: tensor<1x4xf32>) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = pp.call @s1_B(%1, %2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  // expected-error @+1 {{gives @s0_B, on place 0, a value of place 1}}
  pp.call @s0_B(%0, %3) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "x" {shift = 0 : i64, type = tensor<2x4xf32>}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.mul %x, %h : tensor<1x4xf32>, tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 0 @s0_B(%h: tensor<1x4xf32>, %g: tensor<1x4xf32>) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = pp.call @s1_B(%1, %2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = pp.copy %3 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<1x4xf32>
  pp.call @s0_B(%0, %4) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
  // expected-error @+1 {{calls @s0_B again}}
  pp.call @s0_B(%0, %4) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "x" {shift = 0 : i64, type = tensor<2x4xf32>}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.mul %x, %h : tensor<1x4xf32>, tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 0 @s0_B(%h: tensor<1x4xf32>, %g: tensor<1x4xf32>) {
  pp.return
}
pp.task decide @p0_D() {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = pp.call @s1_B(%1, %2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = pp.copy %3 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<1x4xf32>
  pp.call @s0_B(%0, %4) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
  // expected-error @+1 {{calls @p0_D, whose kind belongs elsewhere}}
  pp.call @p0_D() : () -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
}

// -----

// Not in an evaluation.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks"}
pp.input_decl "x" {shift = 0 : i64, type = tensor<2x4xf32>}
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
// expected-error @+1 {{is not called by the step}}
pp.task forward stage 1 on 1 @s1_F(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.tanh %x : tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 1 on 1 @s1_B(%x: tensor<1x4xf32>, %h: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = pp.mul %x, %h : tensor<1x4xf32>, tensor<1x4xf32>
  pp.return %0 : tensor<1x4xf32>
}
pp.task backward stage 0 @s0_B(%h: tensor<1x4xf32>, %g: tensor<1x4xf32>) {
  pp.return
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  %2 = pp.call @s1_F(%1) : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = pp.call @s1_B(%1, %2) : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %4 = pp.copy %3 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<1x4xf32>
  pp.call @s0_B(%0, %4) : (tensor<1x4xf32>, tensor<1x4xf32>) -> ()
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
}
