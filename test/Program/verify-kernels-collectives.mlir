// RUN: %ppopt opt %s --pp-verify-kernels --split-input-file --verify-diagnostics

// What is right: a gather beside a launch, a reduce-scatter that overwrites what it reads, an all-reduce with scratch memory. What is waited for, and what
// is released, is free: temporaries share memory, and scratch memory that of a result that is not made yet.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %y: memref<64xf32>, %h: memref<64xf32>, %z: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>, #pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  %t = pp.temp 256 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  pp.finish 0
  %c = pp.temp 512 : memref<32xf32>
  pp.begin 1 reduce_scatter %t outs(%c : memref<32xf32>) : memref<64xf32>
  pp.launch @copy ins(%w : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.release %w : memref<64xf32>
  %u = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%u : memref<64xf32>) {inplace = array<i64: -1>}
  pp.finish 1
  %v = pp.temp 256 : memref<64xf32>
  pp.launch @copy ins(%u : memref<64xf32>) outs(%v : memref<64xf32>) {inplace = array<i64: -1>}
  %s = memref.reinterpret_cast %z to offset: [0], sizes: [32], strides: [1] : memref<64xf32> to memref<32xf32>
  pp.begin 2 all_reduce %v outs(%h, %s : memref<64xf32>, memref<32xf32>) : memref<64xf32>
  pp.finish 2
  pp.launch @copy ins(%u : memref<64xf32>) outs(%z : memref<64xf32>) {inplace = array<i64: -1>}
  pp.return
}

// -----

// Scratch memory holds nothing.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @half(%x: tensor<32xf32>) -> (tensor<32xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<32xf32>
}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %h: memref<64xf32>, %y: memref<32xf32>)
    attributes {collectives = [#pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 64 x f32>], temp_bytes = 1024 : i64} {
  %s = pp.temp 0 : memref<32xf32>
  pp.begin 0 all_reduce %x outs(%h, %s : memref<64xf32>, memref<32xf32>) : memref<64xf32>
  // expected-note @below {{it is here}}
  pp.finish 0
  // expected-error @below {{reads bytes 0 to 128 of the temporaries, which a collective used as scratch memory}}
  pp.launch @half ins(%s : memref<32xf32>) outs(%y : memref<32xf32>) {inplace = array<i64: -1>}
  pp.return
}

// -----

// The signature.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op is number 0 of the 0 collectives of @f}}
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op is number -1 of the 1 collectives of @f}}
  pp.begin -1 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish -1
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op is another collective than the signature's #pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>}}
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
// expected-error @below {{starts 1 collectives, and its signature has 2}}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 64 x f32>], temp_bytes = 1024 : i64} {
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.return
}

// -----

// Numbers are in the order of the starts.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %q: memref<32xf32> {pp.role = #pp.role<param_range, "b1">}, %y: memref<64xf32>, %h: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op is number 1, and the next start is number 0}}
  pp.begin 1 all_gather %q outs(%h : memref<64xf32>) : memref<32xf32>
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.finish 1
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %q: memref<32xf32> {pp.role = #pp.role<param_range, "b1">}, %y: memref<64xf32>, %h: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 64 x f32>], temp_bytes = 1024 : i64} {
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  // expected-error @below {{'pp.begin' op is number 0, and the next start is number 1}}
  pp.begin 0 all_gather %q outs(%h : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op is not waited for in @f}}
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  // expected-error @below {{'pp.finish' op waits for collective 0, which is not in flight}}
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.finish' op waits for collective 0, which is not in flight}}
  pp.finish 0
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.return
}

// -----

