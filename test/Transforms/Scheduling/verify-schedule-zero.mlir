// RUN: sed 's/STAGE/2/' %s | ppopt opt --pp-form-buckets --pp-gather-parameters --pp-scatter-gradients --pp-sign-tasks --pp-schedule --pp-insert-collectives --pp-assign-slots > %t.2
// RUN: sed 's/STAGE/3/' %s | ppopt opt --pp-form-buckets --pp-gather-parameters --pp-scatter-gradients --pp-sign-tasks --pp-schedule --pp-insert-collectives --pp-assign-slots > %t.3
// RUN: ppopt opt %t.2 --pp-verify-schedule
// RUN: ppopt opt %t.3 --pp-verify-schedule

// Steps with sharded gradients, and with sharded parameters. Tasks have summed over fsdp; what is left is over dp, after the last run. Each of the others
// has something out of its place.

// RUN: sed '/%5 = pp.start /d; /pp.wait %5 /d' %t.2 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=REPLICAS
// RUN: sed '/%5 = pp.start /d; /pp.wait %5 /d' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=REPLICAS
// REPLICAS: error: 'pp.run' op needs #pp.buffer<grads, "b0"> of all ranks, which is not summed yet

// RUN: sed '/%5 = pp.start / { s/"dp"/"fsdp"/; s/channel 4/channel 9/ }' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: sed '/%5 = pp.start / s/all_reduce/reduce_scatter/' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: sed '/%5 = pp.start / s/"dp"/"dp", "fsdp"/' %t.2 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: 'pp.start' op must be an all_reduce of #pp.buffer<grads, "b0"> over #pp.group<["dp"]>: tasks have summed it over #pp.group<["fsdp"]>

// RUN: sed '/%5 = pp.start / s/$/ shard/' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=SHARD
// SHARD: error: 'pp.start' op sums shards of #pp.buffer<grads, "b0">, of which ranks do not have chunks; put a reduce_scatter before it

// Of this microbatch the sum lacks a part.
// RUN: sed -e '/pp.run @s1_B microbatch 1/ { h; d }' -e '/pp.wait %5 /G' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE
// LATE: error: 'pp.run' op adds to #pp.buffer<grads, "b0">, which is summed already
// LATE: note: the sum is complete here
// RUN: sed -e '/pp.run @s1_B microbatch 1/ { h; d }' -e '/%5 = pp.start /G' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=MEANWHILE
// MEANWHILE: error: 'pp.run' op writes #pp.buffer<grads, "b0"> while it is being summed over ranks

// Once per microbatch, as a sum of the first one's gradients.
// RUN: sed -e '/pp.run @s1_B microbatch 0/ s/$/\n %again = pp.start all_reduce over <["dp"]> channel 4 <grads, "b0">\n pp.wait %again : !pp.token/' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=LATE

// Whole parameters are gathered after the update, and waited for by the next step; of chunks there is nothing to gather.
// RUN: sed '/pp.wait %arg1 / { h; d }; /pp.run @s0_F microbatch 0/G' %t.2 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CARRIED
// CARRIED: error: 'pp.run' op reads #pp.buffer<params, "b1"> while it is being gathered from ranks
// RUN: sed '/pp.run @p0_U_b0/ s/$/\n %gather = pp.start all_gather over <["fsdp"]> channel 9 <params, "b0">\n pp.wait %gather : !pp.token/' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TASKS
// TASKS: error: 'pp.start' op gathers #pp.buffer<params, "b0">, of which ranks do not have chunks to gather here: tasks gather them

// Channels of tasks are those of no other group, and not that of transfers.
// RUN: sed '/%5 = pp.start / s/channel 4/channel 2/' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=CHANNEL
// CHANNEL: error: 'pp.start' op is on channel 2, which belongs to another group
// CHANNEL: note: that group's start is here
// RUN: sed 's/over <\["fsdp"\]> channel 2 "b0" of/over <["dp"]> channel 2 "b0" of/; s/over <\["fsdp"\]> "b0" {channel = 2 /over <["dp"]> "b0" {channel = 2 /' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TASK-CHANNEL
// TASK-CHANNEL: error: 'pp.task' op is on channel 2, which belongs to another group
// TASK-CHANNEL: note: that group's start is here
// RUN: sed 's/channel 2 "b0" of/channel 0 "b0" of/; s/"b0" {channel = 2 /"b0" {channel = 0 /' %t.3 | not ppopt opt --pp-verify-schedule 2>&1 | FileCheck %s --check-prefix=TRANSFERS
// TRANSFERS: error: 'pp.task' op is on channel 0, which is for transfers

pp.plan {zero = STAGE : i64, mesh = [#pp.axis<"dp" = 2>, #pp.axis<"fsdp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b", optimizer = "sgd", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
pp.param_decl "v" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.param_decl "w" {type = tensor<40xf32>, init = #pp.init<zeros>, learns}
pp.task forward stage 0 @s0_F(%w: tensor<40xf32> {pp.role = #pp.role<param, "w">}) -> tensor<40xf32> {
  %0 = pp.exp %w : tensor<40xf32>
  pp.return %0 : tensor<40xf32>
}
pp.task forward stage 1 @s1_F(%v: tensor<40xf32> {pp.role = #pp.role<param, "v">}, %l: tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>})
    -> (tensor<f32> {pp.role = #pp.role<loss, "loss">, pp.sharding = #pp.sharding<[], sum = {dp, fsdp}>}, tensor<40xf32>) {
  %0 = pp.accumulate %l, %l : tensor<f32>
  %1 = pp.exp %v : tensor<40xf32>
  pp.return %0, %1 : tensor<f32>, tensor<40xf32>
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
