//===- Passes.td - Passes from phase model to phase scheduled -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PASSES
#define PPOPT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// model -> placed
//===----------------------------------------------------------------------===//

def VerifyModel : Pass<"pp-verify-model", "::mlir::ModuleOp"> {
  let summary = "Checks that the module is a model";
  let description = [{
    Holds afterwards, or an error says what to change: there is one entry, the function that no other calls; parameters are in it only,
    with unique names; its arguments are inputs with unique names and one first dimension, the batch; its result is the loss, one
    float; no function calls itself; all ops are of `pp` or `func`; no tensor is empty.
  }];
  let options = [Option<"entry", "entry", "std::string", /*default=*/"\"\"", "the entry's name, where several functions are not called">];
}

def InlineCalls : Pass<"pp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inlines the functions that the entry calls";
  let description = [{
    Afterwards the entry is the only function. A location keeps the chain of calls. Each `pp.dropout` gets a
    `stream`: a hash of its call path, so that two calls of one layer draw differently and every plan draws the same. What a call
    returned is marked by `pp.checkpoint`: functions are layers.

    ```mlir
    %y = call @layer(%x, %w)       // before
    %0 = pp.matmul %x, %w          // after
    %y = pp.checkpoint %0
    ```
  }];
}

def InsertPlan : Pass<"pp-insert-plan", "::mlir::ModuleOp"> {
  let summary = "Writes the plan's options into the module as a pp.plan";
  let description = "The batch is the model's. `pp.checkpoint` stays only where the plan's `recompute` is layer, and is folded into its operand elsewhere.";
  let options = [
    Option<"mesh", "mesh", "std::string", /*default=*/"\"dp=1\"", "axes, major to minor: dp=2">,
    Option<"microbatches", "microbatches", "int64_t", /*default=*/"1", "microbatches of a step">,
    Option<"schedule", "schedule", "std::string", /*default=*/"\"1f1b\"", "the schedule's name">,
    Option<"table", "table", "std::string", /*default=*/"\"\"", "the schedule itself, as CSV, where its name is table">,
    ListOption<"stagePlaces", "stage-places", "int64_t", "the place of each piece of the model; none: one piece a place">,
    Option<"launch", "launch", "std::string", /*default=*/"\"ranks\"", "ranks or local">,
    Option<"tied", "tied", "std::string", /*default=*/"\"sum\"", "sum or owner">,
    Option<"recompute", "recompute", "std::string", /*default=*/"\"cheap\"", "none, cheap or layer">,
    Option<"precision", "precision", "std::string", /*default=*/"\"model\"", "model or bf16">,
    Option<"deviceMemory", "device-memory", "int64_t", /*default=*/"0", "bytes that a rank has; 0: no limit">,
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"adamw\"", "sgd, adam or adamw">,
    Option<"nesterov", "nesterov", "bool", /*default=*/"false", "Nesterov momentum, with sgd">,
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "cpu">,
    Option<"threads", "threads", "int64_t", /*default=*/"1", "threads of a rank">,
    Option<"cpu", "cpu", "std::string", /*default=*/"\"x86-64-v3\"", "the CPU, as LLVM names it">,
    Option<"features", "features", "std::string", /*default=*/"\"\"", "its features, as LLVM spells them">,
    Option<"plant", "plant", "std::string", /*default=*/"\"\"", "test only: a bug to plant">];
}

def DecomposeModel : Pass<"pp-decompose-model", "::mlir::ModuleOp"> {
  let summary = "Replaces compositions that have no gradient of their own";
  let description = [{
    Runs while shapes are global: the count of a mean is that of the global batch. Afterwards every op is
    differentiable, or carries no gradient.

    ```mlir
    %l = pp.mse %x, %y : tensor<8x4xf32>, tensor<8x4xf32>      // before
    %0 = pp.sub %x, %y : tensor<8x4xf32>, tensor<8x4xf32>      // after
    %1 = pp.mul %0, %0 : tensor<8x4xf32>, tensor<8x4xf32>
    %2 = pp.reduce sum %1 [0, 1] : tensor<8x4xf32>
    %c = pp.constant dense<3.125000e-02> : tensor<f32>
    %l = pp.mul %2, %c : tensor<f32>, tensor<f32>
    ```
  }];
}

