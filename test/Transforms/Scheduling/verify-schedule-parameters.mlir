// RUN: sed 's/^pp.plan {/&zero = 1 : i64, /' %s | ppopt opt --pp-form-buckets --pp-schedule --pp-insert-collectives --pp-assign-slots > %t
// RUN: ppopt opt %t --pp-verify-schedule

// The schedules of a sharded step on a mesh dp x fsdp. Each of the others has something out of its place.

// RUN: sed '/pp.wait %arg1 / { h; d }; /pp.run @s0_F/G' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READER
// READER: error: 'pp.run' op reads #pp.buffer<params, "b1"> while it is being gathered from ranks
// READER: note: the step before has started it; its token is an argument of the schedule

// RUN: sed '/evaluation, slots/,$ { /pp.wait %arg1 / { h; d }; /pp.run @s0_F/G }' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=READER

// A step leaves a gather in flight for each token that it takes; after an evaluation nothing is in flight.
// RUN: sed '/all_gather.*"b0"/d; s/pp.yield %8, %9 : !pp.token, /pp.yield %9 : /' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=YIELDS
// YIELDS: error: 'pp.schedule' op takes 2 tokens and yields 1
// RUN: sed 's/pp.start all_gather.*"b0">/pp.done/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=DONE
// DONE: error: 'pp.wait' op waits for nothing
// RUN: sed 's/%3 = pp.done/%3 = pp.start all_reduce over <["dp", "fsdp"]> channel 1 <grads, "b0">/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=IN-FLIGHT
// IN-FLIGHT: error: 'pp.schedule' op needs #pp.buffer<grads, "b0"> of all ranks, which is not summed yet
// RUN: sed 's/%3 = pp.done/%3 = pp.start all_gather over <["fsdp"]> channel 4 <params, "b0">/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed 's/%3 = pp.done/&\n pp.wait %3 : !pp.token\n %5 = pp.done/; s/pp.yield %3, /pp.yield %5, /' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: error: 'pp.wait' op waits for nothing
// An evaluation that does not read b1 waits for its gather all the same.
// RUN: sed '/^  } evaluation/,/^  } end/ { /@s0_F/d }; /evaluation, slots/,$ { /%arg1 :/d; /@s0_F/d; /%4 = pp.done/d; s/, %arg1: !pp.token//; s/pp.yield %3, %4 : !pp.token, /pp.yield %3 : / }' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNREAD
// UNREAD: error: 'pp.schedule' op takes 1 tokens, and a step of training leaves 2 in flight

// RUN: sed 's/all_gather over <\["fsdp"\]>/all_gather over <["dp"]>/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: 'pp.start' op gathers #pp.buffer<params, "b0"> over #pp.group<["dp"]>, but its chunks are over #pp.group<["fsdp"]>

// RUN: sed 's/all_gather/all_reduce/' %t | not ppopt opt 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: sed '/all_gather/ s/$/ shard/' %t | not ppopt opt 2>&1 | FileCheck %s --check-prefix=KIND
// KIND: error: 'pp.start' op is of parameters, and no all_gather of them

// A gather before the update of its bucket, and an update before the sum of its chunk.
// RUN: sed -e '/pp.run @p0_U_b0/ { h; d }' -e '/all_gather.*"b0"/G' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=EARLY
// EARLY: error: 'pp.start' op gathers #pp.buffer<params, "b0">, of which ranks do not have chunks

// RUN: sed '/all_reduce.*"b0"> shard/d; /pp.wait %5 /d' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNSUMMED
// UNSUMMED: error: 'pp.run' op needs #pp.buffer<grads, "b0"> of all ranks, which is not summed yet
// UNSUMMED: note: here it is the sum of 2 of 4 ranks

// RUN: sed -e '/reduce_scatter.*"b0"/ { s/reduce_scatter over <\["fsdp"\]>/all_reduce over <["dp"]>/ }' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-CHUNKS
// NO-CHUNKS: error: 'pp.start' op sums #pp.buffer<grads, "b0"> over 2 ranks, and not the 4 that have a part of it

