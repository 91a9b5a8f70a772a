//===- PlanOps.td - The plan, the buckets, the schedule -- -*- tablegen -*-===//

#ifndef PPOPT_DIALECT_PP_PLAN_OPS
#define PPOPT_DIALECT_PP_PLAN_OPS

include "ppopt/Dialect/PP/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

// Its verifier checks attributes that are not declared here: the options of plan_options.def.
def PP_PlanOp : PP_Op<"plan", [], /*attributes=*/[]> {
  let summary = "how a model is put on devices";
  let description = [{
    One per module, from phase `placed` on. `batch` is the global batch. The mesh's axes are major to minor: `dp` and `fsdp` split the rows of the batch,
    `pp` the model into places; any other axis cuts what the model's author annotated with it. `schedule` is a name, or "table" if the user gave a
    `table`. With `evaluates_rows` an evaluation is over all rows of all its batches; otherwise it is the mean of those of whole batches, and `mixes_rows`
    says which op of the model mixes their rows. With `by_microbatch` the microbatches are the outermost cut of a batch's rows, so that each has the same
    rows under every mesh. With `sync` stale or async, `trainers` is the size of the job's `dp`: each trainer runs the plan, whose `dp` is 1 and whose
    `batch` is a trainer's part of the global batch. `stage_places`: the model is cut into that many pieces, each on that place; without it every
    place has one. `device_memory` in bytes.

    The options of `runtime/schema/plan_options.def` are attributes too, each left out where it is the default: a word (`tied = "owner"`), or
    nothing (`nesterov`). [program.md](program.md#plan) says what they mean.

    Example:

    ```mlir
    pp.plan {mesh = [#pp.axis<"dp" = 2>, #pp.axis<"pp" = 2>], batch = 8 : i64, microbatches = 2 : i64, schedule = "1f1b",
             recompute = "layer", target = #pp.target<"cpu", threads = 1, cpu = "x86-64-v3", features = "">}
    ```
  }];
  let arguments = (ins
    TypedArrayAttrBase<PP_MeshAxisAttr, "mesh axes">:$mesh,
    PP_I64Attr:$batch, PP_I64Attr:$microbatches, StrAttr:$schedule,
    PP_TargetAttr:$target, OptionalAttr<PP_TableAttr>:$table, OptionalAttr<DenseI64ArrayAttr>:$stage_places,
    OptionalAttr<PP_I64Attr>:$device_memory, DefaultValuedOptionalAttr<PP_I64Attr, "1">:$trainers,
    UnitAttr:$evaluates_rows, OptionalAttr<StrAttr>:$mixes_rows, UnitAttr:$by_microbatch);
  let assemblyFormat = "attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The mesh as the runtime sees it: ranks, places, groups.
    ::ppopt::geometry::Mesh getGeometry();
    /// The mesh and the batch of the job: those of all trainers.
    ::ppopt::geometry::Mesh getJobMesh();
    int64_t getJobBatch() { return getBatch() * getTrainers(); }
    /// Number of places.
    int64_t getPlaces() { return getGeometry().places(); }
    /// Number of parts that ranks split a batch into; each has microbatches.
    int64_t getBatchParts() { return getGeometry().batchParts(); }
    /// Number of tiles that a batch is cut into.
    int64_t getBatchTiles() { return getBatchParts() * getMicrobatches(); }

    /// Whether all communication of a rank goes through one blocking queue: a GPU's stream. Then ranks must start it in one order.
    bool hasOneQueue() { return !getTarget().getGpu().empty() && getLaunch() != ::mlir::pp::Launch::local; }

    /// The options of plan_options.def; those that are not there have their defaults.
    ::mlir::pp::PlanChoices getChoices();
    void setChoices(const ::mlir::pp::PlanChoices &choices);
#define PLAN_CHOICE(FIELD, TYPE, ...) TYPE get##TYPE() { return getChoices().FIELD; }
#define PLAN_SWITCH(FIELD, NAME, ...) bool get##NAME() { return getChoices().FIELD; }
#define PLAN_LEVEL(FIELD, NAME, ...) int64_t get##NAME() { return getChoices().FIELD; }
#define PLAN_NUMBER(FIELD, NAME, ...) int64_t get##NAME() { return getChoices().FIELD; }
#define PLAN_BYTES(FIELD, NAME, ...) int64_t get##NAME() { return getChoices().FIELD; }
#include "schema/plan_options.def"
  }];
}

def PP_InputDeclOp : PP_Op<"input_decl"> {
  let summary = "an input of the model, after the entry is gone";
  let description = [{
    `type` has the shape of the global batch. With token data the input holds a window's tokens from `shift` on. `ranges`
    (`#pp.id_range`): the parts of it that index something; the runtime checks them.

    Example:

    ```mlir
    pp.input_decl "tokens" {type = tensor<8x16xi32>, shift = 0 : i64}
    ```
  }];
  let arguments = (ins StrAttr:$input_name, TypeAttr:$type, PP_I64Attr:$shift,
                       DefaultValuedOptionalAttr<ArrayAttr, "{}">:$ranges);
  let assemblyFormat = "$input_name attr-dict";
}

