//===- Passes.td - Mutations: known bugs, one pass each -- -*- tablegen -*-===//
//
// And passes that print: a module for an interpreter, addresses for a reader.
//
// A mutation changes a correct module the way a bug of the compiler would have
// left it. Its description says what is wrong afterwards and which check must
// fail. A mutation that finds nothing to change is an error.
//
//===----------------------------------------------------------------------===//

#ifndef PPOPT_TEST_LIB_PASSES
#define PPOPT_TEST_LIB_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Phase placed, of the program that generates
//===----------------------------------------------------------------------===//

def PositionOffByOne : Pass<"mutate-position-off-by-one", "::mlir::ModuleOp"> {
  let summary = "Generation reads the row of the next position";
  let description = [{
    Every use of the position is of `min(position + 1, last)`: nothing is out of bounds. No verifier can see it; the comparison of
    generation with evaluation must.
  }];
}

//===----------------------------------------------------------------------===//
// Phase train
//===----------------------------------------------------------------------===//

def DropTiedSum : Pass<"mutate-drop-tied-sum", "::mlir::ModuleOp"> {
  let summary = "A parameter that is used more than once has the gradient of one use";
  let description = [{
    A parameter keeps its first `pp.add_grad`, and a gradient that is a sum is its left operand. No verifier can see it; the comparison
    of gradients must.
  }];
}

def DropBoundaryGradient : Pass<"mutate-drop-boundary-gradient", "::mlir::ModuleOp"> {
  let summary = "The gradient of a value that crosses places is zero";
  let description = [{
    The first `pp.copy` back is a zero constant, so the stages before it learn nothing from that value. No verifier can see it; the
    comparison of gradients must.
  }];
}

//===----------------------------------------------------------------------===//
// Phase partitioned, after pp-localize-shapes
//===----------------------------------------------------------------------===//

// These run between the passes of the phase and are in no table: test/shardings/check_shardings.py puts them there. No verifier is left
// that could see them; the comparison of the sharded module with the one before must.

def DropReshard : Pass<"mutate-drop-reshard", "::mlir::ModuleOp"> {
  let summary = "A partial sum is read as if it were the sum";
  let description = "The first `pp.reshard` that completes a sum, and leaves the local shape as it is, is gone.";
}

def DropScale : Pass<"mutate-drop-scale", "::mlir::ModuleOp"> {
  let summary = "A whole value is read as a partial sum, and so counts several times";
  let description = [{
    The first `pp.reshard` that divides a value by the number of parts is gone. Where there is none, the first `pp.add_grad` does not divide
    by its `tiles`.
  }];
}

def MaskLeftOut : Pass<"mutate-mask-left-out", "::mlir::ModuleOp"> {
  let summary = "Rows of an evaluation's last batch that do not count are summed once";
  let description = "The first `pp.mask_rows` is gone. Nothing but the loss of an evaluation whose last batch is partial shows it.";
}

def OtherMode : Pass<"mutate-other-mode", "::mlir::ModuleOp"> {
  let summary = "An evaluation computes what training does";
  let description = [{
    The first `pp.by_mode` is its value of training in evaluations too. If that mixes rows and evaluations are by rows, propagate-shardings
    must refuse it, else the loss of an evaluation must fail.
  }];
}

def ShareLeftOut : Pass<"mutate-share-left-out", "::mlir::ModuleOp"> {
  let summary = "A mean of one batch counts as that of the whole evaluation";
  let description = "The first `pp.evaluation_share` is gone. Nothing but the loss of an evaluation over several batches shows it.";
}

def ContiguousParts : Pass<"mutate-contiguous-parts", "::mlir::ModuleOp"> {
  let summary = "A fused projection is cut into contiguous parts";
  let description = "Each parameter that is cut inside of its parts, as `{3 * tp}` says, is cut as `{tp}` says.";
}

def TileAtZero : Pass<"mutate-tile-at-zero", "::mlir::ModuleOp"> {
  let summary = "Each tile is taken for the first one";
  let description = "The first op with a `tile` reads the last coordinate of the random key, which is 0 on meshes of fewer axes, for all of its axes. Without such an op, so does each part of a "
                    "rank of what follows from indices alone.";
}

//===----------------------------------------------------------------------===//
// Phase partitioned
//===----------------------------------------------------------------------===//

