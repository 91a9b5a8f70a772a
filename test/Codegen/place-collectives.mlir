// RUN: ppopt opt %s --pp-place-collectives --split-input-file | FileCheck %s --check-prefixes=CHECK,EARLY
// RUN: sed 's/^pp.plan {/&prefetch = "none", /' %s | ppopt opt --pp-place-collectives --split-input-file | FileCheck %s --check-prefixes=CHECK,LATE

// A gather begins before the first use of the one before, the first one at the beginning. It ends before its first reader, which may be a view.
// The signature has the order of the starts.
// CHECK-LABEL: pp.task forward stage 0 @s0_F
// CHECK-SAME: (%[[X:[^:]*]]: tensor<8x8xf32> {{{[^}]*}}}, %[[B0:[^:]*]]: tensor<64xf32> {{{[^}]*}}}, %[[B1:[^:]*]]: tensor<64xf32> {{{[^}]*}}}, %[[B2:[^:]*]]: tensor<64xf32> {{{[^}]*}}})
// CHECK-SAME: collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 128 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b2" of 128 x f32>]
// EARLY-NEXT: %[[G0:.*]] = pp.begin 0 all_gather %[[B0]] outs() : tensor<64xf32> -> tensor<128xf32>
// EARLY-NEXT: pp.matmul %[[X]], %[[X]]
// EARLY-NEXT: %[[W0:.*]] = pp.finish 0(%[[G0]], %[[B0]]) : tensor<128xf32>, tensor<64xf32> -> tensor<128xf32>
// EARLY-NEXT: %[[G1:.*]] = pp.begin 1 all_gather %[[B1]]
// EARLY-NEXT: pp.slice %[[W0]] [0]
// EARLY-NEXT: pp.reshape
// EARLY-NEXT: pp.matmul
// EARLY-NEXT: %[[W1:.*]] = pp.finish 1(%[[G1]], %[[B1]])
// EARLY-NEXT: %[[G2:.*]] = pp.begin 2 all_gather %[[B2]]
// EARLY-NEXT: pp.slice %[[W1]] [64]
// EARLY-NEXT: pp.reshape
// EARLY-NEXT: pp.matmul
// EARLY-NEXT: %[[W2:.*]] = pp.finish 2(%[[G2]], %[[B2]])
// EARLY-NEXT: pp.slice %[[W2]] [0]
// LATE-NEXT: pp.matmul %[[X]], %[[X]]
// LATE-NEXT: %[[G0:.*]] = pp.begin 0 all_gather %[[B0]]
// LATE-NEXT: %[[W0:.*]] = pp.finish 0(%[[G0]], %[[B0]])
// LATE-NEXT: pp.slice %[[W0]] [0]
// LATE-NEXT: pp.reshape
// LATE-NEXT: pp.matmul
// LATE-NEXT: %[[G1:.*]] = pp.begin 1 all_gather %[[B1]]
// LATE-NEXT: %[[W1:.*]] = pp.finish 1(%[[G1]], %[[B1]])
// CHECK: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @s0_F(%x: tensor<8x8xf32> {pp.role = #pp.role<input, "x">}, %0: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, %1: tensor<64xf32> {pp.role = #pp.role<param_range, "b1">},
    %2: tensor<64xf32> {pp.role = #pp.role<param_range, "b2">}) -> (tensor<8x8xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b2" of 128 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 128 x f32>]} {
  %g0 = pp.all_gather %0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %g2 = pp.all_gather %2 over <["dp"]> "b2" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %g1 = pp.all_gather %1 over <["dp"]> "b1" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  %x0 = pp.matmul %x, %x : tensor<8x8xf32>, tensor<8x8xf32>
  %s0 = pp.slice %g0 [0] : tensor<128xf32> to tensor<64xf32>
  %w0 = pp.reshape %s0 : tensor<64xf32> to tensor<8x8xf32>
  %x1 = pp.matmul %x0, %w0 : tensor<8x8xf32>, tensor<8x8xf32>
  %s1 = pp.slice %g1 [64] : tensor<128xf32> to tensor<64xf32>
  %w1 = pp.reshape %s1 : tensor<64xf32> to tensor<8x8xf32>
  %x2 = pp.matmul %x1, %w1 : tensor<8x8xf32>, tensor<8x8xf32>
  %s2 = pp.slice %g2 [0] : tensor<128xf32> to tensor<64xf32>
  %w2 = pp.reshape %s2 : tensor<64xf32> to tensor<8x8xf32>
  %x3 = pp.matmul %x2, %w2 : tensor<8x8xf32>, tensor<8x8xf32>
  pp.return %x3 : tensor<8x8xf32>
}