def PP_ParamDeclOp : PP_Op<"param_decl"> {
  let summary = "a parameter of the model, after the entry is gone";
  let description = [{
    `learns`: it has a gradient, and a bucket that is not `constant` holds it. `state`: tasks of kind commit change it. `places` hold a copy each, in increasing order; the first is the owner.

    Example:

    ```mlir
    pp.param_decl "w" {type = tensor<8x8xf32>, init = #pp.init<ones>, learns}
    ```
  }];
  let arguments = (ins StrAttr:$param_name, TypeAttr:$type, PP_InitAttr:$init, UnitAttr:$frozen, UnitAttr:$state, UnitAttr:$no_decay,
                       OptionalAttr<PP_RealAttr>:$lr_scale, OptionalAttr<PP_RealAttr>:$decay_scale, UnitAttr:$learns,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{0}">:$places);
  let assemblyFormat = "$param_name attr-dict";
}

def PP_BucketOp : PP_Op<"bucket", [Symbol]> {
  let summary = "parameters that are reduced and updated, or gathered, together";
  let description = [{
    `params` lie one after the other at `offsets` (elements) in a range of `elements`. Gaps and the padding at the end (so that
    the ranks that sum it divide the range) stay zero. Parameters, gradients and optimizer states share this order.
    All are of one type, with the same `lr_scale` and `decay_scale` (factors of the learning rate and of the weight decay), with gradients that are partial sums over the same axes, and on the same `places`, the first of which is
    the owner. If it is `borrowed`, only the owner has the
    optimizer's states and updates. The other places get the parameters from it at the start of a step and send their gradients back at the end.

    The ranks of `shard_group` have a chunk of the bucket each: position p of n has elements [p·E/n, (p+1)·E/n). Gradients are summed so that each has the sum of
    its chunk, over the ranks of `shard_group` and then over those of `replica_group`, whose chunks are the same. With `sharded`, the update of a rank
    is of its chunk, and it has this chunk only of the optimizer's states, of the gradients too, or of all three. Without a group there is one rank of
    the bucket.

    With `owners`, of asynchronous training, the trainers own a chunk each, in their order: the owner has the master parameters and the
    optimizer's states of its chunk, and its update is of this chunk. All ranks have a working copy of the parameters, and gradients, of the
    whole bucket.

    A `constant` bucket is of parameters that no step changes: it has no gradients, no states and no update. It is `sharded`: a rank has its chunk.

    `read_type`: tasks read its parameters in this narrower type only. Tasks that gather them gather them so.

    Example:

    ```mlir
    pp.bucket @b0 {params = ["v", "w"], offsets = array<i64: 0, 64>, elements = 128 : i64, type = f32, decay_scale = 0.0 : f64}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$params, DenseI64ArrayAttr:$offsets,
                       PP_I64Attr:$elements, TypeAttr:$type, DefaultValuedAttr<F64Attr, "1.0">:$lr_scale,
                       DefaultValuedAttr<F64Attr, "1.0">:$decay_scale, UnitAttr:$constant,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{0}">:$places, UnitAttr:$borrowed,
                       OptionalAttr<PP_GroupAttr>:$shard_group, OptionalAttr<PP_GroupAttr>:$replica_group,
                       OptionalAttr<PP_ShardedStateAttr>:$sharded, OptionalAttr<TypeAttr>:$read_type,
                       OptionalAttr<PP_I64Attr>:$owners);
  let assemblyFormat = "$sym_name attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the number of chunks: the ranks of the shard group on the mesh.
    int64_t getChunks(const ::ppopt::geometry::Mesh &mesh) {
      return getShardGroup() ? mesh.size(getShardGroup()->getGeometry()) : 1;
    }
    /// The elements that a rank updates.
    int64_t getUpdateElements(const ::ppopt::geometry::Mesh &mesh) {
      return getElements() / (getOwners() ? *getOwners() : hasShardedStates() ? getChunks(mesh) : 1);
    }
    /// Whether a rank has its chunk only: of the optimizer's states, of the gradients, of the parameters.
    bool hasShardedStates() { return getSharded() && !getConstant(); }
    bool hasShardedGradients() { return hasShardedStates() && *getSharded() >= ShardedState::Gradients; }
    bool hasShardedParams() { return getSharded() && *getSharded() >= ShardedState::Parameters; }
    /// The places that update the parameters, whose gradients they sum.
    ::llvm::ArrayRef<int64_t> getUpdatePlaces() {
      return getConstant() ? ::llvm::ArrayRef<int64_t>() : getBorrowed() ? getPlaces().take_front() : getPlaces();
    }
    /// The places that borrow.
    ::llvm::ArrayRef<int64_t> getBorrowers() { return getBorrowed() ? getPlaces().drop_front() : ::llvm::ArrayRef<int64_t>(); }
  }];
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def PP_ScheduleOp : PP_Op<"schedule", [NoTerminator, SingleBlock]> {
  let summary = "the ordered actions of a place, or of all places";
  let description = [{
    An instance of `pp.step`: its calls run, and its copies are sent and received, on each microbatch. What a run makes, and what a wait for a receive gives,
    are values; what is in flight is a token or a future, which has one wait. With `evaluation`, the actions of one evaluation batch; with
    `average`, those that exchange the parameters with their averages.

    `slots` are the sizes in bytes of the buffers that values share. A value is in its slot until the last action that reads it, and until the wait of each
    token made from it.

    The tokens that a step leaves in flight are what its schedule yields, and the arguments of the place's schedules of training and of evaluation. An
    evaluation, after which nothing is in flight, yields `pp.done`.

    `pp.schedule local` is what one process does for all places (a plan's `launch` = local): the actions of every place, in one order. A run
    is of its task's place, a `pp.start` of the place that it names. Copies are made at once. `slot_places` says on which place each slot is.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    pp.schedule 0 attributes {slots = array<i64: 128>} {
      pp.zero
      %h = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<4x8xf32>
      %sent = pp.send copy 0 microbatch 0 (%h) : tensor<4x8xf32>
      pp.wait %sent : !pp.token
    }
    ```
  }];
  let arguments = (ins DefaultValuedOptionalAttr<PP_I64Attr, "-1">:$place, UnitAttr:$evaluation, UnitAttr:$average,
                       DenseI64ArrayAttr:$slots, OptionalAttr<DenseI64ArrayAttr>:$slot_places);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "($place^):(`local`)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The place of a local schedule.
    static constexpr int64_t kAllPlaces = -1;
    bool isLocal() { return getPlace() == kAllPlaces; }
    bool isTraining() { return !getEvaluation() && !getAverage(); }
    /// Returns whether the schedule contains actions of the place.
    bool isOf(int64_t place) { return isLocal() || getPlace() == place; }
    /// The place that a slot is on.
    int64_t getSlotPlace(int64_t slot) { return isLocal() ? (*getSlotPlaces())[slot] : getPlace(); }
    /// What the schedule leaves in flight; empty if nothing.
    ::mlir::OperandRange getYielded();
  }];
}

