// One layer of GPT, cut as Megatron does: as `ppopt model` annotates it, and the embedding and head by rows.
// RUN: ppopt model gpt --layers 1 --width 12 --heads 6 --vocab 24 --seq 4 --batch 24 | sed -E 's/("wte" \{)/\1shard = #pp.sharding<[{tp}, {}]>, /' > %t

// DEFINE: %{mesh} = dp=2,tp=2 microbatches=2
// DEFINE: %{opt} = ppopt opt %t --pp-insert-plan="mesh=%{mesh}" --pp-unroll-repeats --pp-inline-calls --pp-decompose-model --pp-place-ops --pp-autodiff --canonicalize --cse --pp-decompose-sharded --pp-propagate-shardings --pp-verify-shardings --pp-insert-reshards --pp-verify-shardings=resharded=true
// Reshards of 0 bytes are local. Every other reshard and every gradient is listed below.
// DEFINE: %{check} = grep -v "bytes = 0" | FileCheck %s --implicit-check-not=pp.reshard --implicit-check-not=pp.add_grad
// RUN: %{opt} | %{check} -DROWS="dp, mb"
// REDEFINE: %{mesh} = dp=2,fsdp=2,tp=3
// RUN: %{opt} | %{check} -DROWS="dp, fsdp"


// All-reduces of the forward: the lookup, the attention, the MLP; a maximum, a sum and the picked score per token.
// CHECK-LABEL: func.func @gpt
// CHECK: pp.place 0 stage 0
// CHECK-COUNT-3: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 12]
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], max = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 1]
// CHECK-COUNT-2: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 1]
// Of the backward: the maximum and the sum again; the head, the MLP, the attention.
// CHECK: pp.place 0 stage 0 backward
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], max = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 1]
// CHECK: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 1]
// CHECK-COUNT-3: pp.reshard {{.*}} from <[{[[ROWS]]}, {}, {}], sum = {tp}> to <[{[[ROWS]]}, {}, {}]> of [24, 4, 12]
// No gradient is a sum over tp at the end of the step.
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]} : tensor<24x12xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}, {}], sum = {[[ROWS]]}>]} : tensor<4x12xf32>
// CHECK-COUNT-2: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]} : tensor<12xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}, {3 * tp}], sum = {[[ROWS]]}>]} : tensor<12x36xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{3 * tp}], sum = {[[ROWS]]}>]} : tensor<36xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]} : tensor<12x12xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]} : tensor<12xf32>
// CHECK-COUNT-2: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]} : tensor<12xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}, {tp}], sum = {[[ROWS]]}>]} : tensor<12x48xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}], sum = {[[ROWS]]}>]} : tensor<48xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{tp}, {}], sum = {[[ROWS]]}>]} : tensor<48x12xf32>
// CHECK: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]} : tensor<12xf32>
// CHECK-COUNT-2: pp.add_grad {{.*}} #pp.sharding<[{}], sum = {[[ROWS]]}>]} : tensor<12xf32>