def MixPrecision : Pass<"pp-mix-precision", "::mlir::ModuleOp"> {
  let summary = "With the plan's precision bf16: matrix products and attention take bf16, all else stays f32";
  let description = [{
    Inserts casts in front of and behind the ops that do FLOPs of matrix products, themselves or by what they decompose into. What such an op gives is bf16, and so
    is a value that only such ops read, directly or through element ops: those are written, saved and read in bf16. An element op all of whose
    operands are bf16 is a bf16 op; any other op computes in f32, from bf16 operands cast up. Parameters stay f32, the masters: each use
    that wants bf16 casts. Runs before places are chosen, so that every plan rounds the same values, and before differentiation, so that gradients
    have the types of their values: the adjoint of a cast is the cast back. A model that computes in f64 is refused; with another precision nothing changes.

    ```mlir
    %m = pp.matmul %x, %w : tensor<4x8xf32>, tensor<8x8xf32>                 // before
    %u = pp.add %m, %b : tensor<4x8xf32>, tensor<8xf32>
    %g = pp.gelu %u : tensor<4x8xf32>
    %y = pp.matmul %g, %v : tensor<4x8xf32>, tensor<8x8xf32>

    %m = pp.matmul %xn, %wn : tensor<4x8xbf16>, tensor<8x8xbf16>             // after
    %0 = pp.cast %m : tensor<4x8xbf16> to tensor<4x8xf32>
    %1 = pp.add %0, %b : tensor<4x8xf32>, tensor<8xf32>
    %u = pp.cast %1 : tensor<4x8xf32> to tensor<4x8xbf16>
    %g = pp.gelu %u : tensor<4x8xbf16>
    %y = pp.matmul %g, %vn : tensor<4x8xbf16>, tensor<8x8xbf16>
    ```
  }];
}

def PlaceOps : Pass<"pp-place-ops", "::mlir::ModuleOp"> {
  let summary = "Puts every op of the entry into a stage on a place";
  let description = [{
    Ops that `pp.on` marks run on that place; an unmarked op follows the latest of its operands, else its first user. Where nothing is
    marked, the ops are cut by cost into the plan's pieces. Of the ops of a place (or a piece) as few stages are formed as leave no cycle.
    On each edge that crosses places stands a `pp.copy`, one for each value and destination. Parameters stand outside, once for
    each place that uses them; what follows cheaply from inputs and constants stands in every stage that reads it. In a mesh without an axis
    `pp` all ops are on place 0, whatever the marks say.

    ```mlir
    %h = pp.on 0 -> tensor<8x4xf32> { ... }                              // before
    %l = pp.on 1 -> tensor<f32> { ... %h ... }

    %h = pp.place 0 stage 0 -> tensor<8x4xf32> { ... }                   // after
    %c = pp.copy %h from 0 to 1 {id = 0 : i64} : tensor<8x4xf32>
    %l = pp.place 1 stage 1 -> tensor<f32> { ... %c ... }
    ```
  }];
}

def ResizeBatch : Pass<"pp-resize-batch", "::mlir::ModuleOp"> {
  let summary = "Gives the entry another batch size";
  let description = "`--batch` overrides the model's: the same propagation as that of `pp-split-batch`, on the model before anything is decomposed.";
  let options = [Option<"batch", "batch", "int64_t", /*default=*/"0", "rows of the global batch; 0 keeps the model's">];
}

//===----------------------------------------------------------------------===//
// placed -> train
//===----------------------------------------------------------------------===//