class PP_Action<string mnemonic, list<Trait> traits = []>
    : PP_Op<mnemonic, !listconcat([HasParent<"ScheduleOp">], traits)>;

def PP_RunOp : PP_Action<"run", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a task on a microbatch";
  let description = [{
    The operands and results are the task's values, in its order, as those of its `pp.call`. `slots` says where the results are, from `pp-assign-slots` on. The
    task's roles, the microbatch and the chunk say where state is.

    A task on chunks of buckets runs on those that the rank has, or on the chunks of coordinate `chunk`: where every rank has
    all chunks, it runs once on each.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    pp.schedule 0 attributes {slots = array<i64: 128>} {
      pp.zero
      %h = pp.run @s0_F microbatch 1 () slots [0] : () -> tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$task, PP_I64Attr:$microbatch, OptionalAttr<PP_I64Attr>:$chunk, Variadic<AnyRankedTensor>:$values,
                       OptionalAttr<DenseI64ArrayAttr>:$slots);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $task `microbatch` $microbatch (`chunk` $chunk^)? ` ` `(` $values `)` (`slots` $slots^)? attr-dict `:`
    functional-type($values, $results)
  }];
}

def PP_ZeroOp : PP_Action<"zero"> {
  let summary = "zeros the gradients, the loss, the counts and the norm";
  let description = [{
    Example:

    ```mlir
    pp.schedule 0 attributes {slots = array<i64: 128>} {
      pp.zero
    }
    ```
  }];
  let arguments = (ins);
  let assemblyFormat = "attr-dict";
}

