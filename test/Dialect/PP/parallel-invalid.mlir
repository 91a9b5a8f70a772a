// RUN: %ppopt opt %s --split-input-file --verify-diagnostics

func.func @to_itself(%x: tensor<4xf32>) {
  // expected-error @+1 {{goes from place 1 to itself}}
  %0 = pp.copy %x from 1 to 1 {id = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @other_type(%g: tensor<5xf32>) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{requires all operands to have the same type}}
    "pp.add_grad"(%w, %g) : (tensor<4xf32>, tensor<5xf32>) -> ()
    pp.yield
  }
  return
}

// -----

func.func @gradient_of_value(%g: tensor<4xf32>) {
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{adds to the gradient of a value that is not a pp.param}}
    pp.add_grad %g, %g : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

func.func @gradient_of_frozen(%g: tensor<4xf32>) {
  %w = pp.param "w" {init = #pp.init<zeros>, frozen} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{adds to the gradient of the frozen parameter 'w'}}
    pp.add_grad %w, %g : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

func.func @gradient_in_forward(%g: tensor<4xf32>) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4xf32>
  pp.place 0 stage 0 {
    // expected-error @+1 {{adds to the gradient of 'w' outside of a backward region: no task would add it}}
    pp.add_grad %w, %g : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

func.func @share_of_no_tile(%g: tensor<4xf32>) {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{adds a share of 0 tiles}}
    pp.add_grad %w, %g {tiles = 0 : i64} : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

func.func @negative_mark() {
  // expected-error @below {{'pp.on' op place -1 is negative}}
  pp.on -1 {
    pp.yield
  }
  return
}

// -----

func.func @negative_place() {
  // expected-error @below {{'pp.place' op place -2 is negative}}
  pp.place -2 stage 0 {
    pp.yield
  }
  return
}

// -----

func.func @yields_another_type(%x: tensor<4xf32>) {
  // expected-error @below {{'pp.on' op yields 1 values whose types are not those of its results}}
  %0 = pp.on 0 -> tensor<8xf32> {
    pp.yield %x : tensor<4xf32>
  }
  return
}

// -----

pp.schedule local attributes {slots = array<i64>, slot_places = array<i64>} {
  // expected-error @+1 {{must say on which place it is: the schedule is of all places}}
  %0 = pp.start all_reduce over <["pp"]> channel 1 <grads, "b0">
  pp.wait %0 : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{says that it is on place 1: only a local schedule's starts do}}
  %0 = pp.start on 1 all_reduce over <["pp"]> channel 1 <grads, "b0">
  pp.wait %0 : !pp.token
}

// -----

// expected-error @+1 {{must have slot_places if it is local, and only then}}
pp.schedule local attributes {slots = array<i64>} {
}

// -----

// expected-error @+1 {{has 1 slots, and 2 slot_places}}
pp.schedule local attributes {slots = array<i64: 64>, slot_places = array<i64: 0, 1>} {
}

// -----

// expected-error @+1 {{launch is 'threads', not one of ranks, local}}
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "threads"}

// -----

// expected-error @+1 {{--launch local runs all places in one process, each of them once, and the mesh has dp=2; leave dp out of --mesh}}
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local"}

// -----

// expected-error @+1 {{tied is 'both', not one of sum, owner}}
pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, tied = "both"}

// -----

// expected-error @+1 {{is borrowed, and no place but its owner holds it}}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 1>}

// -----

// expected-error @+1 {{state_range needs an optimizer state}}
pp.task norm @p0_N(%m: tensor<8xf32> {pp.role = #pp.role<state_range, "b0">}) {
  pp.return
}

// -----

// expected-error @+1 {{param has no optimizer state}}
pp.task norm @p0_N(%w: tensor<8xf32> {pp.role = #pp.role<param, "w", "m">}) {
  pp.return
}

// -----

// expected-error @+1 {{grads needs a name}}
pp.region <grads> at 0 bytes 64

// -----

// expected-error @+1 {{slots has no name}}
pp.region <slots, "b0"> at 0 bytes 64

// -----

// expected-error @+1 {{state needs an optimizer state}}
pp.region <state, "b0"> at 0 bytes 64

// -----

// expected-error @+1 {{scratch needs a buffer that is summed}}
pp.region <scratch> at 0 bytes 64

// -----

// expected-error @+1 {{loss has no buffer that is summed}}
pp.region <loss of <norm>> at 0 bytes 64

// -----

// expected-error @+1 {{mesh axis 'dp' has size 0}}
pp.plan {mesh = [#pp.axis<"dp" = 0>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}

// -----

// expected-error @+1 {{the mesh has 9 axes, and at most 8 are possible: leave out 'rows'}}
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 1>, #pp.axis<"a" = 1>, #pp.axis<"b" = 1>, #pp.axis<"c" = 1>, #pp.axis<"d" = 1>, #pp.axis<"e" = 1>, #pp.axis<"f" = 1>, #pp.axis<"rows" = 1>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}

// -----

// expected-error @+1 {{mesh axis 'pp' is named twice}}
pp.plan {mesh = [#pp.axis<"pp" = 1>, #pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{names the axis "dp" twice}}
  %0 = pp.start all_reduce over <["dp", "dp"]> channel 1 <grads, "b0">
  pp.wait %0 : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{selects places, and 'pp' is not one of its axes}}
  %0 = pp.start all_reduce over <["dp"] among [0, 1]> channel 1 <grads, "b0">
  pp.wait %0 : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{has place 1 after 1: places are in ascending order}}
  %0 = pp.start all_reduce over <["dp", "pp"] among [0, 1, 1]> channel 1 <grads, "b0">
  pp.wait %0 : !pp.token
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{unknown collective 'all_to_one'; use all_reduce, all_gather, reduce_scatter, all_reduce_max, all_to_all, broadcast}}
  %0 = pp.start all_to_one over <["dp"]> channel 1 <grads, "b0">
}

// -----

pp.schedule 0 attributes {slots = array<i64>} {
  // expected-error @+1 {{'pp.start' op starts an all_to_all, which only tasks make of their values}}
  %0 = pp.start all_to_all over <["dp"]> channel 1 <grads, "b0">
  pp.wait %0 : !pp.token
}

// -----

// expected-error @+1 {{expected a run: its stage, F, B, I or W, and its microbatch, as in 0F1}}
#not_a_run = #pp.table<[0F0, 0A1]>

// -----

// expected-error @+1 {{expected a run: its stage, F, B, I or W, and its microbatch, as in 0F1}}
#no_microbatch = #pp.table<[0F0], [1F]>
