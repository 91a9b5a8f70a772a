// RUN: %ppopt opt %s -verify-diagnostics -split-input-file

func.func @gather_of_rows(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.all_gather' op is of flat tensors only}}
  %0 = pp.all_gather %x over <["dp"]> "b0" : tensor<4x8xf32> to tensor<8x8xf32>
  return
}

// -----

func.func @gather_of_parts(%x: tensor<24xf32>) {
  // expected-error @below {{'pp.all_gather' op has chunks of 24 elements, which do not divide 64}}
  %0 = pp.all_gather %x over <["dp"]> "b0" : tensor<24xf32> to tensor<64xf32>
  return
}

// -----

func.func @gather_of_nothing(%x: tensor<0xf32>) {
  // expected-error @below {{'pp.all_gather' op has chunks of 0 elements, which do not divide 64}}
  %0 = pp.all_gather %x over <["dp"]> "b0" : tensor<0xf32> to tensor<64xf32>
  return
}

// -----

// The chunk is the result.
func.func @scatter_of_parts(%x: tensor<64xf32>) {
  // expected-error @below {{'pp.reduce_scatter' op has chunks of 128 elements, which do not divide 64}}
  %0 = pp.reduce_scatter %x over <["dp"]> "b0" : tensor<64xf32> to tensor<128xf32>
  return
}

// -----

func.func @types(%x: tensor<32xf32>) {
  // expected-error @below {{'pp.all_gather' op failed to verify that all of {x, result} have same element type}}
  %0 = pp.all_gather %x over <["dp"]> "b0" : tensor<32xf32> to tensor<64xbf16>
  return
}

// -----

func.func @reduce_to_another_shape(%x: tensor<4x8xf32>) {
  // expected-error @below {{'pp.all_reduce' op has a result of another type than its operand}}
  %0 = pp.all_reduce %x over <["tp"]> "h" : tensor<4x8xf32> to tensor<32xf32>
  return
}

// -----

