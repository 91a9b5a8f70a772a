//===- Passes.td - Passes that order actions and prove the order  -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_PASSES
#define PPOPT_TRANSFORMS_SCHEDULING_PASSES

include "mlir/Pass/PassBase.td"

def Schedule : Pass<"pp-schedule", "::mlir::ModuleOp"> {
  let summary = "Orders the runs of the tasks on every place";
  let description = [{
    Before: `pp.step`. After: for each place a schedule of training and one of evaluation: an order of
    the step's calls of that place. With one stage every schedule has the same order: prologues, then
    forward and backward of each microbatch in turn, norm, decision, updates. A copy is sent right
    after the run that makes its value and received right before the first run that reads it, and each
    is waited for at once. If the plan's launch is local, the pass does nothing and
    `pp-schedule-local` orders the runs.

    ```mlir
    pp.schedule 0 attributes {slots = array<i64>} {
      pp.zero
      %h = pp.run @s0_F microbatch 0 () : () -> tensor<4x8xf32>
      %sent = pp.send copy 0 microbatch 0 (%h) : tensor<4x8xf32>
      pp.wait %sent : !pp.token
    }
    ```
  }];
  let dependentDialects = ["::mlir::pp::PPDialect"];
}

def ScheduleLocal : Pass<"pp-schedule-local", "::mlir::ModuleOp"> {
  let summary = "Orders the runs of all tasks in one list";
  let description = [{
    Applies if the plan's launch is local; otherwise it does nothing. The order is that of `pp.step`:
    prologues; each microbatch forward through the stages and, in training, back; norm; updates.
    Copies stay copies. The plan's schedule decides where the stages are and whether backwards are
    split, not the order.

    ```mlir
    pp.schedule local attributes {slot_places = array<i64>, slots = array<i64>} {
      pp.zero
      %h = pp.run @s0_F microbatch 0 () : () -> tensor<4x8xf32>
      %copied = pp.copy %h from 0 to 1 {id = 0 : i64, microbatch = 0 : i64} : tensor<4x8xf32>
      pp.run @s1_F microbatch 0 (%copied) : (tensor<4x8xf32>) -> ()
    }
    ```
  }];
}

def OverlapTransfers : Pass<"pp-overlap-transfers", "::mlir::ModuleOp"> {
  let summary = "Moves the starts and waits of transfers beside runs";
  let description = [{
    Before: each copy is sent and received where `pp-schedule` has put it. After: a receive starts one
    run before the first run that reads the value, or earlier if the order of its queue requires it,
    and is waited for before that reader. A send is waited for before the first run of its place that
    starts, in the simulated schedule, after the start of the receive. In that order of all actions
    every wait comes after the starts that it needs, so nothing can deadlock.

    Copies of buckets are waited for where what they bring is read: parameters before the first run
    that reads them, or, where they are sent, before they are updated.

    ```mlir
    %coming = pp.recv copy 0 microbatch 0 : !pp.future<tensor<4x8xf32>>
    pp.run @s1_B microbatch 1 () : () -> ()
    %h = pp.wait %coming : !pp.future<tensor<4x8xf32>>
    pp.run @s1_F microbatch 0 (%h) : (tensor<4x8xf32>) -> ()
    ```
  }];
}

def InsertCollectives : Pass<"pp-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Starts and waits for the all-reduces of gradients, loss, counts and norm";
  let description = [{
    These sums are made, each only if its group has several ranks:

    - the gradients of a bucket, over dp and the places that hold it,
    - counts and loss, over all ranks,
    - the squares of the gradients, over pp.

    A sum starts after the last run of the place that adds to it; if no run does, after the
    prologues. It is waited for before its first reader: counts before the first run of a stage,
    gradients before the norm and, in training, the loss and the norm before the run that decides
    whether parameters are updated.

    Each group has a channel of its own; channel 0 is for transfers. On a channel of one place, sums
    start in the order in which they become complete. On a channel of several places all of them
    start the sums in one order: counts, loss, buckets by number, norm. In a local schedule a sum is
    started on each of its places, in ascending order, and waited for, all before its first reader.

    The gather of a bucket's parameters starts after their update and is what the schedule yields; the
    first reader of the next step, or of an evaluation, waits for the schedule's argument.

    ```mlir
    pp.run @s0_B microbatch 1 () : () -> ()
    %sum = pp.start all_reduce over <["dp", "pp"] among [0, 1]> channel 1 <grads, "b0">
    pp.wait %sum : !pp.token
    pp.run @p0_N microbatch 0 () : () -> ()
    ```
  }];
}