// -----

// What another task has made is gathered ahead, one at a time in the order in which it is read: the first from the beginning, with the views of
// it, the second from the wait of the first.
// CHECK-LABEL: pp.task backward stage 0 @taken
// CHECK-SAME: (%[[X:[^:]*]]: tensor<2x4xf32>, %[[G:[^:]*]]: tensor<8xf32>, %[[Z:[^:]*]]: tensor<8xf32>
// EARLY-NEXT: %[[FLAT:.*]] = pp.reshape %[[X]]
// EARLY-NEXT: %[[GG:.*]] = pp.begin 0 all_gather %[[G]]
// EARLY-NEXT: pp.exp
// EARLY-NEXT: pp.finish 0(%[[GG]]
// EARLY-NEXT: %[[GX:.*]] = pp.begin 1 all_gather %[[FLAT]] outs
// EARLY-NEXT: pp.exp
// EARLY-NEXT: pp.finish 1(%[[GX]], %[[FLAT]])
// EARLY-NEXT: pp.exp
// LATE-NEXT: pp.exp
// LATE-NEXT: pp.begin 0 all_gather %[[G]]
// LATE-NEXT: pp.finish 0
// LATE-NEXT: pp.exp
// LATE-NEXT: pp.reshape %[[X]]
// LATE-NEXT: pp.begin 1
pp.plan {mesh = [#pp.axis<"pp" = 2>, #pp.axis<"tp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @taken(%x: tensor<2x4xf32>, %g: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<16xf32>, tensor<16xf32>) {
  %a = pp.exp %z : tensor<8xf32>
  %g0 = pp.all_gather %g over <["tp"]> "g" : tensor<8xf32> to tensor<16xf32>
  %b = pp.exp %g0 : tensor<16xf32>
  %flat = pp.reshape %x : tensor<2x4xf32> to tensor<8xf32>
  %g1 = pp.all_gather %flat over <["tp"]> "x" : tensor<8xf32> to tensor<16xf32>
  %c = pp.exp %g1 : tensor<16xf32>
  pp.return %a, %b, %c : tensor<8xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// A small gather is no time to gather a large one in: the large one does not wait for it, and begins after it. The next one begins after the
// last use of the large one: memory is short there.
// CHECK-LABEL: pp.task forward stage 0 @small
// EARLY: pp.begin 0 all_gather {{.*}} -> tensor<128xf32>
// EARLY-NEXT: pp.begin 1 all_gather {{.*}} -> tensor<512xf32>
// EARLY-NEXT: pp.finish 0
// EARLY-NEXT: pp.exp
// EARLY-NEXT: pp.finish 1
// EARLY-NEXT: pp.exp
// EARLY-NEXT: pp.begin 2 all_gather {{.*}} -> tensor<128xf32>
// EARLY-NEXT: pp.finish 2
// EARLY-NEXT: pp.exp
// LATE: pp.begin 0 all_gather {{.*}} -> tensor<128xf32>
// LATE-NEXT: pp.finish 0
// LATE-NEXT: pp.exp
// LATE-NEXT: pp.begin 1
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @small(%0: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}, %1: tensor<256xf32> {pp.role = #pp.role<param_range, "b1">}, %2: tensor<64xf32> {pp.role = #pp.role<param_range, "b2">})
    -> (tensor<128xf32>, tensor<512xf32>, tensor<128xf32>) {
  %g0 = pp.all_gather %0 over <["dp"]> "b0" : tensor<64xf32> to tensor<128xf32>
  %a = pp.exp %g0 : tensor<128xf32>
  %g1 = pp.all_gather %1 over <["dp"]> "b1" : tensor<256xf32> to tensor<512xf32>
  %b = pp.exp %g1 : tensor<512xf32>
  %g2 = pp.all_gather %2 over <["dp"]> "b2" : tensor<64xf32> to tensor<128xf32>
  %c = pp.exp %g2 : tensor<128xf32>
  pp.return %a, %b, %c : tensor<128xf32>, tensor<512xf32>, tensor<128xf32>
}

// -----

// A gather does not begin before what it gathers is computed.
// CHECK-LABEL: pp.task forward stage 0 @converted
// CHECK: %[[C:.*]] = pp.cast
// CHECK-NEXT: pp.begin 0 all_gather %[[C]]
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @converted(%0: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) -> tensor<128xbf16> {
  %c = pp.cast %0 : tensor<64xf32> to tensor<64xbf16>
  %g = pp.all_gather %c over <["dp"]> "b0" : tensor<64xbf16> to tensor<128xbf16>
  %a = pp.exp %g : tensor<128xbf16>
  pp.return %a : tensor<128xbf16>
}

// -----

// Sums begin where their operand is complete. An all-reduce has scratch memory: a chunk, of which there is one more if the ranks do not divide the
// elements. Both count with gathers in one order of starts. All that the collective touches is alive until it ends.
// CHECK-LABEL: pp.task backward stage 0 @sums
// EARLY-SAME: collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b1" of 64 x f32>, #pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 65 x f32>]
// LATE-SAME: collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b1" of 64 x f32>, #pp.task_collective<<all_reduce> over <["dp"]> channel 3 "h" of 65 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>]
// EARLY: %[[G:.*]] = pp.begin 0 all_gather
// CHECK: %[[D:.*]] = pp.exp %{{.*}} : tensor<64xf32>
// CHECK-NEXT: %[[S:.*]] = pp.begin {{[01]}} reduce_scatter %[[D]] outs() : tensor<64xf32> -> tensor<32xf32>
// CHECK-NEXT: %[[H:.*]] = pp.exp %{{.*}} : tensor<65xf32>
// CHECK-NEXT: %[[R:.*]]:2 = pp.begin {{[12]}} all_reduce %[[H]] outs() : tensor<65xf32> -> tensor<65xf32>, tensor<33xf32>
// CHECK: pp.finish {{[01]}}(%[[S]], %[[D]]) : tensor<32xf32>, tensor<64xf32> -> tensor<32xf32>
// CHECK-NEXT: pp.accumulate
// CHECK-NEXT: pp.finish {{[12]}}(%[[R]]#0, %[[R]]#1, %[[H]]) : tensor<65xf32>, tensor<33xf32>, tensor<65xf32> -> tensor<65xf32>
// CHECK-NEXT: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task backward stage 0 @sums(%0: tensor<32xf32> {pp.role = #pp.role<param_range, "b0">}, %x: tensor<64xf32>, %y: tensor<65xf32>,
    %t: tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">})
    -> (tensor<32xf32> {pp.role = #pp.role<grad_range, "b1">}, tensor<65xf32>, tensor<64xf32>) {
  %d = pp.exp %x : tensor<64xf32>
  %s = pp.reduce_scatter %d over <["dp"]> "b1" {channel = 2 : i64} : tensor<64xf32> to tensor<32xf32>
  %h = pp.exp %y : tensor<65xf32>
  %r = pp.all_reduce %h over <["dp"]> "h" {channel = 3 : i64} : tensor<65xf32> to tensor<65xf32>
  %g = pp.all_gather %0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<32xf32> to tensor<64xf32>
  %b = pp.exp %g : tensor<64xf32>
  %a = pp.accumulate %t, %s : tensor<32xf32>
  pp.return %a, %r, %b : tensor<32xf32>, tensor<65xf32>, tensor<64xf32>
}

// -----

// What nobody reads is not gathered, and the signature does not have it.
// CHECK-LABEL: pp.task forward stage 0 @unread
// CHECK-SAME: "b0">}) {
// CHECK-NEXT: pp.return
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.task forward stage 0 @unread(%0: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">}) attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} {
  %g = pp.all_gather %0 over <["dp"]> "b0" {channel = 1 : i64} : tensor<64xf32> to tensor<128xf32>
  pp.return
}
