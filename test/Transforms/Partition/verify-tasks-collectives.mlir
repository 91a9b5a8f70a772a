// RUN: %ppopt opt %s --pp-verify-tasks --split-input-file --verify-diagnostics

// What is right: a task gathers the chunk of parameters, and adds to a chunk of gradients what the ranks have summed.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<5x8xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 128>, elements = 256 : i64, type = f32, shard_group = #pp.group<["fsdp"]>, replica_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<100xf32>, tensor<20xbf16>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["fsdp"]> channel 1 "b0" of 256 x f32>, #pp.task_collective<<all_gather> over <["fsdp"]> channel 1 "b0" of 256 x bf16>]} {
  %0 = pp.all_gather %p over <["fsdp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<256xf32>
  %1 = pp.slice %0 [0] : tensor<256xf32> to tensor<100xf32>
  %2 = pp.cast %p : tensor<64xf32> to tensor<64xbf16>
  %3 = pp.all_gather %2 over <["fsdp"]> "b0" {channel = 1 : i64} : tensor<64xbf16> to tensor<256xbf16>
  %4 = pp.slice %3 [138] : tensor<256xbf16> to tensor<20xbf16>
  pp.return %1, %4 : tensor<100xf32>, tensor<20xbf16>
}
pp.task backward stage 0 @s0_B(%w: tensor<100xf32>, %d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<all_reduce> over <["dp"]> channel 2 "h" of 100 x f32>, #pp.task_collective<<reduce_scatter> over <["fsdp"]> channel 3 "b0" of 256 x bf16>]} {
  %0 = pp.all_reduce %w over <["dp"]> "h" {channel = 2 : i64} : tensor<100xf32> to tensor<100xf32>
  %1 = pp.zeros : tensor<256xf32>
  %2 = pp.slice %1 [0] : tensor<256xf32> to tensor<100xf32>
  %3 = pp.accumulate %2, %0 : tensor<100xf32>
  %4 = pp.join %1(%3) at [0] : tensor<256xf32>, tensor<100xf32>
  %5 = pp.cast %4 : tensor<256xf32> to tensor<256xbf16>
  %6 = pp.reduce_scatter %5 over <["fsdp"]> "b0" {channel = 3 : i64} : tensor<256xbf16> to tensor<64xbf16>
  %7 = pp.cast %6 : tensor<64xbf16> to tensor<64xf32>
  %8 = pp.accumulate %d, %7 : tensor<64xf32>
  pp.return %8 : tensor<64xf32>
}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, %d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  %0 = pp.sub %p, %d : tensor<64xf32>, tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}
pp.step microbatch {
  %0:2 = pp.call @s0_F() : () -> (tensor<100xf32>, tensor<20xbf16>)
  pp.call @s0_B(%0#0) : (tensor<100xf32>) -> ()
} evaluation {
  %0:2 = pp.call @s0_F() : () -> (tensor<100xf32>, tensor<20xbf16>)
} end {
  pp.call @p0_U() : () -> ()
}

// -----

// Groups and chunks.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @below {{'pp.all_gather' op is over #pp.group<["dp", "pp"] among [0, 1]>: tasks of other places run at other times}}
  %0 = pp.all_gather %x over <["dp", "pp"] among [0, 1]> "b0" : tensor<32xf32> to tensor<128xf32>
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 1>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @below {{'pp.all_gather' op is over #pp.group<["fsdp"]>, which is one rank}}
  %0 = pp.all_gather %x over <["fsdp"]> "b0" : tensor<32xf32> to tensor<32xf32>
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @below {{'pp.all_reduce' op the mesh has no axis 'tp'}}
  %0 = pp.all_reduce %x over <["tp"]> "h" : tensor<32xf32> to tensor<32xf32>
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @below {{'pp.all_gather' op has chunks of 32 of 64 elements, and the group 4 ranks}}
  %0 = pp.all_gather %x over <["dp"]> "b0" : tensor<32xf32> to tensor<64xf32>
  pp.return
}

// -----

// All of it is not a chunk of it.
pp.plan {mesh = [#pp.axis<"dp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) {
  // expected-error @below {{'pp.reduce_scatter' op has chunks of 32 of 32 elements, and the group 4 ranks}}
  %0 = pp.reduce_scatter %x over <["dp"]> "b0" : tensor<32xf32> to tensor<32xf32>
  pp.return
}

// -----

// The signature.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @below {{makes collective 1 #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 64 x f32>, and its signature says #pp.task_collective<<all_gather> over <["dp"]> channel 2 "b1" of 64 x f32>}}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>,
    #pp.task_collective<<all_gather> over <["dp"]> channel 2 "b1" of 64 x f32>]} {
  %0 = pp.all_gather %x over <["dp"]> "b0" {channel = 1 : i64} : tensor<32xf32> to tensor<64xf32>
  %1 = pp.all_gather %x over <["dp"]> "b1" {channel = 1 : i64} : tensor<32xf32> to tensor<64xf32>
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @below {{makes collective 0 #pp.task_collective<<all_gather> over <["dp"]> channel 0 "b0" of 64 x f32>, and its signature says none}}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) {
  %0 = pp.all_gather %x over <["dp"]> "b0" : tensor<32xf32> to tensor<64xf32>
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @below {{makes no collective 0, and its signature says #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>}}
pp.task forward stage 0 @s0_F(%x: tensor<32xf32> {pp.role = #pp.role<loss, "loss">}) attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>]} {
  pp.return
}

// -----

// Chunks of parameters.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
// expected-error @below {{takes #pp.role<param, "w">, of which a rank has its chunk of "b0" only}}
pp.task forward stage 0 @s0_F(%w: tensor<100xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
// expected-error @below {{has #pp.role<param_range, "b0"> as 'tensor<128xf32>', but it is 'tensor<64xf32>'}}
pp.task forward stage 0 @s0_F(%p: tensor<128xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> tensor<64xf32> {
  // expected-error @below {{'pp.exp' op reads #pp.role<param_range, "b0">, of which a rank has a chunk: it must be gathered over #pp.group<["dp"]>}}
  %0 = pp.exp %p : tensor<64xf32>
  pp.return %0 : tensor<64xf32>
}

// -----

// Gathered over other ranks.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["fsdp"]>, replica_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<128xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  // expected-error @below {{'pp.all_gather' op reads #pp.role<param_range, "b0">, of which a rank has a chunk: it must be gathered over #pp.group<["fsdp"]>}}
  %0 = pp.all_gather %p over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  pp.return %0 : tensor<128xf32>
}

// -----

// Chunks of gradients.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// Parameters are whole.
pp.task forward stage 0 @s0_F(%w: tensor<100xf32> {pp.role = #pp.role<param, "w">}) {
  pp.return
}
// expected-error @below {{takes #pp.role<grad, "w">, of which a rank has its chunk of "b0" only}}
pp.task backward stage 0 @s0_B(%w: tensor<100xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<100xf32> {pp.role = #pp.role<grad, "w">}) {
  pp.return %w : tensor<100xf32>
}

// -----

// A gradient of this rank alone.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{adds to #pp.role<grad_range, "b0">, and not a reduce_scatter over #pp.group<["dp"]>}}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.slice %0 [0] : tensor<128xf32> to tensor<64xf32>
  %2 = pp.accumulate %d, %1 : tensor<64xf32>
  pp.return %2 : tensor<64xf32>
}

// -----

// The sum takes the place of what earlier microbatches have added.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{adds to #pp.role<grad_range, "b0">, and not a reduce_scatter over #pp.group<["dp"]>}}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.reduce_scatter %0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  pp.return %1 : tensor<64xf32>
}

// -----

// Over the replicas, which are summed once per step.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["fsdp"]>, replica_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{adds to #pp.role<grad_range, "b0">, and not a reduce_scatter over #pp.group<["fsdp"]>}}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.reduce_scatter %0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %2 = pp.accumulate %d, %1 : tensor<64xf32>
  pp.return %2 : tensor<64xf32>
}

// -----

// Where ranks have everything, no task of a stage has a chunk.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{takes #pp.role<param_range, "b0">, of which each rank has all}}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<128xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.all_gather %p over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  pp.return %0 : tensor<128xf32>
}

// -----

// A gather that names another bucket.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<50xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 128 x f32>]} {
  // expected-error @below {{'pp.all_gather' op gathers #pp.role<param_range, "b0"> as 'b1': traces and errors would name another bucket}}
  %0 = pp.all_gather %p over <["dp"]> "b1" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %1 = pp.slice %0 [0] : tensor<128xf32> to tensor<50xf32>
  pp.return %1 : tensor<50xf32>
}

// -----

// What is gathered is read as parameters: not the padding,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<50xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.all_gather %p over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  // expected-error @below {{'pp.slice' op is of elements 14 to 64 of "b0", which are not those of one parameter: take them at its offset}}
  %1 = pp.slice %0 [14] : tensor<128xf32> to tensor<50xf32>
  pp.return %1 : tensor<50xf32>
}

// -----

// not all at once.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<parameters>}
pp.task forward stage 0 @s0_F(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<128xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.all_gather %p over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  // expected-error @below {{'pp.return' op is of elements 0 to 128 of "b0", which are not those of one parameter: take them at its offset}}
  pp.return %0 : tensor<128xf32>
}

// -----

// Padding that may not be zero,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.exp %0 : tensor<128xf32>
  // expected-error @below {{'pp.reduce_scatter' op sums "b0", whose padding must be zero, since the norm includes it: join the gradients with pp.zeros}}
  %2 = pp.reduce_scatter %1 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %3 = pp.accumulate %d, %2 : tensor<64xf32>
  pp.return %3 : tensor<64xf32>
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.exp %0 : tensor<128xf32>
  %2 = pp.join %1() at [] : tensor<128xf32>
  // expected-error @below {{'pp.reduce_scatter' op sums "b0", whose padding must be zero, since the norm includes it: join the gradients with pp.zeros}}
  %3 = pp.reduce_scatter %2 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %4 = pp.accumulate %d, %3 : tensor<64xf32>
  pp.return %4 : tensor<64xf32>
}

// -----

// or to which a task adds.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.slice %0 [64] : tensor<128xf32> to tensor<64xf32>
  // expected-error @below {{'pp.join' op is of elements 64 to 128 of "b0", which are not those of one parameter: take them at its offset}}
  %2 = pp.join %0(%1) at [64] : tensor<128xf32>, tensor<64xf32>
  %3 = pp.reduce_scatter %2 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %4 = pp.accumulate %d, %3 : tensor<64xf32>
  pp.return %4 : tensor<64xf32>
}

// -----

// The sum of another bucket,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b1" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.join %0() at [] : tensor<128xf32>
  // expected-error @below {{'pp.reduce_scatter' op of 'b1' is added to #pp.role<grad_range, "b0">}}
  %2 = pp.reduce_scatter %1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %3 = pp.accumulate %d, %2 : tensor<64xf32>
  pp.return %3 : tensor<64xf32>
}

// -----

// and a sum that is added to something else.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 2 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "v" {type = tensor<50xf32>, init = #pp.init<zeros>, learns}
pp.bucket @b0 {params = ["w", "v"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, shard_group = #pp.group<["dp"]>, sharded = #pp.sharded_state<gradients>}
// expected-error @below {{adds to #pp.role<grad_range, "b0">, and not a reduce_scatter over #pp.group<["dp"]>}}
pp.task backward stage 0 @s0_B(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %0 = pp.zeros : tensor<128xf32>
  %1 = pp.join %0() at [] : tensor<128xf32>
  %2 = pp.reduce_scatter %1 over <["dp"]> "b0" {channel = 1 : i64} : tensor<128xf32> to tensor<64xf32>
  %3 = pp.accumulate %2, %2 : tensor<64xf32>
  pp.return %3 : tensor<64xf32>
}

// -----

// Nothing adds to what is constant, and nothing updates it.
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, frozen}
pp.bucket @b0 {constant, params = ["w"], offsets = array<i64: 0>, elements = 256 : i64, type = f32, shard_group = #pp.group<["fsdp"]>, sharded = #pp.sharded_state<parameters>}
// expected-error @below {{takes #pp.role<param_range, "b0">, and the bucket is constant: nothing updates it}}
pp.task update @p0_U(%p: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> (tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) {
  pp.return %p : tensor<64xf32>
}
pp.step

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 4>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "w" {type = tensor<100xf32>, init = #pp.init<zeros>, frozen}
pp.bucket @b0 {constant, params = ["w"], offsets = array<i64: 0>, elements = 256 : i64, type = f32, shard_group = #pp.group<["fsdp"]>, sharded = #pp.sharded_state<parameters>}
// expected-error @below {{takes #pp.role<grad_range, "b0">, and the bucket is constant: nothing updates it}}
pp.task norm @p0_N(%d: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) -> tensor<64xf32> {
  pp.return %d : tensor<64xf32>
}
pp.step