def OrderEvaluation : Pass<"pp-order-evaluation", "::mlir::ModuleOp"> {
  let summary = "Puts together what an evaluation repeats for each of its batches";
  let description = [{
    An evaluation is over the rows of several batches. All of them go through the prologues, level
    by level, before the first forward, so that sums of inputs are complete; the collectives of
    these sums and of the loss are done once. Transfers that start before the last sum of inputs is
    complete start after it, and the sum of the loss is last. Training schedules stay as they are.

    ```mlir
    %sum = pp.start all_reduce over <["pp"]> channel 1 <global, "g0">
    %coming = pp.recv copy 0 microbatch 0 : !pp.future<tensor<4x8xf32>>          // before
    pp.wait %sum : !pp.token

    %sum = pp.start all_reduce over <["pp"]> channel 1 <global, "g0">
    pp.wait %sum : !pp.token
    %coming = pp.recv copy 0 microbatch 0 : !pp.future<tensor<4x8xf32>>          // after
    ```
  }];
}

def OrderStarts : Pass<"pp-order-starts", "::mlir::ModuleOp"> {
  let summary = "Starts communication in one order on all ranks";
  let description = [{
    Applies if all communication of a rank goes through one blocking queue, as on a GPU, where it is
    a stream; otherwise it does nothing. Before: a receive starts one run before its reader, perhaps
    before a send that its sender waits for. After: all ranks start what they have in common in one
    order, in which communications complete in a simulation of the schedules. Starts move towards
    their waits, never beyond; collectives inside tasks stay where they are.

    ```mlir
    %g = pp.recv copy 1 microbatch 0 : !pp.future<tensor<4x8xf32>>    // before
    %h = pp.run @s0_F microbatch 1 () : () -> tensor<4x8xf32>
    %sent = pp.send copy 0 microbatch 1 (%h) : tensor<4x8xf32>

    %h = pp.run @s0_F microbatch 1 () : () -> tensor<4x8xf32>         // after
    %sent = pp.send copy 0 microbatch 1 (%h) : tensor<4x8xf32>
    %g = pp.recv copy 1 microbatch 0 : !pp.future<tensor<4x8xf32>>
    ```
  }];
}

def AssignSlots : Pass<"pp-assign-slots", "::mlir::ModuleOp"> {
  let summary = "Colours the lifetimes of values into slots";
  let description = [{
    The result of a run lives from the run, a received value from the start of its receive, a copied
    one from its copy. Each lives to the last action that reads it or to the wait of its last send.
    Values of one place and size whose lifetimes do not overlap share a slot.

    ```mlir
    %h = pp.run @s0_F microbatch 0 () : () -> tensor<4x8xf32>             // before
    %h = pp.run @s0_F microbatch 0 () slots [0] : () -> tensor<4x8xf32>   // after
    ```
  }];
}

def VerifySchedule : Pass<"pp-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Proves that the schedules compute the step";
  let description = [{
    On the table of each place:

    - It is an instance of `pp.step`: every call of the place runs once on every microbatch or once
      per step, every end of a copy is made as often, and each operand is the value that the step has
      there, of the same microbatch.
    - A value is read from a slot of its place that still holds it; no slot is written while it is
      being sent or received.
    - Nothing touches a buffer that something in flight writes, or writes one that it reads. What the
      step before left in flight counts too.
    - Every sum covers all ranks that have a part, after the last addition and before the first
      reader. Parameters of which each rank has updated a chunk are gathered before they are read.
    - Borrowed parameters are read after their transfer; lent ones are updated after they have been
      sent.
    - Nothing is added to gradients that were read or sent.
    - Fields of the step state that are decided in the step are read after a run of the place has
      decided them, so that no update comes before the decision.

    On the tables of all places together: a channel belongs to one group, the ends of a queue agree
    on its order, and no rank waits forever, even if each communication holds its queue until all
    its ends have reached it.

    A local schedule, which is then the only one, must satisfy the same rules: a copy is both ends
    at once. That everything in flight is waited for once is the rule of `pp.schedule` itself.
    Changes nothing.
  }];
}

#endif // PPOPT_TRANSFORMS_SCHEDULING_PASSES
