//===- Passes.td - Passes that make tasks and buckets ---- -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_PARTITION_PASSES
#define PPOPT_TRANSFORMS_PARTITION_PASSES

include "mlir/Pass/PassBase.td"

def ReadThroughViews : Pass<"pp-read-through-views", "::mlir::ModuleOp"> {
  let summary = "Makes the backward read results of attention under the views that the forward uses";
  let description = [{
    Applies where a backward region reads a result of attention and the forward uses that result
    through views alone (heads merged into rows). The backward then reads the value under these
    views and undoes them. `pp-split-tasks` saves the value once, in the layout that the forward
    needs anyway.

    ```mlir
    %f:2 = pp.place 0 stage 0 { %a, %s = pp.attention ... pp.yield %y, %a }          // before
    pp.place 0 stage 0 backward { ... %f#1 ... }

    %f:3 = pp.place 0 stage 0 {                                                      // after
      %a, %s = pp.attention ...
      %t = pp.transpose %a [0, 2, 1, 3] ...
      pp.yield %y, %a, %t
    }
    pp.place 0 stage 0 backward { %u = pp.transpose %f#2 [0, 2, 1, 3] ... %u ... }
    ```
  }];
}

def SplitTasks : Pass<"pp-split-tasks", "::mlir::ModuleOp"> {
  let summary = "Splits the entry into isolated tasks";
  let description = [{
    Before: the entry on local shapes. After: for each place the prologues (sums of inputs that the
    first forward needs over the whole batch), for each stage a forward and a backward. A value of the
    forward that the backward reads is saved, or computed again right before its first use. The plan's
    `recompute` says which values are computed again:

    - none: views and constants only.
    - cheap: values that follow from saved values, parameters or inputs at no more than an
      elementwise cost.
    - layer: everything except the values that `pp.checkpoint` marks and those that the stage is
      given.

    Each `pp.add_grad` becomes an accumulation, in place over microbatches. No `pp.checkpoint` is
    left. `pp.step` calls the tasks on the values that they hand to one another, and copies what is
    read on another place.

    ```mlir
    %f:2 = pp.place 0 stage 0 { %m = pp.matmul %x, %w ... pp.yield %loss, %m }       // before
    pp.place 0 stage 0 backward { ... %f#1 ... pp.add_grad %w, %dw : tensor<2x3xf32> }

    pp.task forward stage 0 @s0_F(...)                                               // after
        -> (tensor<f32> {pp.role = #pp.role<loss, "loss">}, tensor<2x3xf32>) { ... }
    pp.task backward stage 0 @s0_B(%m: tensor<2x3xf32>, ...)
        -> (tensor<2x3xf32> {pp.role = #pp.role<grad, "w">}) { ... pp.accumulate ... }
    pp.step microbatch {
      %m = pp.call @s0_F() : () -> tensor<2x3xf32>
      pp.call @s0_B(%m) : (tensor<2x3xf32>) -> ()
    } ...
    ```
  }];
}

def FormBuckets : Pass<"pp-form-buckets", "::mlir::ModuleOp"> {
  let summary = "Orders parameters into buckets and adds the norm, decide and update tasks";
  let description = [{
    Parameters that learn are ordered by when their gradient is ready. A bucket is closed when its
    parameters reach the plan's `bucket_bytes`. All parameters of a bucket
    have one type, one treatment by weight decay and one set of places that hold them. The range of
    each bucket is padded so that the ranks that sum it divide it. There is one elementwise update task
    per bucket and place, on flat ranges. The norm task of a place sums the squares of the gradients that the place
    owns: those of each bucket whose first place it is. The decide task of a place that updates
    computes two fields of the step state. `hold` is not 0 if the loss or the norm is not finite or
    a count is zero; every update then keeps parameters and states as they are, bit for bit.
    `clip_scale` is what gradients are multiplied by: clip / norm where the norm is larger, else 1.

    If the plan's `tied` is owner and several places hold a bucket, its first place alone updates
    it. Copies in the step's `begin` bring the parameters to each other place, and copies in its
    `end` the gradients back. A `collect` task of the owner adds these.

    ```mlir
    pp.bucket @b0 {elements = 64 : i64, offsets = array<i64: 0>, params = ["w"], ...}
    pp.task norm @p0_N(%g: tensor<64xf32> {pp.role = #pp.role<grad_range, "b0">}, ...) ...
    pp.task decide @p0_D(%loss: ..., %norm: ..., %clip: ...) ...
    pp.task update @p0_U_b0(...) ...
    pp.task collect @p0_C_b0(%r: tensor<64xf32>, ...)
    pp.step begin {
      pp.copy_bucket @b0 from 0 to 1 {id = 0 : i64}
    } end {
      %0 = pp.copy_bucket @b0 from 1 to 0 {gradient_of = 0 : i64, id = 1 : i64} : tensor<64xf32>
      pp.call @p0_C_b0(%0) : (tensor<64xf32>) -> ()
      pp.call @p0_N() : () -> ()
    }
    ```
  }];
}

