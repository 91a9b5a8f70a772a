//===- Passes.td - Passes that cut tensors over axes ----- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_SHARDING_PASSES
#define PPOPT_TRANSFORMS_SHARDING_PASSES

include "mlir/Pass/PassBase.td"

def ResizeBatch : Pass<"pp-resize-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the entry another batch size";
  let description = [{
    Implements `--batch`, which overrides the model's batch size, and the parts of a batch that trainers have (`--sync`). The batch is propagated as by
    `pp-propagate-shardings`, on the model before anything is decomposed. Sums over the batch are complete,
    and rows may mix.

    ```mlir
    func.func @main(%x: tensor<8x2xf32> {pp.input = "x"}) -> tensor<f32>     // before
    func.func @main(%x: tensor<16x2xf32> {pp.input = "x"}) -> tensor<f32>    // after, batch=16
    ```
  }];
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"0", "rows of the global batch; 0 keeps the model's">,
                 Option<"parts", "parts", "int64_t", /*default=*/"1", "the entry gets this part of the rows">];
}

def LowerMicrobatches : Pass<"pp-lower-microbatches", "::mlir::ModuleOp"> {
  let summary = "Gives the ops of a pp.per_microbatch the rows of one microbatch";
  let description = [{
    Between them and the rest of the model stand `pp.enter_microbatch` and `pp.leave_microbatch`.
    What has no rows and leaves is divided by the number of microbatches: their mean. If the plan is
    not by microbatch, since it has one, the ops are left as they are.

    ```mlir
    %0 = pp.matmul %a, %b {pp.in_microbatch, transpose_rhs}                        // before, 8 rows
    %y = pp.leave_microbatch %0 {microbatches = 1 : i64}

    %a2 = pp.enter_microbatch %a {dim = 0 : i64, microbatches = 2 : i64}           // after, 4 rows
    ```
  }];
}

def AnnotateShardings : Pass<"pp-annotate-shardings", "::mlir::ModuleOp"> {
  let summary = "Annotates parameters and inputs as --shard says";
  let description = [{
    Implements `--shard 'GLOB=SHARDING; …'`: sets `shard` of each parameter, and `pp.shard` of each input, whose name a glob matches, in place of what
    the model's author wrote there. A sharding is spelled as in `#pp.sharding<…>`. It is an error if a glob matches nothing, if two match one name
    with different shardings, if a sharding names an axis that no mesh can have, or if an axis of the model is left with nothing to cut.

    ```mlir
    %w = pp.param "h.0.mlp.fc.weight" : tensor<64x256xf32>                                        // before

    %w = pp.param "h.0.mlp.fc.weight" {shard = #pp.sharding<[{}, {tp} ]>} : tensor<64x256xf32>    // after, with '*.fc.weight=[{}, {tp} ]'
    ```
  }];
  let options = [Option<"annotations", "annotations", "std::string", /*default=*/"", "GLOB=SHARDING, separated by semicolons">];
}

def ChooseEvaluation : Pass<"pp-choose-evaluation", "::mlir::ModuleOp"> {
  let summary = "Decides whether an evaluation is over rows or over whole batches";
  let description = [{
    An evaluation is one batch of all its rows, whichever batch they are computed in. This needs rows that can be computed apart, which is tried as by
    `pp-propagate-shardings` with single rows. Otherwise the plan gets the reason (`mixes_rows`), and evaluations are means over whole batches. Changes the
    plan alone.

    ```mlir
    pp.plan {mesh = [], batch = 8 : i64, ...}                     // before
    pp.plan {mesh = [], batch = 8 : i64, evaluates_rows, ...}     // after
    ```
  }];
}