def NestedCutTransposed : Pass<"mutate-nested-cut-transposed", "::mlir::ModuleOp"> {
  let summary = "The axes of a nested cut are transposed";
  let description = "The first parameter with a dimension that two axes cut is declared as if the inner one were the outer one.";
}

def MeanOfMeans : Pass<"mutate-mean-of-means", "::mlir::ModuleOp"> {
  let summary = "Each microbatch divides by its own count";
  let description = [{
    A task that reads a complete sum of the batch, such as a count of targets, has its own part of it times the number of parts.
    Right only where all parts count alike. No verifier can see it; the comparison of losses must.
  }];
}

def ScaleTwice : Pass<"mutate-scale-twice", "::mlir::ModuleOp"> {
  let summary = "Gradients are divided by the number of parts a second time";
  let description = "No verifier can see it; the comparison of gradients must.";
}

def BorrowedNotReturned : Pass<"mutate-borrowed-not-returned", "::mlir::ModuleOp"> {
  let summary = "The owner of a bucket forgets the gradients of its last borrower";
  let description = [{
    With `tied = owner`: the collect task has no argument for them. verify-tasks must refuse it, else the comparison of gradients
    must fail.
  }];
}

def UpdateIgnoresHold : Pass<"mutate-update-ignores-hold", "::mlir::ModuleOp"> {
  let summary = "A step that must update nothing changes an optimizer state";
  let description = [{
    The last state of each bucket is always the new one. No verifier can see it; the comparison of a run that skips a step with one
    that does not have it must.
  }];
}

def CommitIgnoresHold : Pass<"mutate-commit-ignores-hold", "::mlir::ModuleOp"> {
  let summary = "A step that must update nothing commits states";
  let description = [{
    Each state is always what is proposed for it. No verifier can see it; the comparison of a run that skips a step with one that does not
    have it must.
  }];
}

def EvaluationReadsProposal : Pass<"mutate-evaluation-reads-proposal", "::mlir::ModuleOp"> {
  let summary = "Evaluations read what the last step has proposed, not what it has committed";
  let description = "verify-tasks must refuse it, and verify-schedule too.";
}

// Of sharded gradients.

def PaddingNotZero : Pass<"mutate-padding-not-zero", "::mlir::ModuleOp"> {
  let summary = "The padding of a bucket's gradients is not zero";
  let description = [{
    At the end of one bucket it is the number of ranks. verify-tasks must refuse it, else the comparison of norms must fail.
  }];
}

// Of axes of the model.

def BiasInEachPart : Pass<"mutate-bias-in-each-part", "::mlir::ModuleOp"> {
  let summary = "A bias is added as often as there are parts of a sum";
  let description = [{
    Where a task adds a bias to a sum over ranks, each rank adds it to its part. No verifier can see it; the comparison of losses must.
  }];
}

def PartialGradientScaled : Pass<"mutate-partial-gradient-scaled", "::mlir::ModuleOp"> {
  let summary = "The gradient of an activation is a mean over ranks, and not their sum";
  let description = "The first all-reduce of a backward divides by its ranks. No verifier can see it; the comparison of norms must.";
}

def StatisticsOfOneRank : Pass<"mutate-statistics-of-one-rank", "::mlir::ModuleOp"> {
  let summary = "Each rank takes its own rows for those of the whole batch";
  let description = "The first all-reduce of a forward or backward is the rank's part times the number of ranks. No verifier can see it; the comparison of losses must.";
}

def RowsNotScattered : Pass<"mutate-rows-not-scattered", "::mlir::ModuleOp"> {
  let summary = "The gradient of gathered rows is not summed over the ranks that read them";
  let description = "The first reduce-scatter of a value is the first part of what the rank has. No verifier can see it; the comparison of gradients must.";
}

def ShareNotDivided : Pass<"mutate-share-not-divided", "::mlir::ModuleOp"> {
  let summary = "A gradient that all ranks have counts once for each of them";
  let description = "The first share of a backward, one over the parts of the batch, is gone. No verifier can see it; the comparison of gradients must.";
}

def RanksOutermost : Pass<"mutate-ranks-outermost", "::mlir::ModuleOp"> {
  let summary = "Each rank has consecutive rows of a batch, of which its microbatches have parts";
  let description = "The plan is no longer by microbatch: rows meet that are of different microbatches. No verifier can see it; the comparison of losses must.";
}

