// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @no_iterations() {
  // expected-error @below {{'pp.repeat' op has a count of 0, but repeats its body at least once}}
  pp.repeat 0 {
    pp.yield
  }
  return
}

// -----

func.func @index() {
  // expected-error @below {{has the index "a}", but needs a word of letters, digits and _}}
  pp.repeat 2 index "a}" {
    pp.yield
  }
  return
}

// -----

func.func @same_index() {
  // expected-note @below {{the other is here}}
  pp.repeat 2 {
    pp.repeat 3 index "j" {
      // expected-error @below {{is in a repeat whose index is "i" too; give this one another: pp.repeat 4 index "j"}}
      pp.repeat 4 {
        pp.yield
      }
      pp.yield
    }
    pp.yield
  }
  return
}

// -----

func.func @types(%x: tensor<4xf32>) {
  // expected-error @below {{iter has 1 values, and there are 2 types after '->'}}
  %0:2 = pp.repeat 2 iter (%a = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    pp.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

func.func @yield(%x: tensor<4xf32>) {
  %0 = pp.repeat 2 iter (%a = %x) -> (tensor<4xf32>) {
    %1 = pp.cast %a : tensor<4xf32> to tensor<4xf64>
    // expected-error @below {{'pp.yield' op yields ('tensor<4xf64>'), and the next iteration of the repeat takes ('tensor<4xf32>')}}
    pp.yield %1 : tensor<4xf64>
  }
  return
}

// -----

func.func @arguments(%x: tensor<4xf32>) {
  // expected-error @below {{has initial values of ('tensor<4xf32>'), arguments of ('tensor<3xf32>') and results of ('tensor<4xf32>'), which must be the same}}
  %0 = "pp.repeat"(%x) <{count = 2 : i64}> ({
  ^bb0(%a: tensor<3xf32>):
    "pp.yield"(%x) : (tensor<4xf32>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @one_name() {
  // expected-note @below {{the repeat is here}}
  pp.repeat 24 {
    // expected-error @below {{'pp.param' op 'h.w' is repeated 24 times under one name; add {i} to it, or declare it before the repeat to share it}}
    %w = pp.param "h.w" {init = #pp.init<zeros>} : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

func.func @one_name_in_the_outer() {
  // expected-note @below {{the repeat is here}}
  pp.repeat 2 {
    pp.repeat 3 index "expert" {
      // expected-error @below {{'h.{expert}.w' is repeated 2 times under one name; add {i} to it}}
      %w = pp.param "h.{expert}.w" {init = #pp.init<zeros>} : tensor<4xf32>
      pp.yield
    }
    pp.yield
  }
  return
}

// -----

func.func @unknown_index() {
  pp.repeat 1 {
    // expected-error @below {{has {layer} in its name 'h.{layer}', which is the index of no pp.repeat around it}}
    %w = pp.param "h.{layer}" {init = #pp.init<zeros>} : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

func.func @outside() {
  // expected-error @below {{'pp.each' op follows the index "i", which is that of no pp.repeat around it}}
  %0 = pp.each dense<[1.0, 2.0]> : tensor<2xf32>
  return
}

// -----

func.func @other_index() {
  pp.repeat 2 {
    // expected-error @below {{follows the index "j", which is that of no pp.repeat around it}}
    %0 = pp.each "j" dense<[1.0, 2.0]> : tensor<2xf32>
    pp.yield
  }
  return
}

// -----

func.func @count() {
  // expected-note @below {{the repeat is here}}
  pp.repeat 3 {
    // expected-error @below {{has values for 2 iterations, and the repeat has 3}}
    %0 = pp.each dense<[1.0, 2.0]> : tensor<2xf32>
    pp.yield
  }
  return
}

// -----

func.func @scalar() {
  pp.repeat 3 {
    // expected-error @below {{'pp.each' needs a tensor of one dimension or more, whose first are the iterations}}
    %0 = pp.each dense<1.0> : tensor<f32>
    pp.yield
  }
  return
}

// -----

func.func @hexadecimal() {
  pp.repeat 2 {
    // expected-error @below {{values must be written as dense<...>}}
    %0 = pp.each dense_resource<blob> : tensor<2xf32>
    pp.yield
  }
  return
}

// -----

func.func @ends_a_function() {
  pp.repeat 2 {
    // expected-error @below {{'func.return' op ends a function; the body of a pp.repeat ends with pp.yield}}
    func.return
  }
  return
}
