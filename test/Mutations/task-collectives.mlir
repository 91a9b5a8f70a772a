// RUN: ppopt opt %s --pp-verify-kernels

// Mutations of the collectives of a task, and what verify-kernels says of each.

// RUN: %mutate opt %s --mutate-add-own-slice > %t.slice
// RUN: FileCheck %s --check-prefix=SLICE --implicit-check-not='reduce_scatter' < %t.slice
// RUN: not ppopt opt %t.slice --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=SLICE-REFUSED
// SLICE: pp.task forward
// SLICE: pp.task backward {{.*}} attributes {collectives = [],
// SLICE: pp.launch @copy ins(%{{.*}}) outs(%[[T:.*]] : memref<64xf32>)
// SLICE-NEXT: %{{.*}} = pp.temp 256
// SLICE-NEXT: %[[S:.*]] = memref.reinterpret_cast %[[T]] to offset: [0], sizes: [32]
// SLICE-NEXT: pp.launch @add ins(%{{.*}}, %[[S]] :
// SLICE-REFUSED: error: 'pp.launch' op adds to #pp.role<grad_range, "b0">, and not what a reduce_scatter of 'b0' has summed over ranks

// RUN: %mutate opt %s --mutate-sum-not-added > %t.sum
// RUN: FileCheck %s --check-prefix=SUM --implicit-check-not='pp.launch @add' < %t.sum
// RUN: not ppopt opt %t.sum --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=SUM-REFUSED
// SUM: pp.task backward stage 0 @s0_B(%{{.*}}, %[[G:[a-z0-9]*]]: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">})
// SUM: pp.begin 0 reduce_scatter %{{.*}} outs(%[[G]] : memref<32xf32>)
// SUM-REFUSED: error: 'pp.task' op overwrites #pp.role<grad_range, "b0">, to which other microbatches add

// RUN: %mutate opt %s --mutate-read-before-finish > %t.read
// RUN: FileCheck %s --check-prefix=READ < %t.read
// RUN: not ppopt opt %t.read --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=READ-REFUSED
// READ: pp.begin 0 all_gather
// READ: pp.launch @copy ins(%0
// READ-NEXT: pp.finish 0
// READ: pp.launch @copy ins(%1
// READ-NEXT: pp.finish 1
// READ-REFUSED: error: 'pp.launch' op touches bytes 0 to 256 of the temporaries, which belong to collective 0

// RUN: %mutate opt %s --mutate-release-before-last-reader > %t.release
// RUN: FileCheck %s --check-prefix=RELEASE < %t.release
// RUN: not ppopt opt %t.release --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=RELEASE-REFUSED
// RELEASE: pp.finish 0
// RELEASE: pp.launch @copy ins(%0
// RELEASE: pp.release %0
// RELEASE-NEXT: pp.launch @copy ins(%0
// RELEASE-REFUSED: error: 'pp.launch' op reads bytes 0 to 256 of the temporaries, which were released

// RUN: %mutate opt %s --mutate-gather-over-gathered > %t.over
// RUN: FileCheck %s --check-prefix=OVER < %t.over
// RUN: not ppopt opt %t.over --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=OVER-REFUSED
// OVER: pp.temp 0 : memref<64xf32>
// OVER: pp.temp 0 : memref<64xf32>
// OVER-REFUSED: error: 'pp.launch' op reads bytes 0 to 256 of the temporaries, which another value has taken

// RUN: %mutate opt %s --mutate-collective-left-out > %t.left
// RUN: FileCheck %s --check-prefix=LEFT --implicit-check-not='pp.begin 0 reduce_scatter' < %t.left
// RUN: not ppopt opt %t.left --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=LEFT-REFUSED
// LEFT: pp.task backward {{.*}} attributes {collectives = [#pp.task_collective<<reduce_scatter>
// LEFT-REFUSED: error: 'pp.launch' op reads bytes 256 to 384 of the temporaries, which nothing has written

// RUN: %mutate opt %s --mutate-collective-unsigned > %t.unsigned
// RUN: FileCheck %s --check-prefix=UNSIGNED < %t.unsigned
// RUN: not ppopt opt %t.unsigned --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=UNSIGNED-REFUSED
// UNSIGNED: collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>],
// UNSIGNED: pp.begin 1
// UNSIGNED-REFUSED: error: 'pp.begin' op is number 1 of the 1 collectives of @s0_F

// RUN: %mutate opt %s --mutate-begins-swapped > %t.numbers
// RUN: FileCheck %s --check-prefix=NUMBERS < %t.numbers
// RUN: not ppopt opt %t.numbers --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=NUMBERS-REFUSED
// NUMBERS: pp.begin 1 all_gather %arg0
// NUMBERS: pp.begin 0 all_gather %arg1
// NUMBERS-REFUSED: error: 'pp.begin' op is number 1, and the next start is number 0

// RUN: %mutate opt %s --mutate-gathers-swapped > %t.chunks
// RUN: FileCheck %s --check-prefix=CHUNKS < %t.chunks
// RUN: not ppopt opt %t.chunks --pp-verify-kernels 2>&1 | FileCheck %s --check-prefix=CHUNKS-REFUSED
// CHUNKS: pp.begin 0 all_gather %arg1
// CHUNKS: pp.begin 1 all_gather %arg0
// CHUNKS-REFUSED: error: 'pp.begin' op gathers #pp.role<param_range, "b1"> as 'b0': tasks would read parameters of another bucket