// Bytes: the whole, the chunk of one of the ranks, scratch memory.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<16xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op is from 64 bytes to 256, and the signature's #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32> over 2 ranks from 128 to 256}}
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<16xf32>
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  // expected-error @below {{'pp.begin' op is from 256 bytes to 256, and the signature's #pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32> over 2 ranks from 256 to 128}}
  pp.begin 0 reduce_scatter %t outs(%y : memref<64xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 64 x f32>], temp_bytes = 1024 : i64} {
  %s = pp.temp 0 : memref<31xf32>
  // expected-error @below {{'pp.begin' op has 124 bytes of scratch memory, and #pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 64 x f32> over 2 ranks needs 128}}
  pp.begin 0 all_reduce %x outs(%y, %s : memref<64xf32>, memref<31xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

// All memory of a collective is its own until it is waited for: what it writes,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  // expected-error @below {{'pp.launch' op touches bytes 0 to 256 of the temporaries, which belong to collective 0}}
  pp.launch @copy ins(%w : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.finish 0
  pp.return
}

// -----

// what shares the memory,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  %t = pp.temp 192 : memref<64xf32>
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  // expected-error @below {{'pp.launch' op touches bytes 192 to 448 of the temporaries, which belong to collective 0}}
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  pp.finish 0
  pp.return
}

// -----

// what it reads,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %c: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 reduce_scatter %t outs(%c : memref<32xf32>) : memref<64xf32>
  // expected-error @below {{'pp.launch' op touches bytes 0 to 256 of the temporaries, which belong to collective 0}}
  pp.launch @copy ins(%t : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.finish 0
  pp.return
}

// -----

// its scratch memory,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %y: memref<64xf32>, %h: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 64 x f32>], temp_bytes = 1024 : i64} {
  %s = pp.temp 0 : memref<32xf32>
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 all_reduce %x outs(%y, %s : memref<64xf32>, memref<32xf32>) : memref<64xf32>
  %t = pp.temp 64 : memref<64xf32>
  // expected-error @below {{'pp.launch' op touches bytes 64 to 320 of the temporaries, which belong to collective 0}}
  pp.launch @copy ins(%h : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  pp.finish 0
  pp.return
}

// -----

// also against the workspace of a matmul,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %y: memref<64xf32>, %g: memref<16x16xf32> {pp.role = #pp.role<grad, "w">})
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  %k = pp.temp 192 : memref<64xi8>
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  // expected-error @below {{'pp.gemm' op touches bytes 192 to 256 of the temporaries, which belong to collective 0}}
  pp.gemm %x, %x into %g workspace %k : memref<64xi8> {m = 16, n = 16, k = 4, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 1, 16>, b_strides = array<i64: 0, 0, 16, 1>, c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0, b_offset = 0, c_offset = 0, accumulate}
      : memref<64xf32>, memref<64xf32>, memref<16x16xf32>
  pp.finish 0
  pp.return
}

// -----

// another collective,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %q: memref<32xf32> {pp.role = #pp.role<param_range, "b1">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  %v = pp.temp 0 : memref<64xf32>
  // expected-error @below {{'pp.begin' op touches bytes 0 to 256 of the temporaries, which belong to collective 0}}
  pp.begin 1 all_gather %q outs(%v : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.finish 1
  pp.return
}

// -----

// and the release.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">})
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  // expected-note @below {{it starts here and is not waited for}}
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  // expected-error @below {{'pp.release' op touches bytes 0 to 256 of the temporaries, which belong to collective 0}}
  pp.release %w : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

// The operands of a collective are apart.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %c = memref.reinterpret_cast %y to offset: [32], sizes: [32], strides: [1] : memref<64xf32> to memref<32xf32, strided<[1], offset: 32>>
  // expected-error @below {{'pp.begin' op writes bytes 0 to 256 of argument 0, but touches 128 to 256 of the same memory as another operand}}
  pp.begin 0 all_gather %c outs(%y : memref<64xf32>) : memref<32xf32, strided<[1], offset: 32>>
  pp.finish 0
  pp.return
}

