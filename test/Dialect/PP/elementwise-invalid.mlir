// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @no_broadcast(%x: tensor<4x8xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{'pp.add' op operands of 'tensor<4x8xf32>' and 'tensor<4xf32>' do not broadcast: aligned at the right, sizes are equal or 1}}
  %0 = pp.add %x, %b : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @element_types(%x: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{'pp.mul' op operands of 'tensor<4xf32>' and 'tensor<4xf64>' differ in their element types; pp.cast one}}
  %0 = pp.mul %x, %b : tensor<4xf32>, tensor<4xf64>
  return
}

// -----

func.func @dynamic_operand(%x: tensor<?xf32>) {
  // expected-error @below {{'pp.div' op operand #0 is of type 'tensor<?xf32>', but must be a tensor with a static shape}}
  %0 = pp.div %x, %x : tensor<?xf32>, tensor<?xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{'pp.relu' op operand #0 must be statically shaped tensor of f32, f64 or bf16 values, but got 'tensor<?xf32>'}}
  %0 = pp.relu %x : tensor<?xf32>
  return
}

// -----

func.func @select_types(%c: tensor<4xi1>, %x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @below {{'pp.select' op element types of 'tensor<4xf32>' and 'tensor<4xf64>' differ; pp.cast changes them}}
  %0 = pp.select %c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf64>
  return
}

// -----

func.func @select_shapes(%c: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error @below {{'pp.select' op operands of 'tensor<3xi1>' and 'tensor<4xf32>' do not broadcast}}
  %0 = pp.select %c, %x, %x : tensor<3xi1>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @compare_types(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @below {{'pp.compare' op operands of 'tensor<4xf32>' and 'tensor<4xi32>' differ in their element types; pp.cast one}}
  %0 = pp.compare eq %x, %y : tensor<4xf32>, tensor<4xi32>
  return
}

// -----

func.func @cast_shape(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.cast' op requires the same shape for all operands and results}}
  %0 = pp.cast %x : tensor<4xf32> to tensor<5xf64>
  return
}

// -----

func.func @dropout_p(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.dropout' op p is 1.000000e+00, but must be in [0, 1)}}
  %0 = pp.dropout %x {p = 1.0 : f64} : tensor<4xf32>
  return
}

// -----

func.func @result_type(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.add' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "pp.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @exponent(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.pow' op exponent is INF, but must be finite}}
  %0 = pp.pow %x {exponent = 0x7FF0000000000000 : f64} : tensor<4xf32>
  return
}

// -----

func.func @no_bound(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.clamp' op has neither min nor max; give one of them}}
  %0 = pp.clamp %x : tensor<4xf32>
  return
}

// -----

func.func @nan_bound(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.clamp' op max is NaN; leave it out}}
  %0 = pp.clamp %x {min = 0.0 : f64, max = 0x7FF8000000000000 : f64} : tensor<4xf32>
  return
}

// -----

func.func @power_of_integers(%x: tensor<4xi32>) {
  // expected-error @below {{'pp.power' op operand #0 must be statically shaped tensor of f32, f64 or bf16 values, but got 'tensor<4xi32>'}}
  %0 = pp.power %x, %x : tensor<4xi32>, tensor<4xi32>
  return
}