def GatherParameters : Pass<"pp-gather-parameters", "::mlir::ModuleOp"> {
  let summary = "Makes tasks gather the parameters of which a rank has a chunk";
  let description = [{
    A task that reads parameters of a bucket whose parameters are sharded has this rank's chunk as
    operand, instead of the parameters. It gathers the bucket once, before the first op that reads
    one of them.

    ```mlir
    pp.task forward stage 0 @s0_F(%w: tensor<8x8xf32> {pp.role = #pp.role<param, "w">}, ...)  // before

    pp.task forward stage 0 @s0_F(..., %0: tensor<64xf32> {pp.role = #pp.role<param_range, "b0">})
      %1 = pp.all_gather %0 over <["dp"]> "b0" : tensor<64xf32> to tensor<128xf32>           // after
      %2 = pp.slice %1 [64] : tensor<128xf32> to tensor<64xf32>
      %w = pp.reshape %2 : tensor<64xf32> to tensor<8x8xf32>
    ```
  }];
}

def ScatterGradients : Pass<"pp-scatter-gradients", "::mlir::ModuleOp"> {
  let summary = "Makes tasks sum the gradients of which a rank has a chunk";
  let description = [{
    A task that adds to gradients of a bucket whose gradients are sharded adds to zeros of the
    bucket's size first. When all its gradients are there, the ranks of the bucket's shard group sum
    them, and each adds its chunk to the accumulator, which has no more than this chunk.

    ```mlir
    %0 = pp.accumulate %w, %dw : tensor<8x8xf32>                                  // before

    %1 = pp.zeros : tensor<128xf32>                                               // after
    %2 = pp.slice %1 [0] : tensor<128xf32> to tensor<64xf32>
    %3 = pp.reshape %2 : tensor<64xf32> to tensor<8x8xf32>
    %4 = pp.accumulate %3, %dw : tensor<8x8xf32>
    %5 = pp.join %1(%4) at [0] : tensor<128xf32>, tensor<8x8xf32>
    %6 = pp.reduce_scatter %5 over <["dp"]> "b0" : tensor<128xf32> to tensor<64xf32>
    %7 = pp.accumulate %b0, %6 : tensor<64xf32>
    ```
  }];
}

def SignTasks : Pass<"pp-sign-tasks", "::mlir::ModuleOp"> {
  let summary = "Numbers the channels of collectives inside tasks, and lists them in the signature";
  let description = [{
    Each kind of collective over a group has a channel, from 1 on. Afterwards a task's `collectives`
    are those of its body, in their order. The proof of schedules expands runs by this list. The
    order of starts on a channel stays the same until code is emitted.

    ```mlir
    pp.task forward stage 0 @s0_F(...) attributes {collectives =
        [#pp.task_collective<<all_gather> over <["dp"]> channel 1 "b0" of 128 x f32>]} { ... }
    ```
  }];
}

def VerifyTasks : Pass<"pp-verify-tasks", "::mlir::ModuleOp"> {
  let summary = "Checks that each place can supply what its tasks take";
  let description = [{
    - The step calls each task once where its kind belongs. A call takes values of its task's place,
      cut over the ranks as the task takes them.
    - A copy goes from the place of its value, between places of the plan, and something reads it.
    - The place holds the parameters, gradients and ranges that its tasks take.
    - One prologue computes a count.
    - All tasks of a stage are on one place.
    - Types agree.
    - A task's `collectives` are those of its body, over ranks of its place. Parameters of which a
      rank has a chunk are read from a gather over the bucket's shard group; to a chunk of gradients
      a task adds what it has summed over that group.
    - A copy of a bucket connects its owner and a place that borrows it; a task adds the gradients
      that come back. That a gradient's copy goes in the opposite direction of its copy is a rule of
      `pp.step` itself.

    Changes nothing.
  }];
}

#endif // PPOPT_TRANSFORMS_PARTITION_PASSES
