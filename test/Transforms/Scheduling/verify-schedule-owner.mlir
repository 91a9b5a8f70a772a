// RUN: %ppopt opt %s --pp-verify-schedule --split-input-file --verify-diagnostics

// What is borrowed comes before it is read and goes before it is updated; its gradients go when they are complete, and are added
// before they are read.
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  pp.wait 0
  pp.run @p0_U microbatch 0 (<params, "b0">)
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  pp.wait 0
  pp.run @p0_U microbatch 0 (<params, "b0">)
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  // expected-error @+1 {{reads 'w', which its owner has not lent to this place yet}}
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.wait 0
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  // expected-note @+1 {{this send is not waited for}}
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  // expected-error @+1 {{updates @b0 while it is being sent}}
  pp.run @p0_U microbatch 0 (<params, "b0">)
  pp.wait 0
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  // expected-note @+1 {{it is updated here}}
  pp.run @p0_U microbatch 0 (<params, "b0">)
  // expected-error @+1 {{sends @b0 after its update}}
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.wait 0
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  pp.wait 0
  pp.run @p0_U microbatch 0 (<params, "b0">)
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  // expected-note @+1 {{it is read or sent here}}
  pp.send 1 @from microbatch 0 <grads, "b0">
  // expected-error @+1 {{adds to #pp.role<grad, "w">, which was read or sent already}}
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  // expected-note @+1 {{it is read or sent here}}
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  // expected-error @+1 {{adds to #pp.role<grad_range, "b0">, which was read or sent already}}
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.wait 0
  pp.run @p0_U microbatch 0 (<params, "b0">)
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  // expected-note @+1 {{the receive starts here}}
  pp.recv 1 @from microbatch 0 slot 0
  // expected-error @+1 {{reads 'from' before its receive is waited for}}
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.wait 1
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  pp.wait 0
  pp.run @p0_U microbatch 0 (<params, "b0">)
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.recv 1 @from microbatch 0 slot 0
  pp.wait 1
  pp.run @p0_C microbatch 0 (<grads, "b0">, slot 0)
  pp.run @p0_N microbatch 0 (<grads, "b0">)
  pp.wait 0
  pp.run @p0_U microbatch 0 (<params, "b0">)
}
// expected-error @+1 {{never sends @from of microbatch 0}}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 2 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = "", launch = "ranks", tied = "owner"}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns, places = array<i64: 0, 1>}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true, places = array<i64: 0, 1>}
pp.transfer @to "b0" from 0 to 1 stage 0 to 1 {requires_grad, step} : tensor<64xf32>
pp.transfer @from "b0" from 1 to 0 stage 1 to 0 {gradient_of = @to, step} : tensor<64xf32>
pp.task forward stage 1 on 1 @s1_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
pp.task backward stage 1 on 1 @s1_B(%d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %d : tensor<40xf32>
}
pp.task collect @p0_C(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, %g: tensor<64xf32> {pp.role = #pp.role<received, "from">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.accumulate %d, %g : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.schedule 0 attributes {slots = array<i64: 256>} {
  pp.send 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  // expected-error @+1 {{sends microbatch 1 of 1}}
  pp.send 5 @to microbatch 1 <params, "b0">
  pp.wait 5
}
pp.schedule 1 attributes {slots = array<i64>} {
  pp.recv 0 @to microbatch 0 <params, "b0">
  pp.wait 0
  pp.run @s1_F microbatch 0 (<params, "b0">)
  pp.run @s1_B microbatch 0 (<grads, "b0">)
  pp.send 1 @from microbatch 0 <grads, "b0">
  pp.wait 1
}