def PP_StartOp : PP_Action<"start"> {
  let summary = "starts a collective";
  let description = [{
    `buffer` is what is summed (a bucket's gradients, the loss, a count, the norm) or gathered (a bucket's parameters). With `shard` it is the rank's chunk of the bucket, as the
    bucket's shard group cuts it. A buffer is cut into one chunk per rank of the group. `all_reduce` leaves
    the sum on every rank, `reduce_scatter` each rank's chunk of it, which `all_gather` then collects on every rank. Starts on one
    channel happen in one order on all ranks of the group. In a local schedule, and only there, a start says of which place it is
    (`pp.start on 1 all_reduce …`).

    Example:

    ```mlir
    pp.schedule 0 attributes {slots = array<i64: 128>} {
      %sum = pp.start all_reduce over <["dp", "pp"]> channel 1 <loss>
      pp.wait %sum : !pp.token
    }
    ```
  }];
  let arguments = (ins PP_CollectiveAttr:$collective, PP_GroupAttr:$group, PP_I64Attr:$channel, PP_BufferAttr:$buffer,
                       UnitAttr:$shard, OptionalAttr<PP_I64Attr>:$place);
  let results = (outs PP_Token:$token);
  let hasVerifier = 1;
  let assemblyFormat = "(`on` $place^)? custom<Collective>($collective) `over` $group `channel` $channel $buffer (`shard` $shard^)? attr-dict";
  let extraClassDeclaration = [{
    /// The collective as the runtime sees it.
    ::ppopt::geometry::Collective getKind() { return getCollective().getKind(); }
    /// Whether it gathers a bucket's parameters after their update; all others complete a sum.
    bool gathersParameters() { return getBuffer().getKind() == BufferKind::Params; }
    /// The place that starts it.
    int64_t getPlaceOfStart();
  }];
}

def PP_SendOp : PP_Action<"send"> {
  let summary = "starts the sending end of a copy of the step";
  let description = [{
    Does not wait. Copies from one place to another are matched in the order of their starts at both ends. A `pp.copy_bucket` has neither microbatch nor
    value: what it sends is in the bucket's buffer.

    Example:

    ```mlir
    pp.task forward stage 0 @s0_F(%x: tensor<4x8xf32> {pp.role = #pp.role<input, "x">}) -> tensor<4x8xf32> {
      %0 = pp.tanh %x : tensor<4x8xf32>
      pp.return %0 : tensor<4x8xf32>
    }
    pp.schedule 0 attributes {slots = array<i64: 128>} {
      pp.zero
      %h = pp.run @s0_F microbatch 0 () : () -> tensor<4x8xf32>
      %sent = pp.send copy 0 microbatch 0 (%h) : tensor<4x8xf32>
      pp.wait %sent : !pp.token
    }
    ```
  }];
  let arguments = (ins PP_I64Attr:$copy, OptionalAttr<PP_I64Attr>:$microbatch, Optional<AnyRankedTensor>:$value);
  let results = (outs PP_Token:$token);
  let assemblyFormat = "`copy` $copy (`microbatch` $microbatch^)? (` ` `(` $value^ `)` `:` type($value))? attr-dict";
}

def PP_RecvOp : PP_Action<"recv"> {
  let summary = "starts the receiving end of a copy of the step";
  let description = [{
    The wait for it gives the value, which is in `slot` from now on. Of a `pp.copy_bucket` of parameters it is a token: they come to the bucket's buffer.

    Example:

    ```mlir
    pp.schedule 1 attributes {slots = array<i64: 128>} {
      %coming = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4x8xf32>>
      %h = pp.wait %coming : !pp.future<tensor<4x8xf32>>
    }
    ```
  }];
  let arguments = (ins PP_I64Attr:$copy, OptionalAttr<PP_I64Attr>:$microbatch, OptionalAttr<PP_I64Attr>:$slot);
  let results = (outs PP_InFlight:$started);
  let assemblyFormat = "`copy` $copy (`microbatch` $microbatch^)? (`slot` $slot^)? attr-dict `:` type($started)";
}

def PP_WaitOp : PP_Action<"wait", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "waits for what is in flight";
  let description = [{
    Of a future the result is the value. The wait for an argument of the schedule is for what the step before has started; there is nothing to wait for in the first step, and
    where something has waited for it since.

    Example:

    ```mlir
    pp.schedule 1 attributes {slots = array<i64: 128>} {
      %coming = pp.recv copy 0 microbatch 0 slot 0 : !pp.future<tensor<4x8xf32>>
      %h = pp.wait %coming : !pp.future<tensor<4x8xf32>>
    }
    ```
  }];
  let arguments = (ins PP_InFlight:$started);
  let results = (outs Optional<AnyRankedTensor>:$value);
  let assemblyFormat = "$started attr-dict `:` type($started)";
  let extraClassDeclaration = [{
    /// Whether it waits for what the step before has started.
    bool isCarried() { return ::llvm::isa<::mlir::BlockArgument>(getStarted()); }
  }];
}

def PP_DoneOp : PP_Action<"done", []> {
  let summary = "a token of nothing in flight";
  let description = [{
    Example:

    ```mlir
    pp.schedule 0 attributes {evaluation, slots = array<i64>} {
    ^bb0(%gathered: !pp.token):
      pp.wait %gathered : !pp.token
      %none = pp.done
      pp.yield %none : !pp.token
    }
    ```
  }];
  let results = (outs PP_Token:$token);
  let assemblyFormat = "attr-dict";
}

#endif // PPOPT_DIALECT_PP_PLAN_OPS
