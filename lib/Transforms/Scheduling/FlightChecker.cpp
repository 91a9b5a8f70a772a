//===- FlightChecker.cpp - Checks memory that is in flight ----------------===//

#include "FlightChecker.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

using namespace mlir;
using namespace mlir::pp;

FlightChecker::FlightChecker(CheckedTable table) : table(table) {
  for (BlockArgument token : table.schedule.getBody().getArguments())
    if (StartOp start = table.index.getCarried(token))
      inFlight[token] = {{table.schedule.getPlace(), start.getBuffer()},
                         /*writes=*/true,
                         start,
                         /*isCarried=*/true};
}

static StringRef spell(Operation *start) {
  if (isa<SendOp>(start))
    return "sent";
  if (isa<RecvOp>(start))
    return "received";
  return ppopt::geometry::reduces(cast<StartOp>(start).getKind())
             ? "summed over ranks"
             : "gathered from ranks";
}

LogicalResult FlightChecker::check(Operation *action, OnPlace memory,
                                   bool writes) {
  for (auto &[token, flight] : inFlight) {
    if (flight.memory != memory || (!writes && !flight.writes))
      continue;
    InFlightDiagnostic diag = action->emitOpError(writes ? "writes " : "reads ")
                              << memory.second << " while it is being "
                              << spell(flight.start);
    diag.attachNote(flight.start->getLoc())
        << (flight.isCarried ? "the step before has started it; its token is "
                               "an argument of the schedule"
                             : "this is not waited for");
    return diag;
  }
  return success();
}

LogicalResult FlightChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  if (!inFlight.empty())
    for (const MemoryUse &use : table.index.uses.of(task))
      if (failed(check(run, {task.getPlace(), use.buffer},
                       use.access != MemoryUse::Access::Read)))
        return failure();
  return success();
}

LogicalResult FlightChecker::start(Value token, OnPlace memory, bool writes) {
  if (failed(check(token.getDefiningOp(), memory, writes)))
    return failure();
  inFlight[token] = {memory, writes, token.getDefiningOp()};
  return success();
}
