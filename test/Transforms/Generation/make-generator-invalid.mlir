// RUN: ppopt opt %s --pp-insert-plan --pp-make-generator -split-input-file -verify-diagnostics

// expected-error @below {{the model generates no tokens: no loss of it scores classes (pp.cross_entropy)}}
func.func @no_loss(%tokens: tensor<2x8xi32> {pp.input = "tokens"}) -> tensor<f32> {
  %x = pp.cast %tokens : tensor<2x8xi32> to tensor<2x8xf32>
  %l = pp.reduce sum %x [0, 1] : tensor<2x8xf32>
  return %l : tensor<f32>
}

// -----

func.func @two_losses(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // expected-note @below {{the other is here}}
  %l = pp.cross_entropy %x, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.token_loss' op scores classes, and another op does so too: which of them scores the next token is not known}}
  %m = pp.token_loss %x, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @another_input(
    // expected-error @below {{the model can't generate: its logits need two inputs, and generation has the tokens so far alone}}
    %tokens: tensor<2x8xi32> {pp.input = "tokens"},
    %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64},
    // expected-note @below {{the other is here}}
    %picture: tensor<2x8x16xf32> {pp.input = "picture"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %y = pp.add %x, %picture : tensor<2x8x16xf32>, tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @no_input(%next: tensor<2xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<2x16xf32>
  // expected-error @below {{'pp.cross_entropy' op scores a value that does not depend on any input}}
  %l = pp.cross_entropy %w, %next : tensor<2x16xf32>, tensor<2xi32>
  return %l : tensor<f32>
}

// -----

func.func @no_tokens(
    // expected-error @below {{the model can't generate: its input of 'tensor<2x8x16xf32>' is not tokens [rows, positions]}}
    %picture: tensor<2x8x16xf32> {pp.input = "picture"},
    %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %l = pp.cross_entropy %picture, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @not_next(
    // expected-note @below {{these are here}}
    %tokens: tensor<2x8xi32> {pp.input = "tokens"}, %masked: tensor<2x8xi32> {pp.input = "masked"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.cross_entropy' op does not score the next token: its classes are not an input of tokens one after those that the logits are computed from (pp.shift)}}
  %l = pp.cross_entropy %x, %masked : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @more_classes(
    // expected-note @below {{these are here}}
    %tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<15x16xf32>
  %x = pp.embedding %w, %tokens : tensor<15x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.cross_entropy' op scores 16 classes, but the tokens that the model reads are below 15}}
  %l = pp.cross_entropy %x, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @mixes_rows(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.reduce' op can't be computed for one row of the batch: it mixes rows of the batch}}
  %m = pp.reduce sum %x [0] : tensor<2x8x16xf32>
  %y = pp.add %x, %m : tensor<2x8x16xf32>, tensor<8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @depends_on_row(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  // expected-note @below {{it is made here}}
  %i = pp.iota {dim = 0 : i64} -> tensor<2x8x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.add' op can't be computed for one row of the batch: operand 1 has a dimension for the rows of the batch that does not come from the tokens}}
  %y = pp.add %x, %i : tensor<2x8x16xf32>, tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @sums_positions(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.reduce' op can't be computed one position at a time: it mixes positions}}
  %m = pp.reduce sum %x [1] {keep_dims} : tensor<2x8x16xf32>
  %y = pp.add %x, %m : tensor<2x8x16xf32>, tensor<2x1x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @attention_by_hand(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // expected-error @below {{'pp.matmul' op can't be computed one position at a time: it mixes positions, which lie along different dimensions of its operands}}
  %s = pp.matmul %x, %x {transpose_rhs} : tensor<2x8x16xf32>, tensor<2x8x16xf32>
  %y = pp.matmul %s, %x : tensor<2x8x8xf32>, tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @regroups(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  // Two positions a row.
  // expected-error @below {{'pp.reshape' op can't be computed one position at a time: it mixes positions, which are dimension 1 of operand 0}}
  %r = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x4x32xf32>
  %y = pp.reshape %r : tensor<2x4x32xf32> to tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @whole_integers(%tokens: tensor<2x4xi32> {pp.input = "tokens"}, %next: tensor<2x4xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  // expected-note @below {{it is made here}}
  %c = pp.constant dense<[0, 2, 1, 3]> : tensor<4xi32>
  // expected-error @below {{'pp.add' op can't be computed one position at a time: operand 1 has a dimension for the positions that does not come from the tokens}}
  %t = pp.add %tokens, %c : tensor<2x4xi32>, tensor<4xi32>
  %x = pp.embedding %w, %t : tensor<16x16xf32>, tensor<2x4xi32>
  %l = pp.cross_entropy %x, %next : tensor<2x4x16xf32>, tensor<2x4xi32>
  return %l : tensor<f32>
}

// -----

func.func @not_causal(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %q = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x1x8x16xf32>
  // expected-error @below {{'pp.attention' op can't be computed one position at a time: it is not causal, so each position sees later ones}}
  %o, %lse = pp.attention %q, %q, %q : tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>
  %y = pp.reshape %o : tensor<2x1x8x16xf32> to tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @attention_bias(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x0 = pp.param "b" {init = #pp.init<zeros>} : tensor<1x1x8x8xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %q = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x1x8x16xf32>
  // expected-error @below {{'pp.attention' op can't be computed one position at a time: caches hold no bias of earlier positions; leave it out for a model that generates (window and slopes may stay)}}
  %o, %lse = pp.attention %q, %q, %q bias %x0 {causal} : tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<1x1x8x8xf32>
  %y = pp.reshape %o : tensor<2x1x8x16xf32> to tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @attention_mask(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x0 = pp.constant dense<true> : tensor<1x1x8x8xi1>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %q = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x1x8x16xf32>
  // expected-error @below {{'pp.attention' op can't be computed one position at a time: caches hold no mask of earlier positions; leave it out for a model that generates (window and slopes may stay)}}
  %o, %lse = pp.attention %q, %q, %q mask %x0 {causal} : tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<1x1x8x8xi1>
  %y = pp.reshape %o : tensor<2x1x8x16xf32> to tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @attention_segments(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x0 = pp.constant dense<0> : tensor<2x8xi32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %q = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x1x8x16xf32>
  // expected-error @below {{'pp.attention' op can't be computed one position at a time: caches hold no segments of earlier positions; leave it out for a model that generates (window and slopes may stay)}}
  %o, %lse = pp.attention %q, %q, %q segments %x0 {causal} : tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x8xi32>
  %y = pp.reshape %o : tensor<2x1x8x16xf32> to tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @learned_keys(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %m = pp.param "m" {init = #pp.init<zeros>} : tensor<1x8x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %q = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x1x8x16xf32>
  %k = pp.broadcast %m [1, 2, 3] : tensor<1x8x16xf32> to tensor<2x1x8x16xf32>
  // expected-error @below {{'pp.attention' op can't be computed one position at a time: the sequence is not dimension 2 of operand 1}}
  %o, %lse = pp.attention %q, %k, %q {causal} : tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>
  %y = pp.reshape %o : tensor<2x1x8x16xf32> to tensor<2x8x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @reads_statistics(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x8xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x16xf32>
  %x = pp.embedding %w, %tokens : tensor<16x16xf32>, tensor<2x8xi32>
  %q = pp.reshape %x : tensor<2x8x16xf32> to tensor<2x1x8x16xf32>
  %o, %lse = pp.attention %q, %q, %q {causal} : tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>, tensor<2x1x8x16xf32>
  // expected-error @below {{'pp.reshape' op can't be computed one position at a time: it reads a value that is not known for one position alone}}
  %s = pp.reshape %lse : tensor<2x1x8x2xf32> to tensor<2x8x2xf32>
  %part = pp.slice %s [0, 0, 1] : tensor<2x8x2xf32> to tensor<2x8x1xf32>
  %y = pp.add %x, %part : tensor<2x8x16xf32>, tensor<2x8x1xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x8x16xf32>, tensor<2x8xi32>
  return %l : tensor<f32>
}

// -----

func.func @two_scores(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %next: tensor<2x16xi32> {pp.input = "next", pp.shift = 1 : i64}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<16x32xf32>
  %x = pp.embedding %w, %tokens : tensor<16x32xf32>, tensor<2x8xi32>
  // Two rows of scores for each token.
  // expected-error @below {{the model can't generate: it does not have one row of scores for each token}}
  %y = pp.reshape %x : tensor<2x8x32xf32> to tensor<2x16x16xf32>
  %l = pp.cross_entropy %y, %next : tensor<2x16x16xf32>, tensor<2x16xi32>
  return %l : tensor<f32>
}
