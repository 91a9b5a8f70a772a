// RUN: ppopt opt %s --pp-insert-plan="mesh=dp=2,tp=2 microbatches=2" --pp-propagate-shardings --split-input-file --verify-diagnostics

// Annotations that can't be.

func.func @odd_param(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.param' op has dimension 1 of 5 elements, which tp=2 does not divide; choose a size that it divides, or cut another dimension}}
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<6x5xf32>
  %0 = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x5xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x5xf32>
  return %1 : tensor<f32>
}

// -----

func.func @odd_parts(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.param' op has dimension 1 of 18 elements, which tp=2 does not divide in each of 6 parts; choose a size}}
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {6 * tp}]>} : tensor<6x18xf32>
  %0 = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x18xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x18xf32>
  return %1 : tensor<f32>
}

// -----

func.func @no_such_parts(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.param' op has dimension 1 of 18 elements, which tp=2 does not divide in each of 4 parts; choose a size}}
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {4 * tp}]>} : tensor<6x18xf32>
  %0 = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x18xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x18xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input has dimension 1 of 3 elements, which tp=2 does not divide; choose a size that it divides, or cut another dimension}}
func.func @odd_input(%x: tensor<8x3xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {tp}]>}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x3xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input has dimension 1 of 9 elements, which tp=2 does not divide in each of 3 parts; choose a size}}
func.func @odd_input_parts(%x: tensor<8x9xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {3 * tp}]>}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x9xf32>
  return %1 : tensor<f32>
}

// -----

// The rows are cut over dp and mb, in halves of halves.
// expected-error @+1 {{this input has no rows that mb=2 divides}}
func.func @odd_rows(%x: tensor<8x6xf32> {pp.input = "x"}, %y: tensor<6xf32> {pp.input = "y"}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input has no rows that dp=2 divides}}
func.func @no_rows(%x: tensor<8x6xf32> {pp.input = "x"}, %y: tensor<f32> {pp.input = "y"}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

func.func @rank(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.param' op has a sharding of 1 dimensions, but 2 of its own}}
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}]>} : tensor<6x4xf32>
  %0 = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input has a sharding of 3 dimensions, but 2 of its own}}
func.func @input_rank(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {}, {tp}]>}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

func.func @partial(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.param' op is annotated as a partial result; a parameter is cut or the same on all ranks}}
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}], sum = {tp}>} : tensor<6xf32>
  %0 = pp.mul %x, %w : tensor<8x6xf32>, tensor<6xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

func.func @batch_axis(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-error @+1 {{'pp.param' op is annotated with an axis that splits the batch; name an axis that no input is cut over}}
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{dp}]>} : tensor<6xf32>
  %0 = pp.mul %x, %w : tensor<8x6xf32>, tensor<6xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input is annotated with an axis that splits the batch, or as a partial result; rows are cut without an annotation}}
func.func @input_batch_axis(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{dp}, {}]>}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input is annotated with an axis that splits the batch, or as a partial result; rows are cut without an annotation}}
func.func @input_partial(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{}, {}], max = {tp}>}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

// expected-error @+1 {{this input is annotated so that tp cuts the same rows as an axis that splits the batch; put more outer parts before it}}
func.func @input_rows(%x: tensor<8x6xf32> {pp.input = "x", pp.shard = #pp.sharding<[{tp}, {}]>}) -> tensor<f32> {
  %1 = pp.reduce sum %x [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

// Annotations that contradict each other: neither parameter may be gathered.

func.func @contradict(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  // expected-note @+1 {{this parameter is annotated}}
  %a = pp.param "a" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<6x4xf32>
  // expected-note @+1 {{this parameter is annotated}}
  %b = pp.param "b" {init = #pp.init<ones>, shard = #pp.sharding<[{tp}, {}]>} : tensor<6x4xf32>
  // expected-error @+1 {{'pp.add' op has operands that are cut over tp along different dimensions of it; annotate them alike, or leave one annotation out}}
  %w = pp.add %a, %b : tensor<6x4xf32>, tensor<6x4xf32>
  %0 = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x4xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
  return %1 : tensor<f32>
}

// -----

// An axis that cuts nothing.

// expected-error @+1 {{the mesh's axis tp=2 cuts nothing: all of its ranks would compute the same; annotate a parameter (shard) or an input (pp.shard) with it, or leave it out of --mesh}}
func.func @unused(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<6xf32>
  %0 = pp.mul %x, %w : tensor<8x6xf32>, tensor<6xf32>
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x6xf32>
  return %1 : tensor<f32>
}

// -----

// A partial sum over ranks is added up before an op that is not linear in it; one over microbatches can't be.

func.func @nonlinear(%x: tensor<8x6xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>, shard = #pp.sharding<[{}, {tp}]>} : tensor<6x4xf32>
  %0 = pp.matmul %x, %w : tensor<8x6xf32>, tensor<6x4xf32>
  // expected-note @+1 {{operand 0 is such a sum}}
  %1 = pp.reduce sum %0 [0, 1] : tensor<8x4xf32>
  // expected-error @+1 {{'pp.exp' op can't be split over the batch: it is not linear in a sum over the batch that depends on activations, so that no microbatch could compute its part; move it before the sum, or compute it from inputs alone; it compiles with --microbatches 1: an op that mixes rows has no equal step over microbatches}}
  %2 = pp.exp %1 : tensor<f32>
  return %2 : tensor<f32>
}
