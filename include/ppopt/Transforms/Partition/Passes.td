//===- Passes.td - Passes that make tasks and buckets ---- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PARTITION_PASSES
#define PPOPT_TRANSFORMS_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

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

#endif // PPOPT_TRANSFORMS_PARTITION_PASSES
