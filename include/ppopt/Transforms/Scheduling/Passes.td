//===- Passes.td - Passes that order actions and prove the order  -*- tablegen -*-===//

#ifndef PPOPT_TRANSFORMS_SCHEDULING_PASSES
#define PPOPT_TRANSFORMS_SCHEDULING_PASSES

include "mlir/Pass/PassBase.td"

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

#endif // PPOPT_TRANSFORMS_SCHEDULING_PASSES
