// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @softmax_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{'pp.softmax' op needs at least one dimension, got 'tensor<f32>'}}
  %0 = pp.softmax %x : tensor<f32>
  return
}

// -----

func.func @softmax_grad_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{'pp.softmax_grad' op needs at least one dimension, got 'tensor<f32>'}}
  %0 = pp.softmax_grad %x, %x : tensor<f32>
  return
}

// -----

func.func @log_softmax_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{'pp.log_softmax' op needs at least one dimension, got 'tensor<f32>'}}
  %0 = pp.log_softmax %x : tensor<f32>
  return
}

// -----

func.func @log_softmax_grad_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{'pp.log_softmax_grad' op needs at least one dimension, got 'tensor<f32>'}}
  %0 = pp.log_softmax_grad %x, %x : tensor<f32>
  return
}

// -----

func.func @normalize_of_scalar(%x: tensor<f32>) {
  // expected-error @below {{'pp.normalize' op needs at least one dimension, got 'tensor<f32>'}}
  %0 = pp.normalize %x {eps = 0.1 : f64} : tensor<f32>
  return
}

// -----

func.func @normalize_grad_eps(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.normalize_grad' op eps is -1.000000e-01, but must be finite and not negative}}
  %0 = pp.normalize_grad %x, %x {eps = -0.1 : f64} : tensor<4xf32>
  return
}

// -----

func.func @layer_norm_scale(%x: tensor<4x8xf32>, %v: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @below {{'pp.layer_norm' op scale of 'tensor<4xf32>' is not a vector of the 8 elements in the last dimension of 'tensor<4x8xf32>'}}
  %0 = pp.layer_norm %x, %v, %b : tensor<4x8xf32>, tensor<4xf32>, tensor<8xf32>
  return
}

// -----

func.func @layer_norm_bias(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %b: tensor<1x8xf32>) {
  // expected-error @below {{'pp.layer_norm' op bias of 'tensor<1x8xf32>' is not a vector of the 8 elements}}
  %0 = pp.layer_norm %x, %v, %b : tensor<4x8xf32>, tensor<8xf32>, tensor<1x8xf32>
  return
}

// -----

func.func @rms_norm_type(%x: tensor<4x8xf32>, %v: tensor<8xf64>) {
  // expected-error @below {{'pp.rms_norm' op element types of 'tensor<4x8xf32>' and 'tensor<8xf64>' differ; pp.cast changes them}}
  %0 = pp.rms_norm %x, %v : tensor<4x8xf32>, tensor<8xf64>
  return
}

// -----

func.func @embedding_table(%table: tensor<16xf32>, %ids: tensor<2x4xi32>) {
  // expected-error @below {{'pp.embedding' op table of 'tensor<16xf32>' is not of two dimensions [rows, columns]}}
  %0 = pp.embedding %table, %ids : tensor<16xf32>, tensor<2x4xi32>
  return
}

// -----

