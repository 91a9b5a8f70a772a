// RUN: ppopt opt %s --pp-verify-schedule

// A reduce-scatter and then an all-gather are one sum. Each of the others has something out of its place.

// RUN: sed '/^  %all = /d; /^  pp.wait %all/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CHUNKS
// CHUNKS: error: 'pp.run' op needs #pp.buffer<grads, "b0"> of all ranks, which is not gathered yet
// CHUNKS: note: from here on each rank has its chunk

// RUN: sed '/^  %reduce = /d; /^  pp.wait %reduce/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: 'pp.start' op gathers #pp.buffer<grads, "b0">, of which ranks do not have chunks; put a reduce_scatter before it

// RUN: sed '/^  pp.run @B microbatch 1/d; s/^  pp.wait %reduce.*/&\n  pp.run @B microbatch 1 (%v1) : (tensor<40xf32>) -> ()/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'pp.run' op adds to #pp.buffer<grads, "b0">, which is summed already
// LATE: note: the sum is complete here

// RUN: sed 's/all_gather/reduce_scatter/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.start' op sums a value that is summed already
// AGAIN: note: each rank has its chunk here

// RUN: sed '/^  pp.wait %reduce/d; s/^  pp.wait %all.*/&\n  pp.wait %reduce : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNDERWAY
// UNDERWAY: error: 'pp.start' op writes #pp.buffer<grads, "b0"> while it is being summed over ranks

// RUN: sed '/^  pp.wait %all/d; s/^  pp.run @N.*/&\n  pp.wait %all : !pp.token/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GATHERING
// GATHERING: error: 'pp.run' op reads #pp.buffer<grads, "b0"> while it is being gathered from ranks

// RUN: sed 's/all_gather over <\["dp"\]>/all_gather over <["pp"]>/; s/#pp.axis<"dp" = 2>/&, #pp.axis<"pp" = 1>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: error: 'pp.start' op gathers over #pp.group<["pp"]>, which is one rank

// RUN: sed 's/all_gather over <\["dp"\]> channel 1/all_gather over <["dp", "rows"]> channel 2/; s/#pp.axis<"dp" = 2>/&, #pp.axis<"rows" = 3>/' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHERS
// OTHERS: error: 'pp.start' op gathers #pp.buffer<grads, "b0"> over #pp.group<["dp", "rows"]>, but its chunks are over #pp.group<["dp"]>

// RUN: sed '/^  pp.wait %all/d' %s | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNWAITED
// UNWAITED: error: 'pp.start' op is never waited for

pp.plan {mesh = [#pp.axis<"dp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.bucket @b0 {params = ["w"], offsets = array<i64: 0>, elements = 64 : i64, type = f32}
pp.task forward stage 0 @F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @B(%v: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">}) -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">}) {
  %0 = pp.accumulate %d, %v : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task norm @N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}) {
  pp.return
}
pp.step microbatch {
  %v = pp.call @F() : () -> tensor<40xf32>
  pp.call @B(%v) : (tensor<40xf32>) -> ()
} evaluation {
  %v = pp.call @F() : () -> tensor<40xf32>
} end {
  pp.call @N() : () -> ()
}
pp.schedule 0 attributes {slots = array<i64: 192>} {
  %v0 = pp.run @F microbatch 0 () slots [0] : () -> tensor<40xf32>
  pp.run @B microbatch 0 (%v0) : (tensor<40xf32>) -> ()
  %v1 = pp.run @F microbatch 1 () slots [0] : () -> tensor<40xf32>
  pp.run @B microbatch 1 (%v1) : (tensor<40xf32>) -> ()
  %reduce = pp.start reduce_scatter over <["dp"]> channel 1 <grads, "b0">
  pp.wait %reduce : !pp.token
  %all = pp.start all_gather over <["dp"]> channel 1 <grads, "b0">
  pp.wait %all : !pp.token
  pp.run @N microbatch 0 () : () -> ()
}