// RUN: sed -e '/reduce_scatter.*"b0"/ { s/reduce_scatter over <\["fsdp"\]>/all_reduce over <["dp", "fsdp"]>/ }' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NO-SHARDS
// NO-SHARDS: error: 'pp.start' op sums shards of #pp.buffer<grads, "b0">, of which ranks do not have chunks; put a reduce_scatter before it

// RUN: sed -e '/reduce_scatter.*"b0"/ s/"fsdp"/"dp"/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER-SHARDS
// OTHER-SHARDS: error: 'pp.start' op sums shards of #pp.buffer<grads, "b0">, whose chunks are over #pp.group<["dp"]>

// RUN: sed -e '/all_reduce.*"b0"> shard/ s/"dp"/"fsdp"/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: error: 'pp.start' op sums over "fsdp" again: #pp.group<["fsdp"]> is summed already

// RUN: sed -e 's/all_reduce\(.*"b0">\) shard/all_reduce\1/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: error: 'pp.start' op sums a value that is summed already
// WHOLE: note: each rank has its chunk here

// A chunk where the rank runs on its own.
// RUN: sed -e 's/pp.run @p0_N microbatch 0/& chunk 0/' %t | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: 'pp.run' op runs chunk 0, and the task is to run once

// Where every rank has all chunks, a task runs on each of them.
// RUN: ppopt opt %s --pp-form-buckets --pp-schedule --pp-insert-collectives --pp-assign-slots > %t.whole
// RUN: ppopt opt %t.whole --pp-verify-schedule
// RUN: sed '/@p0_N microbatch 0 chunk 1/d' %t.whole | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: 'pp.schedule' op never runs @p0_N on microbatch 0, chunk 1
// RUN: sed 's/\(@p0_N microbatch 0\) chunk 1/\1 chunk 2/' %t.whole | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: error: 'pp.run' op runs chunk 2 of 2
// RUN: sed 's/\(@p0_N microbatch 0\) chunk 1/\1/' %t.whole | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'pp.run' op does not say on which of 2 chunks
// RUN: sed '/all_gather.*<grads, "b0"/d; /pp.wait %6 /d' %t.whole | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=UNGATHERED
// UNGATHERED: error: 'pp.run' op needs #pp.buffer<grads, "b0"> of all ranks, which is not gathered yet
// UNGATHERED: note: from here on each rank has its chunk
// RUN: sed 's/all_gather over <\["fsdp"\]>/all_gather over <["dp"]>/' %t.whole | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=OTHER-CHUNKS
// OTHER-CHUNKS: error: 'pp.start' op gathers #pp.buffer<grads, "b0"> over #pp.group<["dp"]>, but its chunks are over #pp.group<["fsdp"]>
pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, microbatches = 1 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "v" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  pp.return %w : tensor<40xf32>
}
pp.task forward stage 1 @s1_F(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>}, tensor<40xf32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  pp.return %0, %v : tensor<f32>, tensor<40xf32>
}
pp.task backward stage 1 @s1_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "v">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task backward stage 0 @s0_B(%a: tensor<40xf32>, %d: tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>})
    -> (tensor<40xf32> {pp.role = #pp.role<grad, "w">, pp.sharding = #pp.sharding<[{}], sum = {dp, fsdp}>}) {
  %0 = pp.accumulate %d, %a : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.step microbatch {
  %a = pp.call @s0_F() : () -> tensor<40xf32>
  %b = pp.call @s1_F() : () -> tensor<40xf32>
  pp.call @s1_B(%b) : (tensor<40xf32>) -> ()
  pp.call @s0_B(%a) : (tensor<40xf32>) -> ()
} evaluation {
  %a = pp.call @s0_F() : () -> tensor<40xf32>
  %b = pp.call @s1_F() : () -> tensor<40xf32>
}
