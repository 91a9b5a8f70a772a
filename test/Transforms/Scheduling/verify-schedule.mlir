// RUN: ppopt opt %s --pp-verify-schedule --split-input-file --verify-diagnostics

// The first is right; each of the others has one action less, more, or out of its place.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  // expected-error @+1 {{reads 'v' from a slot that does not hold it}}
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  // expected-note @+1 {{the slot was last written here}}
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  // expected-error @+1 {{reads 'v' from a slot that does not hold it}}
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  // expected-error @+1 {{has no slot on place 0 for 'v'}}
  pp.run @F microbatch 1 (<params, "b0">, slot 1)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @B microbatch 1 (slot 1, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  // expected-note @+1 {{the first is here}}
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  // expected-error @+1 {{runs the task a second time on this microbatch}}
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
// expected-error @+1 {{never runs @B on microbatch 1}}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  // expected-error @+1 {{runs microbatch 2 of 2}}
  pp.run @F microbatch 2 (<params, "b0">, slot 0)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  // expected-note @+1 {{this start is not waited for}}
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  // expected-error @+1 {{while it is being summed over ranks}}
  pp.run @N microbatch 0 (<grads, "b0">)
  pp.wait 0
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  // expected-note @+1 {{this start is not waited for}}
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  // expected-error @+1 {{while it is being summed over ranks}}
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  // expected-error @+1 {{sums a value that is being summed already}}
  pp.start 1 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  // expected-error @+1 {{has the id of an earlier start}}
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
  pp.wait 0
  // expected-error @+1 {{waits for an id that was not started or was waited for already}}
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  // expected-error @+1 {{is never waited for}}
  pp.start 0 "all_reduce" over ["dp"] channel 1 @b0
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = "cpu", threads = 1 : i64, cpu = "x86-64-v3", features = ""}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, decayed = true}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<saved, "v">}) {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32> {pp.role = #pp.role<saved, "v">}, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm stage 0 @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  pp.run @F microbatch 0 (<params, "b0">, slot 0)
  pp.run @B microbatch 0 (slot 0, <grads, "b0">)
  pp.run @F microbatch 1 (<params, "b0">, slot 0)
  pp.run @B microbatch 1 (slot 0, <grads, "b0">)
  // expected-error @+1 {{sums over ["tp"], which is one rank}}
  pp.start 0 "all_reduce" over ["tp"] channel 1 @b0
  pp.wait 0
  pp.run @N microbatch 0 (<grads, "b0">)
}
