// RUN: ppopt opt %s --pp-verify-shardings=resharded=true --split-input-file --verify-diagnostics

// Annotations that do not follow from the ops' loops. The mesh is dp=2, tp=2, with 2 microbatches.

// What has no annotations, or not enough.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @+1 {{argument 0 has no sharding; run --pp-propagate-shardings first}}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x"}) {
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.tanh' op result 0 has no sharding; run --pp-propagate-shardings first}}
  %0 = pp.tanh %x : tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.tanh' op result 0 has a sharding of 1 dimensions, but 2 of its own}}
  %0 = pp.tanh %x {pp.shardings = [#pp.sharding<[{dp, mb}]>]} : tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.tanh' op loop nest has dimension 1 of 4 elements, which tp=2 does not divide in each of 4 parts}}
  %0 = pp.tanh %x {pp.loops = #pp.sharding<[{dp, mb}, {4 * tp}]>, pp.shardings = [#pp.sharding<[{dp, mb}, {}]>]} : tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.tanh' op operand 0 has a sharding of 0 dimensions, but 2 of its own}}
  %0 = pp.tanh %x {pp.loops = #pp.sharding<[{dp, mb}, {}]>, pp.reads = [#pp.sharding<[]>], pp.shardings = [#pp.sharding<[{dp, mb}, {}]>]} : tensor<8x4xf32>
  return
}

// -----

// Loops.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.softmax' op cuts loop 1 over tp, whose iterations depend on one another}}
  %0 = pp.softmax %x {pp.loops = #pp.sharding<[{dp, mb}, {tp}]>, pp.shardings = [#pp.sharding<[{dp, mb}, {tp}]>]} : tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.tanh' op operand 0 as it is read is #pp.sharding<[{dp, mb}, {}]>, but follows to be #pp.sharding<[{dp, mb}, {tp}]>}}
  %0 = pp.tanh %x {pp.loops = #pp.sharding<[{dp, mb}, {tp}]>, pp.shardings = [#pp.sharding<[{dp, mb}, {tp}]>]} : tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.reduce' op result 0 is #pp.sharding<[{}]>, but follows to be #pp.sharding<[{}], sum = {dp, mb}>}}
  %0 = pp.reduce sum %x [0] {pp.loops = #pp.sharding<[{dp, mb}, {}]>, pp.shardings = [#pp.sharding<[{}]>]} : tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.reduce' op result 0 is #pp.sharding<[{}], sum = {dp, mb}>, but follows to be #pp.sharding<[{}], max = {dp, mb}>}}
  %0 = pp.reduce max %x [0] {pp.loops = #pp.sharding<[{dp, mb}, {}]>, pp.shardings = [#pp.sharding<[{}], sum = {dp, mb}>]} : tensor<8x4xf32>
  return
}

// -----

// Partial sums.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<4x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{}, {}], sum = {tp}>}) {
  // expected-error @+1 {{'pp.tanh' op is not linear in a partial sum over tp}}
  %0 = pp.tanh %x {pp.shardings = [#pp.sharding<[{}, {}], sum = {tp}>]} : tensor<4x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<4x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{}, {}], sum = {tp}>}) {
  // expected-error @+1 {{'pp.mul' op is not linear in a partial sum over tp}}
  %0 = pp.mul %x, %x {pp.shardings = [#pp.sharding<[{}, {}], sum = {tp}>]} : tensor<4x4xf32>, tensor<4x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{}], sum = {tp}>}, %y: tensor<4x4xf32> {pp.input = "y", pp.sharding = #pp.sharding<[{tp}, {}]>}) {
  // expected-error @+1 {{'pp.mul' op reads a partial sum over tp and cuts a loop over it}}
  %0 = pp.mul %x, %y {pp.loops = #pp.sharding<[{tp}, {}]>, pp.shardings = [#pp.sharding<[{tp}, {}]>]} : tensor<4xf32>, tensor<4x4xf32>
  return
}

// -----

// Reshards.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.reshard' op the operand is #pp.sharding<[{dp, mb}, {}]>, but follows to be #pp.sharding<[{dp, mb}, {tp}]>}}
  %0 = pp.reshard %x from <[{dp, mb}, {tp}]> to <[{dp, mb}, {}]> of [8, 4] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{dp, mb}, {}]>]} : tensor<8x4xf32> to tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.reshard' op the result is #pp.sharding<[{dp, mb}, {}]>, but follows to be #pp.sharding<[{dp, mb}, {tp}]>}}
  %0 = pp.reshard %x from <[{dp, mb}, {}]> to <[{dp, mb}, {tp}]> of [8, 4] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{dp, mb}, {}]>]} : tensor<8x4xf32> to tensor<8x4xf32>
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.reshard' op has dimension 1 of 4 elements, which tp=2 does not divide in each of 4 parts}}
  %0 = pp.reshard %x from <[{dp, mb}, {}]> to <[{dp, mb}, {4 * tp}]> of [8, 4] {bytes = 0 : i64, pp.shardings = [#pp.sharding<[{dp, mb}, {}]>]} : tensor<8x4xf32> to tensor<8x4xf32>
  return
}

// -----

// An operand is not as it is read: a reshard is missing.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.tanh' op operand 0 is #pp.sharding<[{dp, mb}, {}]>, but follows to be #pp.sharding<[{dp, mb}, {tp}]>}}
  %0 = pp.tanh %x {pp.loops = #pp.sharding<[{dp, mb}, {tp}]>, pp.reads = [#pp.sharding<[{dp, mb}, {tp}]>], pp.shardings = [#pp.sharding<[{dp, mb}, {tp}]>]} : tensor<8x4xf32>
  return
}

// -----

// Gradients.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%g: tensor<4xf32> {pp.input = "g", pp.sharding = #pp.sharding<[{}], sum = {dp, mb}>}) {
  %w = pp.param "w" {init = #pp.init<zeros>, pp.loops = #pp.sharding<[{tp}]>, pp.shardings = [#pp.sharding<[{tp}]>]} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{'pp.add_grad' op the gradient is #pp.sharding<[{}], sum = {dp, mb}>, but follows to be #pp.sharding<[{tp}], sum = {dp, mb}>}}
    pp.add_grad %w, %g : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%g: tensor<4xf32> {pp.input = "g", pp.sharding = #pp.sharding<[{tp}], sum = {dp}>}) {
  %w = pp.param "w" {init = #pp.init<zeros>, pp.loops = #pp.sharding<[{tp}]>, pp.shardings = [#pp.sharding<[{tp}]>]} : tensor<4xf32>
  pp.place 0 stage 0 backward {
    // expected-error @+1 {{'pp.add_grad' op adds a gradient that is not a partial sum over all axes of the batch}}
    pp.add_grad %w, %g : tensor<4xf32>
    pp.yield
  }
  return
}

// -----

// The result of a region.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
func.func @m(%x: tensor<8x4xf32> {pp.input = "x", pp.sharding = #pp.sharding<[{dp, mb}, {}]>}) {
  // expected-error @+1 {{'pp.place' op result 0 is #pp.sharding<[{dp, mb}, {tp}]>, but follows to be #pp.sharding<[{dp, mb}, {}]>}}
  %0 = pp.place 0 stage 0 attributes {pp.shardings = [#pp.sharding<[{dp, mb}, {tp}]>]} -> tensor<8x4xf32> {
    %1 = pp.tanh %x {pp.loops = #pp.sharding<[{dp, mb}, {}]>, pp.shardings = [#pp.sharding<[{dp, mb}, {}]>]} : tensor<8x4xf32>
    pp.yield %1 : tensor<8x4xf32>
  }
  return
}
