//===- Passes.td - Passes that order actions and prove the order  -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_PASSES
#define PPOPT_TRANSFORMS_SCHEDULING_PASSES

include "mlir/Pass/PassBase.td"

def Schedule : Pass<"pp-schedule", "::mlir::ModuleOp"> {
  let summary = "Orders the runs of the tasks on every place";
  let description = [{
    Before: tasks. After: for each place a schedule of training and one of evaluation, with no
    communication yet. With one stage every schedule has the same order: prologues, then forward and
    backward of each microbatch in turn, norm, decision, updates. If the plan's launch is local, the
    pass does nothing and `pp-schedule-local` orders the runs.

    ```mlir
    pp.schedule 0 attributes {slots = array<i64>} {
      pp.zero
      pp.run @p0_P microbatch 0
      pp.run @s0_F microbatch 0
      pp.run @s0_B microbatch 0
      pp.run @p0_N microbatch 0
      pp.run @p0_D microbatch 0
      pp.run @p0_U_b0 microbatch 0
    }
    ```
  }];
}

def ScheduleLocal : Pass<"pp-schedule-local", "::mlir::ModuleOp"> {
  let summary = "Orders the runs of all tasks in one list";
  let description = [{
    Applies if the plan's launch is local; otherwise it does nothing. The order is that of the
    program: prologues; each microbatch forward through the stages and, in training, back; norm;
    updates. After each run its results are sent to the places that read them. The plan's schedule
    decides where the stages are and whether backwards are split, not the order. Slots are not
    assigned yet (-1).

    ```mlir
    pp.schedule local attributes {slot_places = array<i64>, slots = array<i64>} {
      pp.run @s0_F microbatch 0
      pp.recv 0 @x0 microbatch 0 slot -1
      pp.send 1 @x0 microbatch 0 slot -1
      pp.wait 1
      pp.wait 0
      pp.run @s1_F microbatch 0
    ```
  }];
}

def InsertTransfers : Pass<"pp-insert-transfers", "::mlir::ModuleOp"> {
  let summary = "Starts and waits for the transfers between places";
  let description = [{
    A send starts after the run that makes the value. A receive starts one run before the first run
    that reads the value, or earlier if the order of its queue requires it, and is waited for before
    that reader. A send is waited for before the first run of its place that starts, in the
    simulated schedule, after the start of the receive. In that order of all actions every wait
    comes after the starts that it needs, so nothing can deadlock.

    Transfers of the step: parameters start after the prologues, gradients after the
    place's last run of a stage. Slots are not assigned yet (-1).

    ```mlir
    pp.run @s0_F microbatch 0
    pp.send 0 @x0 microbatch 0 slot -1
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

    ```mlir
    pp.run @s0_B microbatch 1
    pp.start 4 all_reduce over <["dp", "pp"] among [0, 1]> channel 1 @b0
    pp.wait 4
    pp.run @p0_N microbatch 0
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
    pp.start 4 all_reduce over <["pp"]> channel 1 #pp.role<global, "g0">
    pp.recv 1 @x0 microbatch 0 slot -1                                    // before
    pp.wait 4

    pp.start 4 all_reduce over <["pp"]> channel 1 #pp.role<global, "g0">
    pp.wait 4
    pp.recv 1 @x0 microbatch 0 slot -1                                    // after
    ```
  }];
}

def BindOperands : Pass<"pp-bind-operands", "::mlir::ModuleOp"> {
  let summary = "Says where the operands of runs are";
  let description = [{
    Binds every operand of the task that a run names, the arguments and then the results that are
    tied to none. The role of an operand says what it is; buckets and declarations say in which
    buffer that is, and at which byte. A microbatch's rows of an input follow those of the
    microbatches before. Saved and received values are in slots, which have no number yet (-1).

    ```mlir
    pp.run @s0_F microbatch 1                                                      // before
    pp.run @s0_F microbatch 1 (<input, "x"> + 128, <params, "b0"> + 64, slot -1)   // after
    ```
  }];
  let dependentDialects = ["::mlir::pp::PPDialect"];
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
    pp.recv 1 @g microbatch 0 slot -1                 // before
    pp.run @s0_F microbatch 1 (<input, "x">, slot -1)
    pp.send 0 @h microbatch 1 slot -1

    pp.run @s0_F microbatch 1 (<input, "x">, slot -1) // after
    pp.send 0 @h microbatch 1 slot -1
    pp.recv 1 @g microbatch 0 slot -1
    ```
  }];
}

def AssignSlots : Pass<"pp-assign-slots", "::mlir::ModuleOp"> {
  let summary = "Colours the lifetimes of saved and received values into slots";
  let description = [{
    A saved value lives from the run that makes it, a received value from the start of its receive.
    Both live to the last run that reads them or to the wait of their last send. A copy is a read on
    one place and a write on the other. Values of one place and size whose lifetimes do not overlap
    share a slot. Runs have bindings (`pp-bind-operands`).

    ```mlir
    pp.run @s0_F microbatch 0 (<input, "x">, slot -1)   // before
    pp.send 0 @x0 microbatch 0 slot -1

    pp.run @s0_F microbatch 0 (<input, "x">, slot 0)    // after
    pp.send 0 @x0 microbatch 0 slot 0
    ```
  }];
}

def VerifySchedule : Pass<"pp-verify-schedule", "::mlir::ModuleOp"> {
  let summary = "Proves that the schedules compute the step";
  let description = [{
    On the table of each place:

    - Every task of the place runs once on every microbatch (in evaluation: prologue and forward).
    - Every operand of a run, and every end of a transfer, is bound to where its value is: to a slot,
      or to the address that buckets and declarations give it, inside of its buffer.
    - A saved or received value is read from a slot that still holds it; a received value is read
      after the wait of its receive.
    - No slot is written while it is being sent or received.
    - Every end of a transfer starts once per microbatch.
    - Every sum covers all ranks that have a part, after the last addition and before the first
      reader.
    - Everything that is started is waited for.
    - Borrowed parameters are read after their transfer; lent ones are updated after they have been
      sent.
    - Nothing is added to gradients that were read or sent.
    - Fields of the step state that are decided in the step are read after a run of the place has
      decided them, so that no update comes before the decision.

    On the tables of all places together: a channel belongs to one group, the ends of a queue agree
    on its order, and no rank waits forever, even if each communication holds its queue until all
    its ends have reached it.

    A local schedule, which is then the only one, must satisfy the same rules: a copy is both ends
    of a transfer at once. Changes nothing.
  }];
}

#endif // PPOPT_TRANSFORMS_SCHEDULING_PASSES