def Autodiff : Pass<"pp-autodiff", "::mlir::ModuleOp"> {
  let summary = "Adds the backward ops and the updates of the parameters that learn";
  let description = [{
    Reverse mode, from the loss up to the parameters and the detaches; what needs no gradient gets none. Consumes every
    `pp.detach`. Runs once. The gradient of a parameter is added by a `pp.add_grad` in the backward region that computes it. A trained
    parameter that can receive no gradient is warned about with the reason and has none.

    ```mlir
    %l, %h = pp.place 0 stage 0 -> ... { ... }       // yields what the backward reads
    pp.place 0 stage 0 backward {
      ...
      pp.add_grad %w, %dw : tensor<4x4xf32>
    }
    ```
  }];
}

def SinkLoss : Pass<"pp-sink-loss", "::mlir::ModuleOp"> {
  let summary = "Moves the last product and what follows it, up to the loss, into the backward";
  let description = [{
    Of the stage that makes the loss: a product (two operands are summed over a loop of both) behind which stands no other, and the ops behind
    it, if they reach nothing but the loss and the backward of their stage. Training computes them where their gradient is computed, so
    that they are no values between tasks; evaluation in a region of its own. The entry then returns the loss of evaluation, and that of training.
    Where nothing learns, it changes nothing.

    ```mlir
    %f:2 = pp.place 0 stage 0 { %z = pp.matmul %h, %w ... pp.yield %loss, %z }   // before
    %b = pp.place 0 stage 0 backward { ... %f#1 ... }
    return %f#0

    %f = pp.place 0 stage 0 { ... pp.yield %h }                                  // after
    %e = pp.place 0 stage 0 evaluation { %z = pp.matmul %f, %w ... pp.yield %loss }
    %b:2 = pp.place 0 stage 0 backward { %z = pp.matmul %f, %w ... }
    return %e, %b#1
    ```
  }];
}

//===----------------------------------------------------------------------===//
// placed, of a program that generates
//===----------------------------------------------------------------------===//

def MakeGenerator : Pass<"pp-make-generator", "::mlir::ModuleOp"> {
  let summary = "Turns the entry into one that computes the logits behind one token";
  let description = [{
    Before: the entry of the model on global shapes, calls inlined and compositions of the model replaced. After: an entry for one token, which is
    given, at a position, which is given: a batch of one row, a sequence of one position. It returns the scores of the classes that the
    loss holds against the next tokens, and the caches with the position added.

    The scores are the operand of the one op that scores classes (an interface) against an input that is the token input, one token later. From
    the token input [rows, tokens] two axes are propagated through the iteration spaces, the rows and then the positions, as `pp-split-batch` propagates
    the batch; both become 1. An op may run over a position in parallel. A whole value with a dimension that runs over the positions is computed at
    the position (an iota), or read there (a parameter). An op that mixes positions is asked by an interface whether it can go position by
    position, and which caches it needs. All else is refused, naming the op. Whatever the logits do not need is gone; parameters stay.

    ```mlir
    // before: tokens and targets of 2 rows of 8
    func.func @main(%tokens: tensor<2x8xi32> {pp.input = "tokens"}, %targets: tensor<2x8xi32> {pp.input = "targets", pp.shift = 1 : i64}) -> tensor<f32> {
      %wte = pp.param "wte" ... : tensor<16x4xf32>
      %wpe = pp.param "wpe" ... : tensor<8x4xf32>
      %e = pp.embedding %wte, %tokens : tensor<16x4xf32>, tensor<2x8xi32>
      %x = pp.add %e, %wpe : tensor<2x8x4xf32>, tensor<8x4xf32>
      ... %a, %lse = pp.attention %q, %k, %v {causal} ...
      %z = pp.matmul %y, %wte {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32>
      %l = pp.token_loss %z, %targets ...
    // after
    func.func @main(%token: tensor<1x1xi32> {pp.range = 16 : i64, pp.role = #pp.role<input, "token">},
                    %position: tensor<1xi64> {pp.range = 8 : i64, pp.role = #pp.role<input, "position">},
                    %keys: tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache0">}, ...)
        -> (tensor<16xf32> {pp.role = #pp.role<logits, "logits">}, tensor<1x2x8x2xf32> {pp.role = #pp.role<cache, "cache0">}, ...) {
      %e = pp.embedding %wte, %token : tensor<16x4xf32>, tensor<1x1xi32>
      %p = pp.embedding %wpe, %position : tensor<8x4xf32>, tensor<1xi64>
      %x = pp.add %e, %p : tensor<1x1x4xf32>, tensor<1x4xf32>
      ... %a, %keys_after, %values_after = pp.attention_step %q, %k, %v cache %keys, %values at %position ...
    ```
  }];
}