def LookUpAtZero : Pass<"mutate-look-up-at-zero", "::mlir::ModuleOp"> {
  let summary = "Each rank takes its rows of a table for those of the first one";
  let description = [{
    The first look-up in rows that axes cut reads 0 as the rank's coordinates. No verifier can see it; the comparison of losses must.
  }];
}

def LookUpNotMasked : Pass<"mutate-look-up-not-masked", "::mlir::ModuleOp"> {
  let summary = "An id whose row another rank has is looked up as the rank's first row";
  let description = [{
    The first look-up in rows that axes cut has no `tile`, but ids less the rank's first row. No verifier can see it; the comparison of losses
    must.
  }];
}

def ScatterAtZero : Pass<"mutate-scatter-at-zero", "::mlir::ModuleOp"> {
  let summary = "Each rank adds gradients to its rows of a table that are those of the first rank's rows";
  let description = [{
    The first `pp.embedding_grad` to rows that axes cut reads 0 as the rank's coordinates. No verifier can see it; the comparison of norms must.
  }];
}

def NormCountsCopies : Pass<"mutate-norm-counts-copies", "::mlir::ModuleOp"> {
  let summary = "The norm counts a parameter that is not cut once for each rank that has it";
  let description = [{
    The decide task adds up the entries of all positions on the axes that cut other parameters. No verifier can see it; the comparison of norms must.
  }];
}

def SentPartAtZero : Pass<"mutate-sent-part-at-zero", "::mlir::ModuleOp"> {
  let summary = "Each rank along an axis of the model sends the first part of a value";
  let description = [{
    The first `pp.own_part` that a task returns reads the last coordinate of the random key, which is 0 on meshes of fewer axes: the place that gathers the parts
    gets one several times. No verifier can see it; the comparison of losses must.
  }];
}

def ReceivedNotGathered : Pass<"mutate-received-not-gathered", "::mlir::ModuleOp"> {
  let summary = "Each rank along an axis of the model takes its part of what another place sends for all parts";
  let description = [{
    The first `pp.all_gather` of a value that its task takes, and its entry of the signature, are gone. No verifier can see it; the comparison of losses must.
  }];
}

// Of the program that predicts.

def OutputsExchanged : Pass<"mutate-outputs-exchanged", "::mlir::ModuleOp"> {
  let summary = "Two outputs are read from each other's place";
  let description = "The first two outputs of one task and one type. No verifier can see it; the comparison of predictions must.";
}

def RowsRotated : Pass<"mutate-rows-rotated", "::mlir::ModuleOp"> {
  let summary = "An output has its rows in another order";
  let description = "The first row of the first output comes after the last one. No verifier can see it; the comparison of predictions must.";
}

def OutputNotGathered : Pass<"mutate-output-not-gathered", "::mlir::ModuleOp"> {
  let summary = "Each rank along an axis of the model takes its part of a value for all parts";
  let description = [{
    The first `pp.all_gather` of a task that makes outputs, and its entry of the signature, are gone. No verifier can see it; the comparison
    of predictions must.
  }];
}

//===----------------------------------------------------------------------===//
// Phase scheduled
//===----------------------------------------------------------------------===//

def TiedNotSummed : Pass<"mutate-tied-not-summed", "::mlir::ModuleOp"> {
  let summary = "The last copy of a tied parameter is left out of the sum of its gradients";
  let description = [{
    The last place sums over its own ranks only, and the other places without it; every group has a channel of its own.
    verify-schedule must refuse it, else the comparison of gradients must fail.
  }];
}

def GradientNotSummed : Pass<"mutate-gradient-not-summed", "::mlir::ModuleOp"> {
  let summary = "The gradients of one bucket are not summed over ranks";
  let description = [{
    Each rank updates by its own rows, so that copies of a parameter differ. verify-schedule must refuse it, else --check-replicas and
    the comparison of gradients must fail.
  }];
}

def LocalClipNorm : Pass<"mutate-local-clip-norm", "::mlir::ModuleOp"> {
  let summary = "Gradients are clipped by the norm of what a rank has by itself";
  let description = [{
    The norm is not summed over places, and it is taken before gradients are summed. verify-schedule must refuse it, else the comparison
    of a clipped run must fail.
  }];
}

