// RUN: %ppopt opt %s --pp-verify-tasks --split-input-file --verify-diagnostics

// Each way of what is borrowed is between its owner and a place that holds it.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32>) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
} microbatch {
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
} evaluation {
  pp.call @s1_F() : () -> ()
} end {
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
  pp.call @p0_C(%0) : (tensor<64xf32>) -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_U() : () -> ()
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32>) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  // expected-error @+1 {{is of @b0, which place 0 does not borrow from place 1}}
  pp.copy_bucket @b0 from 1 to 0 {id = 0 : i64}
} microbatch {
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
} evaluation {
  pp.call @s1_F() : () -> ()
} end {
  %0 = pp.copy_bucket @b0 from 0 to 1 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
  pp.call @p0_C(%0) : (tensor<64xf32>) -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_U() : () -> ()
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.param_decl "v" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0>}
pp.bucket @b7 {params = ["v"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32>) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  // expected-error @+1 {{is of @b7, which place 1 does not borrow from place 0}}
  pp.copy_bucket @b7 from 0 to 1 {id = 0 : i64}
} microbatch {
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
} evaluation {
  pp.call @s1_F() : () -> ()
} end {
  %0 = pp.copy_bucket @b7 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
  pp.call @p0_C(%0) : (tensor<64xf32>) -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_U() : () -> ()
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %d : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
} microbatch {
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
} evaluation {
  pp.call @s1_F() : () -> ()
} end {
  // expected-error @+1 {{brings 'tensor<40xf32>', and the gradients are 'tensor<64xf32>'}}
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<40xf32>
  pp.call @p0_C() : () -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_U() : () -> ()
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %d : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
} microbatch {
  pp.call @s1_F() : () -> ()
  pp.call @s1_B() : () -> ()
} evaluation {
  pp.call @s1_F() : () -> ()
} end {
  // expected-error @+1 {{brings gradients that no task adds}}
  %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
  pp.call @p0_C() : () -> ()
  pp.call @p0_N() : () -> ()
  pp.call @p0_U() : () -> ()
}
