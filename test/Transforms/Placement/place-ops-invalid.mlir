// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=1,pp=2" --pp-place-ops --split-input-file --verify-diagnostics

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

func.func @out_of_range(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : !w
  // expected-error @below {{place 3 is out of range: --mesh pp=2 has places 0 and 1}}
  %0 = pp.on 3 -> !x {
    %m = pp.matmul %x, %w : !x, !w
    pp.yield %m : !x
  }
  %l = pp.reduce sum %0 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4x4xf32>

// expected-error @below {{no op is on place 1 of --mesh pp=2: mark some with pp.on 1, use fewer places, or remove all marks}}
func.func @empty(%x: !x {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<zeros>} : !w
  %0 = pp.on 0 -> !x {
    %m = pp.matmul %x, %w : !x, !w
    pp.yield %m : !x
  }
  %l = pp.reduce sum %0 [0, 1] : !x
  return %l : tensor<f32>
}

// -----

// expected-error @below {{can't be cut for --mesh pp=2: the model has only 1 op to cut into 2 pieces}}
func.func @too_small(%x: tensor<8x4xf32> {pp.input = "x"}) -> tensor<f32> {
  %l = pp.reduce sum %x [0, 1] : tensor<8x4xf32>
  return %l : tensor<f32>
}

// -----

!x = tensor<8x4xf32>
!w = tensor<4xf32>

func.func @state_on_two_places(%x: !x {pp.input = "x"}) -> (tensor<f32>, !w {pp.proposal = "s"}) {
  // expected-error @below {{state 's' is proposed on place 1 and read on place 0; mark what reads and what proposes it with one pp.on}}
  %s = pp.param "s" {init = #pp.init<zeros>, state} : !w
  %0 = pp.on 0 -> !x {
    %c = pp.sub %x, %s : !x, !w
    %t = pp.tanh %c : !x
    pp.yield %t : !x
  }
  %1, %2 = pp.on 1 -> tensor<f32>, !w {
    %m = pp.reduce mean %0 [0] : !x
    %l = pp.reduce sum %0 [0, 1] : !x
    pp.yield %l, %m : tensor<f32>, !w
  }
  return %1, %2 : tensor<f32>, !w
}