def FormGenerator : Pass<"pp-form-generator", "::mlir::ModuleOp"> {
  let summary = "Makes a task of the entry of a program that generates, and the schedule that runs it";
  let description = [{
    Before: what `pp-make-generator` leaves. After, as in phase `scheduled`: declarations of inputs and parameters, one forward task `@generate` with
    the entry's body, and an evaluation schedule that runs it once. There is nothing to train, and no schedule for it.
  }];
}

//===----------------------------------------------------------------------===//
// train -> partitioned
//===----------------------------------------------------------------------===//

def SplitBatch : Pass<"pp-split-batch", "::mlir::ModuleOp"> {
  let summary = "Proves that the batch can be split, and gives the entry the shapes of one microbatch on one rank";
  let description = [{
    Propagates one sharded axis, the batch, from the inputs' first dimension through the iteration spaces. A value is then split
    along one dimension, whole on every tile, or partial: a sum over the batch of which each tile has its part. A partial value
    may pass through ops that are linear in it. A value that is whole and meets a partial one in a sum counts once: it is divided by
    the number of tiles. Sums over the batch that depend on inputs alone and are used otherwise become results of the prologue. All else is
    refused, naming the op.
  }];
}

def ReadThroughViews : Pass<"pp-read-through-views", "::mlir::ModuleOp"> {
  let summary = "Lets backwards read what attention computes as the forward goes on with it";
  let description = [{
    Where a backward region reads what attention computes, and the forward goes on with that value under views alone (heads merged into rows), the
    backward reads the value under these views, and undoes them. `pp-split-tasks` then saves it once, as it lies in memory anyway.

    ```mlir
    %f:2 = pp.place 0 stage 0 { %a, %s = pp.attention ... pp.yield %y, %a }       // before
    pp.place 0 stage 0 backward { ... %f#1 ... }

    %f:3 = pp.place 0 stage 0 { %a, %s = pp.attention ... %t = pp.transpose %a [0, 2, 1, 3] ... pp.yield %y, %a, %t }   // after
    pp.place 0 stage 0 backward { %u = pp.transpose %f#2 [0, 2, 1, 3] ... %u ... }
    ```
  }];
}

def SplitTasks : Pass<"pp-split-tasks", "::mlir::ModuleOp"> {
  let summary = "Cuts the entry into isolated tasks";
  let description = [{
    Per stage: prologue (what must be known over the whole batch before the first forward), forward, backward. What the backward reads of
    the forward is a saved value, or computed again right before its first use. The plan's `recompute` says what is: none (views and constants only), cheap (what follows
    from saved values, parameters or inputs at no more than an elementwise cost) or layer (all but what `pp.checkpoint` marks and what the stage is given). Each `pp.add_grad`
    becomes an accumulation, in place over microbatches. No `pp.checkpoint` is left.
  }];
}

