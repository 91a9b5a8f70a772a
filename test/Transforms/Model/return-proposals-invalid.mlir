// RUN: ppopt opt %s --pp-return-proposals --split-input-file --verify-diagnostics
// RUN: ppopt opt %s --pp-return-proposals=drop --split-input-file --verify-diagnostics

func.func @no_state(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4xf32>
  // expected-error @below {{proposes a value of what is no state; its first operand must be a pp.param with 'state'}}
  pp.propose %w, %x : tensor<4xf32>
  %loss = pp.reduce sum %x [0] : tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

func.func @two(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<zeros>, state} : tensor<4xf32>
  // expected-note @below {{the first is here}}
  pp.propose %s, %x : tensor<4xf32>
  // expected-error @below {{is a second proposal for state 's'; a step commits one value: combine them}}
  pp.propose %s, %x : tensor<4xf32>
  %loss = pp.reduce sum %x [0] : tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

func.func @none(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{'s' is a state, and no op proposes a value of it; add a pp.propose, or make it 'frozen' instead}}
  %s = pp.param "s" {init = #pp.init<zeros>, state} : tensor<4xf32>
  %loss = pp.reduce sum %x [0] : tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

func.func @proposed_of_none(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @below {{reads what is no state; its operand must be a pp.param with 'state'}}
  %old = pp.proposed %x : tensor<4xf32>
  %loss = pp.reduce sum %x [0] : tensor<4xf32>
  return %loss : tensor<f32>
}

// -----

func.func @in_the_loss(%x: tensor<4xf32> {pp.input = "x"}) -> tensor<f32> {
  %s = pp.param "s" {init = #pp.init<zeros>, state} : tensor<4xf32>
  // expected-error @below {{is read by more than proposals: a result of the model depends on it, and so on the order of microbatches; read the state 's' itself there}}
  %old = pp.proposed %s : tensor<4xf32>
  %y = pp.on 0 -> tensor<4xf32> {
    %sum = pp.add %x, %old : tensor<4xf32>, tensor<4xf32>
    pp.yield %sum : tensor<4xf32>
  }
  pp.propose %s, %y : tensor<4xf32>
  %loss = pp.reduce sum %y [0] : tensor<4xf32>
  return %loss : tensor<f32>
}