def DecideBeforeSum : Pass<"mutate-decide-before-sum", "::mlir::ModuleOp"> {
  let summary = "A place decides by the loss and the norm that it has by itself";
  let description = [{
    They are summed after the decision. verify-schedule must refuse it, else the comparison of a clipped run must fail.
  }];
}

def SlotTooEarly : Pass<"mutate-slot-too-early", "::mlir::ModuleOp"> {
  let summary = "A slot is written again before its value was read";
  let description = [{
    In each schedule that has several microbatches in flight, one saved value is put in the slot of an earlier microbatch whose value a
    later run reads. verify-schedule must refuse it, else the comparison of gradients must fail.
  }];
}

def OtherMicrobatch : Pass<"mutate-other-microbatch", "::mlir::ModuleOp"> {
  let summary = "A run reads the value of another microbatch";
  let description = [{
    In each schedule one run takes, as its first value, what an earlier run of its task has taken. verify-schedule must refuse it, else the
    comparison of gradients must fail.
  }];
}

def OtherParameter : Pass<"mutate-other-parameter", "::mlir::ModuleOp"> {
  let summary = "A task reads another parameter than its own";
  let description = [{
    In one task of each place, the two largest parameters of one type change places. The comparison of gradients must fail.
  }];
}

def OtherBucket : Pass<"mutate-other-bucket", "::mlir::ModuleOp"> {
  let summary = "A task adds a gradient to another bucket";
  let description = [{
    In one task of each place, a gradient is added to that of another parameter, in another bucket that has room. The comparison of gradients must fail.
  }];
}

def SkipUpdate : Pass<"mutate-skip-update", "::mlir::ModuleOp"> {
  let summary = "Place 0 does not update its parameters";
  let description = "verify-schedule must refuse it, else the comparison of parameters must fail.";
}

def OpenLeftOut : Pass<"mutate-open-left-out", "::mlir::ModuleOp"> {
  let summary = "Proposals for states begin with what the step before has left";
  let description = "verify-schedule must refuse it, else the comparison of states must fail.";
}

// Of sharded states (--zero).

def NormBeforeWait : Pass<"mutate-norm-before-wait", "::mlir::ModuleOp"> {
  let summary = "The norm is taken while a bucket is being summed";
  let description = [{
    The last wait of each place's first bucket comes after the norm. verify-schedule must refuse it, else the fake device must report a race.
  }];
}

def NormOverReplicas : Pass<"mutate-norm-over-replicas", "::mlir::ModuleOp"> {
  let summary = "The norm counts the chunks of shards once for each rank that has them";
  let description = [{
    It is summed over the axes of replicas too. verify-schedule must refuse it, else the comparison of a clipped run must fail.
  }];
}

def SumBeforeLastAddition : Pass<"mutate-sum-before-last-addition", "::mlir::ModuleOp"> {
  let summary = "Gradients are summed over ranks before the last microbatch has added to them";
  let description = [{
    All levels of the sum of each place's first bucket come before the last run that adds to it. verify-schedule must refuse it, else the
    comparison of parameters must fail.
  }];
}

def ReadBeforeGather : Pass<"mutate-read-before-gather", "::mlir::ModuleOp"> {
  let summary = "The first reader of parameters does not wait for their gather";
  let description = [{
    Each wait for a gather of the step before comes after its reader. verify-schedule must refuse it, else the fake device must report a race.
  }];
}

def GatherLeftOut : Pass<"mutate-gather-left-out", "::mlir::ModuleOp"> {
  let summary = "The updated parameters of one bucket are not gathered";
  let description = [{
    Each rank has those of its own chunk only. verify-schedule must refuse it, else --check-replicas and the comparison of losses must fail.
  }];
}

def GatherNotOnPlace : Pass<"mutate-gather-not-on-place", "::mlir::ModuleOp"> {
  let summary = "One place takes no part in the gather of a tied parameter";
  let description = [{
    The last of the places that gather together. verify-schedule must refuse it, else the run must not end: the other places wait for it.
  }];
}

def GatherBeforeUpdate : Pass<"mutate-gather-before-update", "::mlir::ModuleOp"> {
  let summary = "Parameters are gathered before they are updated";
  let description = [{
    Each gather between steps starts before its bucket's update. verify-schedule must refuse it, else a run on the fake device, where a start
    copies what it sends, must log other losses.
  }];
}