def FormBuckets : Pass<"pp-form-buckets", "::mlir::ModuleOp"> {
  let summary = "Orders parameters into buckets and adds the norm and update tasks";
  let description = [{
    Parameters that learn are ordered by when their gradient is ready, in buckets of one type, one treatment by weight decay and one set of
    places that hold them; each bucket's range is padded so that dp divides it. The update is one elementwise task for each bucket and place, on
    flat ranges. The norm task of a place sums the squares of what it owns: of each bucket that it is the first place of. Where the plan's `tied` is owner, that
    place alone updates a bucket that several hold; to each other go transfers of the step, and a `collect` task adds the gradients that come back.
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"26214400", "a bucket is closed when it reaches so many bytes">];
}

def VerifyTasks : Pass<"pp-verify-tasks", "::mlir::ModuleOp"> {
  let summary = "Checks that every task takes what its place can supply";
  let description = [{
    A saved value is made by one task, and taken by tasks of the same place; a received one comes by a transfer to the place; parameters, gradients
    and ranges are of what the place holds; a count is computed by one prologue; all tasks of a stage are on one place; types agree. A
    transfer sends a saved value of its place; it requires a gradient exactly where some transfer is its gradient, of the same type, the way back.
    A transfer of the step is between a bucket's owner and a place that borrows it, and what comes back is added by a task. Changes nothing.
  }];
}

//===----------------------------------------------------------------------===//
// partitioned -> scheduled
//===----------------------------------------------------------------------===//

def Schedule : Pass<"pp-schedule", "::mlir::ModuleOp"> {
  let summary = "Orders the tasks' runs of every place";
  let description = [{
    With one stage every schedule is: prologues, then forward and backward of each microbatch in turn, norm, updates. Where the plan's launch is local,
    this is left to `pp-schedule-local`.
  }];
}

def ScheduleLocal : Pass<"pp-schedule-local", "::mlir::ModuleOp"> {
  let summary = "Orders the tasks' runs of all places in one list";
  let description = [{
    Where the plan's launch is local; elsewhere it does nothing. The order is that of the program: prologues; each microbatch forward through the stages
    and, in training, back; norm, updates. Behind each run what it makes is copied to the places that read it. The plan's schedule decides where the
    stages are and whether backwards are split, not the order. Slots are not assigned yet (-1).

    ```mlir
    pp.schedule local attributes {slot_places = array<i64>, slots = array<i64>} {
      pp.run @s0_F microbatch 0 {}
      pp.copy_value @x0 microbatch 0 from slot -1 to slot -1
      pp.run @s1_F microbatch 0 {}
    ```
  }];
}

def InsertTransfers : Pass<"pp-insert-transfers", "::mlir::ModuleOp"> {
  let summary = "Starts and waits for the transfers between places";
  let description = [{
    A send starts behind the run that makes the value, a receive one run ahead of the first that reads it (earlier, where the order of its queue asks for
    it) and is waited for before that one. A send is waited for before the first run of its place that starts, in the simulated schedule, behind the
    start of the receive. In that order of all actions every wait stands behind the starts that it needs, so that nothing can deadlock. Transfers of the step: parameters
    start behind the check of the counts, gradients behind the place's last run of a stage. Slots are not assigned yet (-1).

    ```mlir
    pp.run @s0_F microbatch 0 {}
    pp.send 0 @x0 microbatch 0 slot -1
    ```
  }];
}

def InsertCollectives : Pass<"pp-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Starts and waits for the all-reduces of gradients, loss, counts and norm";
  let description = [{
    Summed are: a bucket's gradients over dp and the places that hold it, counts and loss over all ranks, the squares of the
    gradients over pp; nothing where the group is one rank. A sum starts behind the last run of the place that adds to it (where none does,
    behind the check of the counts) and is waited for before its first reader: gradients and, in training, the loss before the norm, which
    decides whether parameters are updated, counts before their check. Each group has a channel of its own; 0 is that of transfers. A channel of one place is in the order in which its sums become complete; on
    one of several places all start them in one order: counts, loss, buckets by number, norm. In a local schedule a sum is one action, a
    `pp.sum_places` before its first reader.
  }];
}

def AssignSlots : Pass<"pp-assign-slots", "::mlir::ModuleOp"> {
  let summary = "Colours the lifetimes of saved and received values into slots";
  let description = [{
    A saved value lives from the run that makes it, a received one from the start of its receive, to the last run that reads it or to the wait of its
    last send; a copy is a read on one place and a write on the other. Values of one place and size whose lives do not overlap share a slot.

    ```mlir
    pp.run @s0_F microbatch 0 {s0.h = 0 : i64}
    pp.send 0 @x0 microbatch 0 slot 0
    ```
  }];
}