func.func @join_rows(%x: tensor<4x8xf32>, %p: tensor<8xf32>) {
  // expected-error @below {{'pp.join' op joins parts of a flat tensor only}}
  %0 = pp.join %x(%p) at [0] : tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @join_offsets(%x: tensor<64xf32>, %p: tensor<8xf32>) {
  // expected-error @below {{'pp.join' op has 1 parts and 2 offsets}}
  %0 = pp.join %x(%p) at [0, 8] : tensor<64xf32>, tensor<8xf32>
  return
}

// -----

func.func @join_types(%x: tensor<64xf32>, %p: tensor<8xbf16>) {
  // expected-error @below {{'pp.join' op has a part of another element type}}
  %0 = pp.join %x(%p) at [0] : tensor<64xf32>, tensor<8xbf16>
  return
}

// -----

// Parts do not overlap, and are in order.
func.func @join_twice(%x: tensor<64xf32>, %p: tensor<2x4xf32>) {
  // expected-error @below {{'pp.join' op has a part at 7, where another ends at 8}}
  %0 = pp.join %x(%p, %p) at [0, 7] : tensor<64xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  return
}

// -----

func.func @join_before(%x: tensor<64xf32>, %p: tensor<8xf32>) {
  // expected-error @below {{'pp.join' op has a part at -8, where another ends at 0}}
  %0 = pp.join %x(%p) at [-8] : tensor<64xf32>, tensor<8xf32>
  return
}

// -----

func.func @join_beyond(%x: tensor<64xf32>, %p: tensor<8xf32>) {
  // expected-error @below {{'pp.join' op has a part that ends at 65, beyond its 64 elements}}
  %0 = pp.join %x(%p) at [57] : tensor<64xf32>, tensor<8xf32>
  return
}

// -----

pp.task forward stage 0 @f(%x: memref<8xf32>) {
  %t = pp.temp 0 : memref<8xf32>
  // expected-error @below {{'pp.begin' op starts a broadcast, which tasks do not have}}
  pp.begin 0 broadcast %x outs(%t : memref<8xf32>) : memref<8xf32>
  pp.return
}

// -----

pp.task forward stage 0 @f(%x: memref<8xf32>) {
  // expected-error @below {{'pp.begin' op has 0 outs and 0 results; on buffers all_gather has outs only, 1 of them}}
  pp.begin 0 all_gather %x outs() : memref<8xf32>
  pp.return
}

// -----

// An all-reduce needs scratch memory.
pp.task forward stage 0 @f(%x: tensor<8xf32>) {
  // expected-error @below {{'pp.begin' op has 0 outs and 1 results; on tensors all_reduce has results only, 2 of them}}
  %0 = pp.begin 0 all_reduce %x outs() : tensor<8xf32> -> tensor<8xf32>
  pp.return
}

// -----

pp.task forward stage 0 @f(%x: memref<8xf32>) {
  %t = pp.temp 0 : memref<16xf32>
  // expected-error @below {{'pp.begin' op has 1 outs and 1 results; on buffers all_gather has outs only, 1 of them}}
  %0 = pp.begin 0 all_gather %x outs(%t : memref<16xf32>) : memref<8xf32> -> tensor<16xf32>
  pp.return
}

// -----

pp.task forward stage 0 @f(%x: tensor<16xf32>) {
  // expected-error @below {{'pp.finish' op completes its first operand; on buffers it has neither operands nor a result}}
  %0 = pp.finish 0(%x) : tensor<16xf32> -> tensor<8xf32>
  pp.return
}

// -----

pp.task forward stage 0 @f(%x: tensor<16xf32>) {
  // expected-error @below {{'pp.finish' op completes its first operand; on buffers it has neither operands nor a result}}
  %0 = pp.finish 0 -> tensor<16xf32>
  pp.return
}

// -----

pp.task forward stage 0 @f(%x: tensor<16xf32>) {
  // expected-error @below {{'pp.finish' op completes its first operand; on buffers it has neither operands nor a result}}
  pp.finish 0(%x) : tensor<16xf32>
  pp.return
}

// -----

// expected-error @below {{'pp.bucket' op is borrowed, and its gradients are sharded}}
pp.bucket @b0 {borrowed, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, places = array<i64: 0, 1>, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}

// -----

// expected-error @below {{'pp.bucket' op is constant, and ranks have all of it: leave its parameters in no bucket}}
pp.bucket @b0 {constant, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}

// -----

// expected-error @below {{'pp.bucket' op is constant: no ranks sum or update it}}
pp.bucket @b0 {constant, params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["fsdp"]>, replica_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}

// -----

// expected-error @below {{'pp.bucket' op is sharded, and has no shard_group}}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, sharded = #pp.sharded_state<states>}

// -----

// expected-error @below {{'everything' is none of states, gradients, parameters}}
// expected-error @below {{failed to parse PP_ShardedStateAttr parameter 'value'}}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<everything>}

// -----

// expected-error @below {{--zero 2 with --launch local: tasks of one process run one after the other and can't gather or sum what others have; leave out --launch local, or use --zero 1}}
pp.plan {mesh = [#pp.axis<"dp" = 1>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, launch = "local", zero = 2 : i64}

// -----

// expected-error @below {{gather is 'layer', not one of task, step}}
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">, gather = "layer", zero = 3 : i64}

// -----

func.func @exchanged(%x: tensor<128xf32>) {
  // expected-error @below {{has a result of another type than its operand}}
  %0 = pp.all_to_all %x over <["tp"]> "h" : tensor<128xf32> to tensor<64xf32>
  return
}

// -----

func.func @most(%x: tensor<4x8xf32>) {
  // expected-error @below {{has a result of another type than its operand}}
  %0 = pp.all_reduce_max %x over <["tp"]> "h" : tensor<4x8xf32> to tensor<8x4xf32>
  return
}

// -----

func.func @part(%x: tensor<4x8xf32>) {
  // expected-error @below {{has a result of 'tensor<2x8xf32>', which is not one part of 'tensor<4x8xf32>' along dimension 0}}
  %0 = pp.own_part %x {at = 4 : i64, dim = 0 : i64} : tensor<4x8xf32> to tensor<2x8xf32>
  return
}

// -----

func.func @part(%x: tensor<4x8xf32>) {
  // expected-error @below {{dim 2 is not a dimension of 'tensor<4x8xf32>'}}
  %0 = pp.own_part %x {at = 4 : i64, dim = 2 : i64} : tensor<4x8xf32> to tensor<4x8xf32>
  return
}