//===----------------------------------------------------------------------===//
// Phase kernels
//===----------------------------------------------------------------------===//

def DropBlock : Pass<"mutate-drop-block", "::mlir::ModuleOp"> {
  let summary = "A sum over blocks of rows is that of the first block";
  let description = [{
    Of the matmuls of a task that add to one buffer only the first is left. verify-kernels can't see it, since a sum of fewer
    parts is a sum; the comparison of gradients must.
  }];
}

def TemporaryTooEarly : Pass<"mutate-temporary-too-early", "::mlir::ModuleOp"> {
  let summary = "The result of a matmul has the memory of an operand";
  let description = [{
    In each task one matmul, whose result is a temporary and whose operand a temporary or a saved value. verify-kernels must refuse
    it, else the comparison must fail.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

// Of collectives inside tasks.

def AddOwnSlice : Pass<"mutate-add-own-slice", "::mlir::ModuleOp"> {
  let summary = "A rank adds gradients of its own, not the sum over ranks";
  let description = [{
    The first reduce-scatter of a task is the first chunk of what the rank has by itself, and the signature follows. verify-kernels must
    refuse it, else the comparison of gradients must fail.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def SumNotAdded : Pass<"mutate-sum-not-added", "::mlir::ModuleOp"> {
  let summary = "The gradients of all microbatches but the last are lost";
  let description = [{
    What the ranks have summed takes the place of what earlier microbatches have added. verify-kernels must refuse it, else the comparison
    of gradients must fail.
  }];
}

def ReadBeforeFinish : Pass<"mutate-read-before-finish", "::mlir::ModuleOp"> {
  let summary = "A task reads parameters before it has waited for their gather";
  let description = [{
    Each `pp.finish` of a gather comes after the first reader. verify-kernels must refuse it, else a run with --poison must log other losses, and
    the fake device must report a race.
  }];
}

def ReleaseBeforeLastReader : Pass<"mutate-release-before-last-reader", "::mlir::ModuleOp"> {
  let summary = "Gathered parameters are released before they are read for the last time";
  let description = "verify-kernels must refuse it, else a run with --poison must log other losses.";
}

def GatherOverGathered : Pass<"mutate-gather-over-gathered", "::mlir::ModuleOp"> {
  let summary = "A gather has the memory of another one that is still read";
  let description = "In each task at most one. verify-kernels must refuse it, else a run with --poison must log other losses.";
}

def CollectiveLeftOut : Pass<"mutate-collective-left-out", "::mlir::ModuleOp"> {
  let summary = "A task makes a collective less than its signature lists";
  let description = "The last one of the last task. verify-kernels must refuse it, else the run must end with an error that names it.";
}

def CollectiveUnsigned : Pass<"mutate-collective-unsigned", "::mlir::ModuleOp"> {
  let summary = "A task makes a collective more than its signature lists";
  let description = "verify-kernels must refuse it, else the run must end with an error that names it.";
}

def BeginsSwapped : Pass<"mutate-begins-swapped", "::mlir::ModuleOp"> {
  let summary = "A task starts its collectives in another order than its signature's";
  let description = [{
    The first two have each other's number. verify-kernels must refuse it, else the run must end with an error that names them.
  }];
}

def GathersSwapped : Pass<"mutate-gathers-swapped", "::mlir::ModuleOp"> {
  let summary = "A task gathers the chunk of another bucket";
  let description = [{
    Two gathers of one size in each task read each other's chunk. verify-kernels must refuse it, else a run must log other losses.
  }];
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

def TestPrintAddresses : Pass<"test-print-addresses", "::mlir::ModuleOp"> {
  let summary = "Says where the state lies that runs bind";
  let description = [{
    Each run gets an attribute `test.addresses`: those of its task's operands that are no values.
  }];
}

def TestPrintJson : Pass<"test-print-json", "::mlir::ModuleOp"> {
  let summary = "Prints the entry and the plan as one line of JSON";
  let description = [{
    For `test/shardings`. To standard output, beside what the tool prints there: `opt -o /dev/null` leaves the JSON alone. In the
    phases that have an entry, which are those before `partitioned`, and in between their passes. Values are numbered. Attributes are numbers,
    strings, lists and dictionaries; dense elements are `{"splat": 0.5}` or `{"values": [...]}`.
  }];
}

#endif // PPOPT_TEST_LIB_PASSES