func.func @embedding_tile(%table: tensor<16x8xf32>, %ids: tensor<2x4xi32>, %key: tensor<15xi64>) {
  // expected-error @below {{'pp.embedding' op tile cuts the 16 elements of dimension 0 into 2 parts, but 'tensor<16x8xf32>' has 16 of them}}
  %0 = pp.embedding %table, %ids key %key : tensor<15xi64> {tile = #pp.tile<[{dim = 0, axis = tp, at = 5, parts = 2, period = 16}], [16, 8]>} : tensor<16x8xf32>, tensor<2x4xi32>
  return
}

// -----

func.func @embedding_grad_key(%ids: tensor<2x4xi32>, %dy: tensor<2x4x8xf32>, %key: tensor<4xi64>) {
  // expected-error @below {{'pp.embedding_grad' op key is of type 'tensor<4xi64>', but must be of 'tensor<15xi64>'}}
  %0 = pp.embedding_grad %ids, %dy key %key : tensor<4xi64> : tensor<2x4xi32>, tensor<2x4x8xf32> to tensor<16x8xf32>
  return
}

// -----

func.func @embedding_grad_shapes(%ids: tensor<2x4xi32>, %dy: tensor<2x3x8xf32>) {
  // expected-error @below {{'pp.embedding_grad' op ids of 'tensor<2x4xi32>', dy of 'tensor<2x3x8xf32>' and a table of 'tensor<16x8xf32>' do not fit: they are [...], [..., C] and [V, C]}}
  %0 = pp.embedding_grad %ids, %dy : tensor<2x4xi32>, tensor<2x3x8xf32> to tensor<16x8xf32>
  return
}

// -----

func.func @attention_of_too_many(%q: tensor<1x1x536870912x1xf32>, %k: tensor<1x1x536870913x1xf32>) {
  // expected-error @below {{'pp.attention' op q of 'tensor<1x1x536870912x1xf32>' and k of 'tensor<1x1x536870913x1xf32>' have more than 288230376151711744 scores}}
  %0:2 = pp.attention %q, %k, %k : tensor<1x1x536870912x1xf32>, tensor<1x1x536870913x1xf32>, tensor<1x1x536870913x1xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<2x3x8xf32>) {
  // expected-error @below {{'pp.attention' op operand of 'tensor<2x3x8xf32>' is not of four dimensions [batch, heads, tokens, width]}}
  %0:2 = pp.attention %q, %q, %q : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @attention_keys(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x7xf32>) {
  // expected-error @below {{'pp.attention' op q of 'tensor<2x3x4x8xf32>' and k of 'tensor<2x3x4x7xf32>' differ in batch or width (dimensions 0, 3)}}
  %0:2 = pp.attention %q, %k, %k : tensor<2x3x4x8xf32>, tensor<2x3x4x7xf32>, tensor<2x3x4x7xf32>
  return
}

// -----

func.func @attention_values(%q: tensor<2x3x4x8xf32>, %v: tensor<2x3x5x8xf32>) {
  // expected-error @below {{'pp.attention' op k of 'tensor<2x3x4x8xf32>' and v of 'tensor<2x3x5x8xf32>' differ in batch, heads or tokens (dimensions 0, 1, 2)}}
  %0:2 = pp.attention %q, %q, %v : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x5x8xf32>
  return
}

// -----

func.func @attention_types(%q: tensor<2x3x4x8xf32>, %k: tensor<2x3x4x8xf64>) {
  // expected-error @below {{'pp.attention' op operands of 'tensor<2x3x4x8xf32>' and 'tensor<2x3x4x8xf64>' differ in their element types; pp.cast one}}
  %0:2 = pp.attention %q, %k, %k : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf64>, tensor<2x3x4x8xf64>
  return
}

// -----

func.func @attention_grad_lse(%q: tensor<2x3x4x8xf32>, %lse: tensor<2x3x8xf32>) {
  // expected-error @below {{'pp.attention_grad' op operand of 'tensor<2x3x8xf32>' must be of 'tensor<2x3x4x2xf32>', as the result of pp.attention is}}
  %0:3 = pp.attention_grad %q, %q, %q, %q, %lse, %q : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x8xf32>
  return
}

// -----

func.func @cross_entropy_targets(%x: tensor<2x4x16xf32>, %t: tensor<2x3xi32>) {
  // expected-error @below {{'pp.cross_entropy' op targets of 'tensor<2x3xi32>' do not fit logits of 'tensor<2x4x16xf32>': one target for each row of logits}}
  %0 = pp.cross_entropy %x, %t : tensor<2x4x16xf32>, tensor<2x3xi32>
  return
}

// -----

func.func @token_loss_targets(%x: tensor<f32>, %t: tensor<i32>) {
  // expected-error @below {{'pp.token_loss' op targets of 'tensor<i32>' do not fit logits of 'tensor<f32>': one target for each row of logits}}
  %0 = pp.token_loss %x, %t : tensor<f32>, tensor<i32>
  return
}

// -----

func.func @token_loss_grad_dloss(%x: tensor<2x4x16xf32>, %t: tensor<2x4xi32>, %d: tensor<2x4xf64>) {
  // expected-error @below {{'pp.token_loss_grad' op operand of 'tensor<2x4xf64>' must be of 'tensor<2x4xf32>', as the result of pp.token_loss is}}
  %0 = pp.token_loss_grad %x, %t, %d : tensor<2x4x16xf32>, tensor<2x4xi32>, tensor<2x4xf64>
  return
}

// -----

func.func @count_result(%t: tensor<2x4xi32>) {
  // expected-error @below {{'pp.count' op result is a scalar, got 'tensor<2xf32>'}}
  %0 = pp.count %t {ignore_index = -1 : i64} : tensor<2x4xi32> to tensor<2xf32>
  return
}

// -----

func.func @mse_types(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @below {{'pp.mse' op requires all operands to have the same type}}
  %0 = pp.mse %x, %y : tensor<4xf32>, tensor<5xf32>
  return
}