// -----

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">})
    attributes {collectives = [#pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  %s = pp.temp 192 : memref<32xf32>
  // expected-error @below {{'pp.begin' op writes bytes 192 to 320 of the temporaries, but touches 0 to 256 of the same memory as another operand}}
  pp.begin 0 all_reduce %x outs(%t, %s : memref<64xf32>, memref<32xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

// A collective reads what was written.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%c: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  // expected-error @below {{'pp.begin' op reads bytes 0 to 256 of the temporaries, which nothing has written}}
  pp.begin 0 reduce_scatter %t outs(%c : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

// A reduce-scatter leaves nothing of what it has read,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %c: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  // expected-note @below {{it is here}}
  pp.begin 0 reduce_scatter %t outs(%c : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  // expected-error @below {{'pp.launch' op reads bytes 0 to 256 of the temporaries, which a reduce_scatter has overwritten}}
  pp.launch @copy ins(%t : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.return
}

// -----

// so this is not what others gave to the task,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %c: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  // expected-error @below {{'pp.begin' op overwrites bytes 0 to 256 of argument 0, which the task was given}}
  pp.begin 0 reduce_scatter %x outs(%c : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

// and no result.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
// expected-error @below {{leaves bytes 0 to 256 of argument 2 unwritten, though it writes others}}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %c: memref<32xf32>, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  pp.launch @copy ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.begin 0 reduce_scatter %y outs(%c : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}

// -----

// What is released is not read,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  // expected-note @below {{it is here}}
  pp.release %w : memref<64xf32>
  // expected-error @below {{'pp.launch' op reads bytes 0 to 256 of the temporaries, which were released}}
  pp.launch @copy ins(%w : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.return
}

// -----

// is still there when it is released,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %x: memref<64xf32> {pp.role = #pp.role<input, "x">})
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  %t = pp.temp 0 : memref<64xf32>
  // expected-note @below {{it is written here}}
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  // expected-error @below {{'pp.release' op releases bytes 0 to 256 of the temporaries, which another value has taken}}
  pp.release %w : memref<64xf32>
  pp.return
}

// -----

// and is released once.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">})
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %w = pp.temp 0 : memref<64xf32>
  pp.begin 0 all_gather %p outs(%w : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  // expected-note @below {{it is here}}
  pp.release %w : memref<64xf32>
  // expected-error @below {{'pp.release' op releases bytes 0 to 256 of the temporaries, which were released}}
  pp.release %w : memref<64xf32>
  pp.return
}

// -----

// Chunks of buckets, also where they are converted.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @half(%x: tensor<32xf32>) -> (tensor<32xbf16> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.cast %x : tensor<32xf32> to tensor<32xbf16>
  pp.return %0 : tensor<32xbf16>
}
pp.kernel @wide(%x: tensor<32xbf16>) -> (tensor<32xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.cast %x : tensor<32xbf16> to tensor<32xf32>
  pp.return %0 : tensor<32xf32>
}
pp.kernel @add(%x: tensor<32xf32>, %y: tensor<32xf32>) -> (tensor<32xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.add %x, %y : tensor<32xf32>, tensor<32xf32>
  pp.return %0 : tensor<32xf32>
}
pp.task backward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %y: memref<64xf32>, %z: memref<64xbf16>, %x: memref<64xbf16> {pp.role = #pp.role<input, "x">}, %g: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x bf16>, #pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x bf16>], temp_bytes = 1024 : i64} {
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  %h = pp.temp 0 : memref<32xbf16>
  pp.launch @half ins(%p : memref<32xf32>) outs(%h : memref<32xbf16>) {inplace = array<i64: -1>}
  pp.begin 1 all_gather %h outs(%z : memref<64xbf16>) : memref<32xbf16>
  pp.finish 1
  %t = pp.temp 64 : memref<64xbf16>
  pp.launch @copy ins(%x : memref<64xbf16>) outs(%t : memref<64xbf16>) {inplace = array<i64: -1>}
  %c = pp.temp 256 : memref<32xbf16>
  pp.begin 2 reduce_scatter %t outs(%c : memref<32xbf16>) : memref<64xbf16>
  pp.finish 2
  %d = pp.temp 320 : memref<32xf32>
  pp.launch @wide ins(%c : memref<32xbf16>) outs(%d : memref<32xf32>) {inplace = array<i64: -1>}
  pp.launch @add ins(%g, %d : memref<32xf32>, memref<32xf32>) outs(%g : memref<32xf32>) {inplace = array<i64: 0>}
  pp.return
}
pp.kernel @copy(%x: tensor<64xbf16>) -> (tensor<64xbf16> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xbf16>
}

// -----

// The chunk of another bucket,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b1">}, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>]} {
  // expected-error @below {{'pp.begin' op gathers #pp.role<param_range, "b1"> as 'b0': tasks would read parameters of another bucket}}
  pp.begin 0 all_gather %p outs(%y : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.return
}

// -----

// converted,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @half(%x: tensor<32xf32>) -> (tensor<32xbf16> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.cast %x : tensor<32xf32> to tensor<32xbf16>
  pp.return %0 : tensor<32xbf16>
}
pp.task forward stage 0 @f(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b1">}, %z: memref<64xbf16>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x bf16>], temp_bytes = 64 : i64} {
  %h = pp.temp 0 : memref<32xbf16>
  pp.launch @half ins(%p : memref<32xf32>) outs(%h : memref<32xbf16>) {inplace = array<i64: -1>}
  // expected-error @below {{'pp.begin' op gathers #pp.role<param_range, "b1"> as 'b0': tasks would read parameters of another bucket}}
  pp.begin 0 all_gather %h outs(%z : memref<64xbf16>) : memref<32xbf16>
  pp.finish 0
  pp.return
}

// -----

// the sum of another one,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @add(%x: tensor<32xf32>, %y: tensor<32xf32>) -> (tensor<32xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.add %x, %y : tensor<32xf32>, tensor<32xf32>
  pp.return %0 : tensor<32xf32>
}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %g: memref<32xf32> {pp.role = #pp.role<grad_range, "b1">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  %c = pp.temp 256 : memref<32xf32>
  pp.begin 0 reduce_scatter %t outs(%c : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  // expected-error @below {{'pp.launch' op adds to #pp.role<grad_range, "b1">, and not what a reduce_scatter of 'b1' has summed over ranks}}
  pp.launch @add ins(%g, %c : memref<32xf32>, memref<32xf32>) outs(%g : memref<32xf32>) {inplace = array<i64: 0>}
  pp.return
}

// -----

// and gradients of this rank alone,
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @add(%x: tensor<32xf32>, %y: tensor<32xf32>) -> (tensor<32xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.add %x, %y : tensor<32xf32>, tensor<32xf32>
  pp.return %0 : tensor<32xf32>
}
pp.task backward stage 0 @f(%x: memref<32xf32> {pp.role = #pp.role<input, "x">}, %g: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  // expected-error @below {{'pp.launch' op adds to #pp.role<grad_range, "b0">, and not what a reduce_scatter of 'b0' has summed over ranks}}
  pp.launch @add ins(%g, %x : memref<32xf32>, memref<32xf32>) outs(%g : memref<32xf32>) {inplace = array<i64: 0>}
  pp.return
}

// -----

// or those of a matmul.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %g: memref<16x16xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  // expected-error @below {{'pp.gemm' op adds to #pp.role<grad_range, "b0">, and not what a reduce_scatter of 'b0' has summed over ranks}}
  pp.gemm %x, %x into %g {m = 16, n = 16, k = 4, batch = array<i64: 1, 1>, a_strides = array<i64: 0, 0, 1, 16>, b_strides = array<i64: 0, 0, 16, 1>, c_strides = array<i64: 0, 0, 16, 1>, a_offset = 0, b_offset = 0, c_offset = 0, accumulate}
      : memref<64xf32>, memref<64xf32>, memref<16x16xf32>
  pp.return
}

// -----

// The sum takes the place of what earlier microbatches have added.
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
// expected-error @below {{overwrites #pp.role<grad_range, "b0">, to which other microbatches add: it must read it before it writes it}}
pp.task backward stage 0 @f(%x: memref<64xf32> {pp.role = #pp.role<input, "x">}, %c: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 1024 : i64} {
  %t = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%x : memref<64xf32>) outs(%t : memref<64xf32>) {inplace = array<i64: -1>}
  pp.begin 0 reduce_scatter %t outs(%c : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  pp.return
}
