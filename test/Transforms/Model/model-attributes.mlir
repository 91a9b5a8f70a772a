// RUN: %ppopt opt %s --pp-verify-model -verify-diagnostics -split-input-file

// What a model may have. Attributes of other dialects are those of other tools.
module attributes {pp.thresholds = {"kernel-ops" = 2 : i64}, other.tool = "x"} {
  func.func private @layer(%x: tensor<4x8xi32> {other.name = "x"}) -> (tensor<4x8xi32> {other.name = "y"}) attributes {other.layer} {
    return {other.mark} %x : tensor<4x8xi32>
  }
  func.func @main(%x: tensor<4x8xi32> {pp.input = "x", pp.shift = 1 : i64, pp.shard = #pp.sharding<[{}, {tp} ]>}) -> tensor<f32> {
    %w = pp.param "w" {init = #pp.init<ones>, frozen, other.kind = 1, pp.aliases = ["v"]} : tensor<f32>
    %0 = call @layer(%x) {other.mark} : (tensor<4x8xi32>) -> tensor<4x8xi32>
    return %w : tensor<f32>
  }
}

// -----

// expected-error @below {{the module takes no attribute 'pp.treshold'; did you mean 'pp.thresholds'?}}
module attributes {pp.treshold = {}} {
}

// -----

// expected-error @below {{the module has pp.thresholds = 3 : i64, which must be a dictionary}}
module attributes {pp.thresholds = 3} {
}

// -----

// Declared, but not for models.
// expected-error @below {{the module takes no attribute 'pp.accurate_math'; it takes sym_name, sym_visibility, pp.buffers, pp.thresholds, pp.device, pp.cluster}}
module attributes {pp.accurate_math} {
  func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
    %0 = pp.reduce sum %x [0] : tensor<4xf32>
    return %0 : tensor<f32>
  }
}

// -----

// expected-error @below {{function @main takes no attribute 'frozen'; it takes}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> attributes {frozen} {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{function @main takes no attribute 'pp.frozen'; it takes}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> attributes {pp.frozen} {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x8xi32> {pp.input = "x"},
    // expected-error @below {{argument 1 of @main takes no attribute 'pp.shfit'; did you mean 'pp.shift'?}}
    %y: tensor<4x8xi32> {pp.input = "y", pp.shfit = 1 : i64}) -> tensor<f32> {
  %0 = pp.count %y {ignore_index = 0 : i64} : tensor<4x8xi32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x8xi32> {pp.input = "x"},
    // expected-error @below {{argument 1 of @main takes no attribute 'PP.shift'; did you mean 'pp.shift'?}}
    %y: tensor<4x8xi32> {pp.input = "y", PP.shift = 1 : i64}) -> tensor<f32> {
  %0 = pp.count %y {ignore_index = 0 : i64} : tensor<4x8xi32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{argument 0 of @main has pp.shift = 1 : i32, which must be a whole number, i64}}
func.func @main(%x: tensor<4x8xi32> {pp.input = "x", pp.shift = 1 : i32}) -> tensor<f32> {
  %0 = pp.count %x {ignore_index = 0 : i64} : tensor<4x8xi32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{input "x" has pp.shift, and 'tensor<4x8xf32>' holds no tokens: i32 or i64, [batch, positions]}}
func.func @main(%x: tensor<4x8xf32> {pp.input = "x", pp.shift = 1 : i64}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0, 1] : tensor<4x8xf32>
  return %0 : tensor<f32>
}

// -----

// The compiler's attribute of the inputs that it has cut.
// expected-error @below {{argument 0 of @main takes no attribute 'pp.sharding'; it takes pp.input, pp.shift, pp.shard}}
func.func @main(%x: tensor<4x8xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{}, {tp} ]>}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0, 1] : tensor<4x8xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{result 0 of @main takes no attribute 'pp.loss'; it takes pp.metric, pp.metric_count}}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> (tensor<f32> {pp.loss}) {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{argument 0 of @layer has pp.input, which is for inputs: arguments of the entry, which no function calls}}
func.func private @layer(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pp.reduce sum %0 [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'func.call' op takes no attribute 'place'; it takes}}
  %0 = call @layer(%x) {place = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = pp.reduce sum %0 [0] : tensor<4xf32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %0 = pp.reduce sum %x [0] : tensor<4xf32>
  // expected-error @below {{'func.return' op takes no attribute 'loss', nor any other}}
  return {loss} %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.reduce' op takes no attribute 'pp.lanes'; it takes dims, keep_dims, kind}}
  %0 = pp.reduce sum %x [0] {pp.lanes = 8 : i64} : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.on' op takes no attribute 'stage'}}
  %0 = pp.on 0 attributes {stage = 1 : i64} -> tensor<f32> {
    %1 = pp.reduce sum %x [0] : tensor<4xf32>
    pp.yield %1 : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.param' op takes no attribute 'freeze'; did you mean 'frozen'?}}
  %w = pp.param "w" {init = #pp.init<ones>, freeze} : tensor<4x4xf32>
  %0 = pp.reduce sum %x [0, 1] : tensor<4x4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.matmul' op takes no attribute 'transpose_b'; did you mean 'transpose_lhs' or 'transpose_rhs'?}}
  %0 = pp.matmul %x, %x {transpose_b} : tensor<4x4xf32>, tensor<4x4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<4x4xf32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.param' op has a place, which the compiler decides; mark the parameter with pp.on}}
  %w = pp.param "w" {init = #pp.init<ones>, place = 1 : i64} : tensor<4x4xf32>
  %0 = pp.reduce sum %x [0, 1] : tensor<4x4xf32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4x8xi32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{has pp.aliases = "v", which must be a list of strings}}
  %w = pp.param "w" {init = #pp.init<ones>, pp.aliases = "v"} : tensor<f32>
  return %w : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'pp.reduce' op takes no attribute 'pp.aliases'}}
  %0 = pp.reduce sum %x [0] {pp.aliases = ["y"]} : tensor<4xf32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{the module has pp.buffers = {v = dense<(0.000000e+00,0.000000e+00)> : tensor<complex<f32>>}, which must be a dictionary of dense tensors}}
module attributes {pp.buffers = {v = dense<(0.0, 0.0)> : tensor<complex<f32>>}} {
}

// -----

// expected-error @below {{which must be a dictionary of dense tensors}}
module attributes {pp.buffers = {v = dense_resource<missing> : tensor<2xf32>}} {
}