// Without collectives there is nothing to change.
// RUN: sed '/pp.begin/d; /pp.finish/d; /pp.release/d; s/collectives = .*>\], //' %s > %t.none
// RUN: not %mutate opt %t.none --mutate-add-own-slice 2>&1 | FileCheck %s --check-prefix=NO-SUM
// RUN: not %mutate opt %t.none --mutate-sum-not-added 2>&1 | FileCheck %s --check-prefix=NO-SUM
// NO-SUM: error: has no sum of gradients inside a task to change
// RUN: not %mutate opt %t.none --mutate-read-before-finish 2>&1 | FileCheck %s --check-prefix=NO-GATHER
// NO-GATHER: error: has no gather inside a task to change
// RUN: not %mutate opt %t.none --mutate-release-before-last-reader 2>&1 | FileCheck %s --check-prefix=NO-RELEASE
// NO-RELEASE: error: has no release of what a task has gathered to change
// RUN: not %mutate opt %t.none --mutate-gather-over-gathered 2>&1 | FileCheck %s --check-prefix=NO-TWO
// NO-TWO: error: has no gather that begins before another one's last reader to change
// RUN: not %mutate opt %t.none --mutate-collective-left-out 2>&1 | FileCheck %s --check-prefix=NO-COLLECTIVE
// NO-COLLECTIVE: error: has no collective inside a task to change
// RUN: not %mutate opt %t.none --mutate-collective-unsigned 2>&1 | FileCheck %s --check-prefix=NO-SEVERAL
// RUN: not %mutate opt %t.none --mutate-begins-swapped 2>&1 | FileCheck %s --check-prefix=NO-SEVERAL
// NO-SEVERAL: error: has no task of several collectives to change
// RUN: not %mutate opt %t.none --mutate-gathers-swapped 2>&1 | FileCheck %s --check-prefix=NO-CHUNKS
// NO-CHUNKS: error: has no two gathers of one type inside a task to change
pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", zero = 3 : i64, target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.kernel @copy(%x: tensor<64xf32>) -> (tensor<64xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x64>, tiles = #pp.tiles<1 of 4096 elements>} {
  pp.return %x : tensor<64xf32>
}
pp.kernel @add(%x: tensor<32xf32>, %y: tensor<32xf32>) -> (tensor<32xf32> {pp.sweep = 0 : i64}) attributes {form = #pp.form<rows 1x32>, tiles = #pp.tiles<1 of 4096 elements>} {
  %0 = pp.add %x, %y : tensor<32xf32>, tensor<32xf32>
  pp.return %0 : tensor<32xf32>
}
pp.task forward stage 0 @s0_F(%p: memref<32xf32> {pp.role = #pp.role<param_range, "b0">}, %q: memref<32xf32> {pp.role = #pp.role<param_range, "b1">}, %u: memref<64xf32>, %v: memref<64xf32>, %y: memref<64xf32>)
    attributes {collectives = [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 64 x f32>, #pp.task_collective<<all_gather> over <["dp"]> channel 1 "b1" of 64 x f32>], temp_bytes = 512 : i64} {
  %0 = pp.temp 0 : memref<64xf32>
  pp.begin 0 all_gather %p outs(%0 : memref<64xf32>) : memref<32xf32>
  pp.finish 0
  pp.launch @copy ins(%0 : memref<64xf32>) outs(%u : memref<64xf32>) {inplace = array<i64: -1>}
  %1 = pp.temp 256 : memref<64xf32>
  pp.begin 1 all_gather %q outs(%1 : memref<64xf32>) : memref<32xf32>
  pp.finish 1
  pp.launch @copy ins(%0 : memref<64xf32>) outs(%v : memref<64xf32>) {inplace = array<i64: -1>}
  pp.release %0 : memref<64xf32>
  pp.launch @copy ins(%1 : memref<64xf32>) outs(%y : memref<64xf32>) {inplace = array<i64: -1>}
  pp.release %1 : memref<64xf32>
  pp.return
}
pp.task backward stage 0 @s0_B(%y: memref<64xf32>, %g: memref<32xf32> {pp.role = #pp.role<grad_range, "b0">})
    attributes {collectives = [#pp.task_collective<<reduce_scatter> over <["dp"]> channel 2 "b0" of 64 x f32>], temp_bytes = 384 : i64} {
  %0 = pp.temp 0 : memref<64xf32>
  pp.launch @copy ins(%y : memref<64xf32>) outs(%0 : memref<64xf32>) {inplace = array<i64: -1>}
  %1 = pp.temp 256 : memref<32xf32>
  pp.begin 0 reduce_scatter %0 outs(%1 : memref<32xf32>) : memref<64xf32>
  pp.finish 0
  pp.launch @add ins(%g, %1 : memref<32xf32>, memref<32xf32>) outs(%g : memref<32xf32>) {inplace = array<i64: 0>}
  pp.return
}
