// RUN: %ppopt opt %s --pp-verify-model -verify-diagnostics -split-input-file

// A model: layers are called, parameters are the entry's.
func.func @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
  return %0 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32> {pp.input = "x"}, %y: tensor<4x8xf32> {pp.input = "y"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xf32>
  %0 = call @layer(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = call @layer(%0, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = pp.mse %1, %y : tensor<4x8xf32>, tensor<4x8xf32>
  return %2 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.repeat' op is to be written out before a model is checked; run pp-unroll-repeats first}}
  %0 = pp.repeat 2 iter (%h = %x) -> (tensor<4x8xf32>) {
    pp.yield %h : tensor<4x8xf32>
  }
  %1 = pp.reduce sum %0 [0, 1] : tensor<4x8xf32>
  return %1 : tensor<f32>
}

// -----

// Marks hold ops, calls and parameters, in any function.
func.func private @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = pp.on 1 -> tensor<4x8xf32> {
    %1 = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>
    pp.yield %1 : tensor<4x8xf32>
  }
  return %0 : tensor<4x8xf32>
}
func.func @main(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.on 0 -> tensor<f32> {
    %w = pp.param "w" {init = #pp.init<zeros>} : tensor<8x8xf32>
    %1 = func.call @layer(%x, %w) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = pp.reduce sum %1 [0, 1] : tensor<4x8xf32>
    pp.yield %2 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.on 0 -> tensor<f32> {
    // expected-error @below {{'builtin.unrealized_conversion_cast' is not an op of a model}}
    %1 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tensor<f32>
    pp.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{the file has no entry function: every function is called by another, or there is none}}
module {
}

// -----

// expected-note @below {{the other is here}}
func.func @first(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
// expected-error @below {{both @first and @second are called by no function; a model has one entry}}
func.func @second(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}
// expected-note @below {{@again is here}}
func.func @again(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{calls @again from within itself; a model is finite: write its layers one after the other}}
  %0 = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @outside(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{calls @outside, which has no body in this file}}
  %0 = call @outside(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pp.reduce sum %0 [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @below {{function @main has more than one block; a model has no control flow}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
^bb1:
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'builtin.unrealized_conversion_cast' is not an op of a model; models consist of pp's model ops, pp.on, pp.per_microbatch, func.call and func.return}}
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

// A plan comes after phase `model`.
// expected-error @below {{'pp.plan' is not a function; a model's file holds functions only}}
pp.plan {batch = 4 : i64, mesh = [#pp.axis<"dp" = 1>], microbatches = 1 : i64, optimizer = "sgd", schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{the name of this parameter, 'w�', is not UTF-8; rename it}}
  %w = pp.param "w\FF" {init = #pp.init<zeros>} : tensor<f32>
  return %w : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{no parameter can be named __metadata__: in safetensors files that is not a tensor; rename it}}
  %w = pp.param "__metadata__" {init = #pp.init<zeros>} : tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{no input can be named __metadata__}}
func.func @main(%x: tensor<4xf32> {pp.input = "__metadata__"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<f32>
  return %w : tensor<f32>
}

// -----

// expected-error @below {{value of type 'i32'; a model computes with tensors of static shape}}
func.func @main(%x: i32 {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{value of type 'tensor<4x8xf16>'; elements are f32, f64, bf16, i32, i64 or i1, and a tensor has no encoding}}
func.func @main(%x: tensor<4x8xf16> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{value of type 'tensor<4x8xf32, 1 : i32>'; elements are}}
func.func @main(%x: tensor<4x8xf32, 1 : i32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{value of type 'tensor<4x0xf32>' has no elements; every size is at least 1}}
  %0 = pp.slice %x [0, 0] : tensor<4x8xf32> to tensor<4x0xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<4x0xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @below {{value of type 'tensor<2199023255552x2xf32>' has more than 2199023255552 elements}}
func.func @main(%x: tensor<2199023255552x2xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0, 1] : tensor<2199023255552x2xf32>
  return %0 : tensor<f32>
}

// -----

func.func @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{parameter 'b' is outside of the entry @main; declare it there and pass it as an argument}}
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<4xf32>
  %0 = pp.add %x, %b : tensor<4xf32>, tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pp.reduce sum %0 [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @below {{the first is here}}
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<f32>
  // expected-error @below {{a second parameter is named 'b'; rename one, or use the value of the first twice to share it}}
  %c = pp.param "b" {init = #pp.init<zeros>} : tensor<f32>
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  %1 = pp.mul %0, %b : tensor<f32>, tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @below {{the first is here}}
  %b = pp.param "b" {init = #pp.init<zeros>, pp.aliases = ["c", "d"]} : tensor<f32>
  // expected-error @below {{a second parameter is named 'd'; rename one, or use the value of the first twice to share it}}
  %d = pp.param "d" {init = #pp.init<zeros>} : tensor<f32>
  return %b : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @below {{the first is here}}
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<f32>
  // expected-error @below {{a second parameter is named 'b'; rename one, or use the value of the first twice to share it}}
  %d = pp.param "d" {init = #pp.init<zeros>, pp.aliases = ["c", "b"]} : tensor<f32>
  return %b : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{no parameter can be named __metadata__: in safetensors files that is not a tensor; rename it}}
  %b = pp.param "b" {init = #pp.init<zeros>, pp.aliases = ["__metadata__"]} : tensor<f32>
  return %b : tensor<f32>
}

// -----

// expected-error @below {{entry @main has no inputs: add an argument with {pp.input = "name"}}}
func.func @main() -> tensor<f32> {
  %0 = pp.constant dense<0.0> : tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{argument 0 of entry @main has no name: add {pp.input = "name"}}}
func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(
    // expected-note @below {{the first is here}}
    %x: tensor<4xf32> {pp.input = "x"},
    // expected-error @below {{a second input is named "x"; rename one}}
    %y: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.mse %x, %y : tensor<4xf32>, tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{input "x" has pp.shift = -1 : i64, which must be a number of tokens from 0 to 2199023255552}}
func.func @main(%x: tensor<4xf32> {pp.input = "x", pp.shift = -1 : i64}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{input of 'tensor<f32>' has no batch: the first dimension of every input is the batch}}
func.func @main(%x: tensor<f32> {pp.input = "x"}) -> tensor<f32> {
  return %x : tensor<f32>
}

// -----

func.func @main(
    // expected-note @below {{this one has 4}}
    %x: tensor<4xf32> {pp.input = "x"},
    // expected-error @below {{input of 'tensor<5x2xf32>' has a batch of 5 rows; the first dimension is the batch, the same in all inputs}}
    %y: tensor<5x2xf32> {pp.input = "y"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{entry @main must return the loss first, one float as in tensor<f32> without a name, but returns 'tensor<4xf32>'}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{entry @main must return the loss first, one float as in tensor<f32> without a name, but returns nothing}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) {
  return
}

// -----

// expected-error @below {{entry @main must return the loss first, one float as in tensor<f32> without a name, but returns 'tensor<f32>'}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32> {pp.metric = "a"}) {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<f32>) {
  // expected-error @below {{result 1 of entry @main is neither the loss, which comes first, nor one metric or one output: give it one of {pp.metric = "name"}, {pp.metric_count = "name"} and {pp.output = "name"}}}
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0, %0 : tensor<f32>, tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<f32> {pp.metric = "loss"}) {
  // expected-error @below {{result 1 of entry @main is named "loss", as the first result is; rename it}}
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0, %0 : tensor<f32>, tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<i64> {pp.metric = "first"}) {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  // expected-error @below {{result 1 of entry @main is a metric of 'tensor<i64>', and metrics are one float as in tensor<f32>: pp.reduce it over the batch, pp.cast integers}}
  %1 = pp.argmax %x {dim = 0 : i64} : tensor<4xf32>
  return %0, %1 : tensor<f32>, tensor<i64>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<f32> {pp.metric = "a"}, tensor<f32> {pp.metric = "a"}) {
  // expected-error @below {{result 2 of entry @main is a second pp.metric named "a", after result 1; rename one}}
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0, %0, %0 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{result 2 of entry @main is what a metric "b" is divided by, and there is none: name the dividend {pp.metric = "b"}}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<f32> {pp.metric = "a"}, tensor<f32> {pp.metric_count = "b"}) {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0, %0, %0 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

module attributes {pp.buffers = {v = dense<1> : tensor<2xui8>, w = dense_resource<w> : tensor<1xf16>}} {
  func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
    // expected-error @below {{a buffer and this parameter are named 'v'; rename one}}
    %w = pp.param "u" {init = #pp.init<zeros>, pp.aliases = ["v"]} : tensor<f32>
    return %w : tensor<f32>
  }
}

{-#
  dialect_resources: {builtin: {w: "0x02000000003C"}}
#-}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<f32> {pp.output = "a"}) {
  // expected-error @below {{result 1 of entry @main is an output of 'tensor<f32>', and outputs have the rows of the batch, 4, as their first dimension: a number of the whole batch is a metric}}
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0, %0 : tensor<f32>, tensor<f32>
}

// -----

func.func @main(%x: tensor<4x3xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<3x4xf32> {pp.output = "a"}) {
  %0 = pp.reduce sum %x [0, 1] : tensor<4x3xf32>
  // expected-error @below {{result 1 of entry @main is an output of 'tensor<3x4xf32>', and outputs have the rows of the batch, 4, as their first dimension}}
  %1 = pp.transpose %x [1, 0] : tensor<4x3xf32>
  return %0, %1 : tensor<f32>, tensor<3x4xf32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<4xf32> {pp.output = "a"}, tensor<4xf32> {pp.output = "a"}) {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  // expected-error @below {{result 2 of entry @main is a second pp.output named "a", after result 1; rename one}}
  %1 = pp.tanh %x : tensor<4xf32>
  return %0, %1, %1 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32>, tensor<4xf32> {pp.output = "a", pp.metric = "a"}) {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  // expected-error @below {{result 1 of entry @main is neither the loss, which comes first, nor one metric or one output}}
  %1 = pp.tanh %x : tensor<4xf32>
  return %0, %1 : tensor<f32>, tensor<4xf32>
}

// -----

// A state has no gradient.
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{is a state, which no gradient reaches, and has 'frozen'; leave that out}}
  %s = pp.param "s" {init = #pp.init<zeros>, state, frozen} : tensor<4xf32>
  pp.propose %s, %x : tensor<4xf32>
  %1 = pp.reduce sum %x [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{is a state, which no gradient reaches, and has 'lr_scale'; leave that out}}
  %s = pp.param "s" {init = #pp.init<zeros>, state, lr_scale = 2.0} : tensor<4xf32>
  pp.propose %s, %x : tensor<4xf32>
  %1 = pp.reduce sum %x [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

// A region is checked as the body of a function is.
func.func @main(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.per_microbatch -> tensor<f32> {
    // expected-error @below {{'builtin.unrealized_conversion_cast' is not an op of a model}}
    %1 = builtin.unrealized_conversion_cast %x : tensor<4x8xf32> to tensor<f32>
    pp.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x8xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.enter_microbatch' is not an op of a model}}
  %0 = pp.enter_microbatch %x {dim = 0 : i64, microbatches = 2 : i64} : tensor<4x8xf32> to tensor<2x8xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<2x8xf32>
  return %1 : tensor<f32>
}
