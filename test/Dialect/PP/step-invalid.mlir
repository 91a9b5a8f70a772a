// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

pp.step microbatch {
  // expected-error @+1 {{calls @nothing, which is not a task}}
  pp.call @nothing() : () -> ()
}

// -----

pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.step microbatch {
  // expected-error @+1 {{has 0 results and @s0_F 1, 'tensor<1x4xf32>'}}
  pp.call @s0_F() : () -> ()
}

// -----

pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  // expected-error @+1 {{has 1 operands, 'tensor<1x4xf32>', and @s0_F 0}}
  %1 = pp.call @s0_F(%0) : (tensor<1x4xf32>) -> tensor<1x4xf32>
}

// -----

pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  // expected-note @+1 {{the other is here}}
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  // expected-error @+1 {{has the id of another copy}}
  %2 = pp.copy %0 from 0 to 2 {id = 0 : i64} : tensor<1x4xf32>
}

// -----

// Both may have a copy that training and evaluation have.
pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
} evaluation {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
}

// -----

pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  // expected-error @+1 {{is the gradient of copy 1, and there is none before it}}
  %1 = pp.copy %0 from 0 to 1 {gradient_of = 1 : i64, id = 0 : i64} : tensor<1x4xf32>
}

// -----

pp.task forward stage 0 @s0_F(%x: tensor<1x4xf32> {pp.role = #pp.role<input, "x">}) -> tensor<1x4xf32> {
  pp.return %x : tensor<1x4xf32>
}
pp.step microbatch {
  %0 = pp.call @s0_F() : () -> tensor<1x4xf32>
  // expected-note @+1 {{the other is here}}
  %1 = pp.copy %0 from 0 to 1 {id = 0 : i64} : tensor<1x4xf32>
  // expected-error @+1 {{does not go in the opposite direction of its copy}}
  %2 = pp.copy %1 from 1 to 2 {gradient_of = 0 : i64, id = 1 : i64} : tensor<1x4xf32>
}

// -----

pp.step microbatch {
  // expected-error @+1 {{is no part of a step}}
  %0 = pp.constant dense<1.0> : tensor<f32>
}

// -----

pp.step begin {
  // expected-error @+1 {{copies @b0, which is not a bucket}}
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
}

// -----

pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.step begin {
  // expected-error @+1 {{goes from place 1 to itself}}
  pp.copy_bucket @b0 from 1 to 1 {id = 0 : i64}
}

// -----

pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.step end {
  // expected-error @+1 {{brings gradients back, and does not say of which copy}}
  %0 = pp.copy_bucket @b0 from 1 to 0 {id = 0 : i64} : tensor<64xf32>
}

// -----

pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.step begin {
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
} end {
  // expected-error @+1 {{is of gradients, and has no result}}
  pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64}
}

// -----

pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.bucket @b1 {borrowed, params = ["v"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>}
pp.step begin {
  // expected-note @+1 {{the other is here}}
  pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
} end {
  // expected-error @+1 {{is of something else than its copy}}
  %0 = pp.copy_bucket @b1 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
}