def ExtendEvaluation : Pass<"pp-extend-evaluation", "::mlir::ModuleOp"> {
  let summary = "Lets the forward evaluate a part of many rows; decomposes means";
  let description = [{
    With the plan's `evaluates_rows`: where the forward sums over rows, those that do not count are masked (the last batch may be partial), and a mean over rows
    becomes a share of the mean over all rows of the evaluation. Then every mean is a sum times a constant: shapes are still global.

    ```mlir
    %l = pp.reduce mean %x [0] : tensor<8xf32>                                                  // before

    %m = pp.mask_rows %x {dim = 0 : i64, period = 8 : i64, rows = 8 : i64} : tensor<8xf32>      // after
    %s = pp.reduce sum %m [0] : tensor<8xf32>
    %p = pp.mul %s, %eighth : tensor<f32>, tensor<f32>
    %l = pp.evaluation_share %p {rows = 8 : i64} : tensor<f32>
    ```
  }];
}

def DecomposeSharded : Pass<"pp-decompose-sharded", "::mlir::ModuleOp"> {
  let summary = "Decomposes composites along whose rows ranks are cut";
  let description = [{
    Softmax and cross entropy over cut classes become a maximum, a sum of exponentials and a pick, each of which can be cut. So do those along rows of
    the batch that meet.

    ```mlir
    %y = pp.softmax %x : tensor<4x8xf32>                  // before: the second dimension of %x is cut over tp
    %m = pp.reduce max %x [1] {keep_dims} : tensor<4x8xf32>     // after, and so on
    ```
  }];
}

def PropagateShardings : Pass<"pp-propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "Finds how each value is cut over the axes of the mesh and the microbatches";
  let description = [{
    Annotates, and changes nothing else: [sharding.md](../sharding.md) lists the attributes. Seeds are the rows of the inputs, cut over
    the batch axes, and what the author wrote on parameters and inputs. In program order each op cuts the loops that its operands are cut along. An open
    parameter takes the first cut that a reader demands; on a conflict the choice with the fewest bytes is taken, and an annotated
    parameter is never gathered.

    A partial sum over the batch may pass through ops that are linear in it. A whole value that meets one in a sum counts once: it is
    read divided by the number of parts. A sum over the batch that depends on inputs alone is read complete where that is needed. If anything else
    would need a collective over the batch inside a step, rows meet: batch axes are then propagated as axes of the model are. Over microbatches
    that is an error that names the op.

    ```mlir
    %h = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>      // before
    // after: dp=2, 2 microbatches
    %h = pp.matmul %x, %w {pp.loops = #pp.sharding<[{dp, mb}, {}, {} ]>, pp.shardings = [#pp.sharding<[{dp, mb}, {} ]>]} : tensor<8x2xf32>, tensor<2x3xf32>
    ```
  }];
}

def CutTransfers : Pass<"pp-cut-transfers", "::mlir::ModuleOp"> {
  let summary = "Decides which transfers between places are sent in parts";
  let description = [{
    Implements `--cut-transfers`. A value over which ranks along axes of the model agree is sent once, a part from each of them, and gathered
    on the place that reads it, where that takes less time than sending it whole: over the links between the places, and
    those of the axes. The gradient that comes back is cut as the value. The first dimension is cut that the sizes of the axes divide; without
    one the value stays whole, which is an error with `always`. Annotates copies, and changes nothing else.

    ```mlir
    %c = pp.copy %h from 0 to 1 {id = 0 : i64, pp.shardings = [#pp.sharding<[{}, {} ]>]} : tensor<8x4xf32>      // before
    // after
    %c = pp.copy %h from 0 to 1 {id = 0 : i64, pp.loops = #pp.sharding<[{tp}, {} ]>, pp.reads = [#pp.sharding<[{tp}, {} ]>],
                                 pp.shardings = [#pp.sharding<[{tp}, {} ]>]} : tensor<8x4xf32>
    ```
  }];
  let options = [Option<"choice", "choice", "::mlir::pp::TransferCuts", /*default=*/"::mlir::pp::TransferCuts::Auto", "which are cut",
                        [{::llvm::cl::values(clEnumValN(::mlir::pp::TransferCuts::Auto, "auto", "those that are faster so"),
                                             clEnumValN(::mlir::pp::TransferCuts::Always, "always", "all that can be"),
                                             clEnumValN(::mlir::pp::TransferCuts::Never, "never", "none"))}]>];
}