def VerifySchedule : Pass<"pp-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Proves that the schedules compute the step";
  let description = [{
    On the table of each place: every task of the place runs once on every microbatch (in evaluation: prologue and forward); a saved or received value is read
    from a slot that still holds it, the latter behind the wait of its receive; no slot is written while it is being sent or received; every
    end of a transfer starts once for every microbatch; every sum is over all ranks that have a part, behind the last addition and before the first
    reader; all that is started is waited for. On the tables of all places together: a channel is of one group, the ends of a queue agree on its order,
    and nobody waits for ever, even if each communication holds its queue until all its ends have reached it. What is borrowed is read behind its transfer and
    updated when it has gone; nothing is added to gradients that were read or sent. A local schedule, the only one then, is held to the same: a copy is both ends of
    a transfer at once. Changes nothing.
  }];
}

//===----------------------------------------------------------------------===//
// scheduled -> kernels
//===----------------------------------------------------------------------===//

def BlockRows : Pass<"pp-block-rows", "::mlir::ModuleOp"> {
  let summary = "Computes wide intermediate values of tasks one block of rows after the other";
  let description = [{
    A value is wide if it takes more than `budget` bytes. Around a wide product: the ops of the task that make or read wide values, of at least half of its
    size, which the task neither takes nor returns. If all of them can be cut along the product's first dimension, they are computed for one block of its rows after the other,
    in as few blocks of equal size as keep each value within the budget: operands are cut, weights whole, results are put together, and sums over the rows
    (the weights' gradients) added up block by block. A group is left alone if some op of it mixes rows, or draws random numbers (or counts) by its place in the global
    tensor. What a block still has too wide is cut again, along the next dimension.

    ```mlir
    %z = pp.matmul %h, %w                        // before
    %d = pp.matmul %z, %x {transpose_lhs}

    %h0 = pp.slice %h [0, 0]                     // after, for each block
    %z0 = pp.matmul %h0, %w
    %d0 = pp.matmul %z0, %x0 {transpose_lhs}
    %d = pp.add %d0, %d1
    ```
  }];
  let options = [Option<"budget", "budget", "int64_t", /*default=*/"67108864", "bytes that an intermediate value may take">];
}

def DecomposeKernels : Pass<"pp-decompose-kernels", "::mlir::ModuleOp"> {
  let summary = "Replaces composites by element ops, reductions and products";
  let description = [{
    Runs on local shapes: a composite is split along none of the dimensions that its decomposition counts or
    indexes. Statistics, sums and exponentials of bf16 values are f32. Afterwards tasks hold element ops, sums, maxima,
    matrix products and the gradient of embeddings.

    ```mlir
    %y = pp.softmax %x : tensor<8x16xf32>                             // before
    %0 = pp.reduce max %x [1] {keep_dims} : tensor<8x16xf32>          // after
    %1 = pp.sub %x, %0 : tensor<8x16xf32>, tensor<8x1xf32>
    %2 = pp.exp %1 : tensor<8x16xf32>
    %3 = pp.reduce sum %2 [1] {keep_dims} : tensor<8x16xf32>
    %c = pp.constant dense<1.000000e+00> : tensor<f32>
    %4 = pp.div %c, %3 : tensor<f32>, tensor<8x1xf32>
    %y = pp.mul %2, %4 : tensor<8x16xf32>, tensor<8x1xf32>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

def TestIterationSpace : Pass<"pp-test-iteration-space"> {
  let summary = "Test only: a remark on each op with its iteration space";
  let description = [{
    `a=8 b=4(sum): [a, b] -> [a]; linear in {0}.` is two loops, of which the operand's dimensions run over both, and the result's over the
    first. `ab` is a dimension of two loops, `.` one of none.
  }];
}

def TestCost : Pass<"pp-test-cost"> {
  let summary = "Test only: a remark on each op with its work";
  let description = [{
    `4096 flops, 0 elements, 1024 bytes; backward 8192, 0, 2048.` The backward is that of the operands that have a gradient: floats, but
    for frozen parameters.
  }];
}

#endif // PPOPT_TRANSFORMS_PASSES