def VerifyShardings : Pass<"pp-verify-shardings", "::mlir::ModuleOp"> {
  let summary = "Checks the shardings against the ops' iteration spaces";
  let description = [{
    What an op reads and what its results are follow from the cuts of its loops; no loop is cut whose iterations depend on one another; partial sums
    pass through linear ops alone; a gradient is cut as its parameter is.
  }];
  let options = [Option<"resharded", "resharded", "bool", /*default=*/"false", "operands are as they are read: after pp-insert-reshards">];
}

def InsertReshards : Pass<"pp-insert-reshards", "::mlir::ModuleOp"> {
  let summary = "Puts a pp.reshard wherever an operand is not as its op reads it";
  let description = [{
    A reshard that sends anything is right after the value, one for all readers of a region that want the same sharding; any other is before each reader.
    What a copy sends in another way than its stage makes it is resharded in the stage's region, which yields both.
    `bytes` is what a rank sends.

    ```mlir
    %n = pp.tanh %h {pp.reads = [#pp.sharding<[{dp}, {} ]>], ...} : tensor<8x4xf32>    // before: %h is a partial sum over tp
    // after
    %r = pp.reshard %h from #pp.sharding<[{dp}, {} ], sum = {tp}> to #pp.sharding<[{dp}, {} ]> of [8, 4] {bytes = 64 : i64} : tensor<8x4xf32> to tensor<8x4xf32>
    %n = pp.tanh %r : tensor<8x4xf32>
    ```
  }];
}

def LowerReshards : Pass<"pp-lower-reshards", "::mlir::ModuleOp"> {
  let summary = "Replaces the reshards over batch axes";
  let description = [{
    A sum of inputs that is read complete becomes a `pp.batch_sum`. A whole value that is read cut is computed again for a part of the
    rows. A whole value that is read as a partial sum is divided by the number of parts. Each count of targets is completed, whoever reads it: a batch without
    targets is skipped. Reshards over other axes, and those of rows that meet, stay (`pp-lower-model-reshards`).

    ```mlir
    %c = pp.reshard %n from #pp.sharding<[], sum = {dp, mb}> to #pp.sharding<[]> of [] : tensor<f32> to tensor<f32>  // before
    %c = pp.batch_sum %n {count} : tensor<f32>                                                                        // after
    ```
  }];
}

def LocalizeShapes : Pass<"pp-localize-shapes", "::mlir::ModuleOp"> {
  let summary = "Gives values the shapes that one coordinate has";
  let description = [{
    Ops that depend on the global index get the position of their tile and the random key; offsets become local. The model's inputs are declared
    with their global shapes.

    ```mlir
    %h = pp.matmul %x, %w : tensor<8x2xf32>, tensor<2x3xf32>      // before
    %h = pp.matmul %x, %w : tensor<2x2xf32>, tensor<2x3xf32>      // after: dp=2, 2 microbatches
    ```
  }];
}

def LowerModelReshards : Pass<"pp-lower-model-reshards", "::mlir::ModuleOp"> {
  let summary = "Replaces the reshards that are left by collectives";
  let description = [{
    After `pp-localize-shapes`. A reshard becomes steps over one axis each, among views: an all-reduce, a reduce-scatter, an all-gather, an all-to-all, or
    the rank's own part of a whole value. Collectives are of flat chunks, named for the op that makes the value. If the plan's `resharded` is f32, bf16
    values are summed in f32. A whole value that is read as a partial sum is divided by the number of ranks. It is an error if no steps lead to the result, if one of them makes a value larger than before and after, or if
    a value is gathered because the size of an axis does not divide the reader's loops; the error names sizes that do.

    ```mlir
    %y = pp.reshard %x from <[{}, {} ], sum = {tp}> to <[{}, {} ]> of [8, 4] {bytes = 128 : i64} : tensor<8x4xf32> to tensor<8x4xf32>   // before
    %y = pp.all_reduce %x over <["tp"]> "pp.matmul at m.mlir:7:8" : tensor<8x4xf32> to tensor<8x4xf32>                                // after
    ```
  }];
}

#endif // PPOPT_TRANSFORMS_SHARDING_PASSES
