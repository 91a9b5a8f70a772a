//===- TransferChecker.cpp - Checks starts and waits of transfers ---------===//

#include "TransferChecker.h"

using namespace mlir;
using namespace mlir::pp;

template <typename OpT> LogicalResult TransferChecker::checkId(OpT action) {
  if (!ids.insert(action.getId()).second)
    return action.emitOpError("has the id of an earlier start");
  started[action.getId()] = action;
  return success();
}

/// Checks that an end starts once. Transfers of the step have microbatch 0.
template <typename OpT>
LogicalResult TransferChecker::checkOnce(OpT end, Ends &ends, StringRef verb) {
  TransferOp transfer = table.index.uses.getTransfer(end.getTransferAttr());
  int64_t microbatch = end.getMicrobatch();
  if (microbatch < 0 || microbatch >= count(transfer))
    return end.emitOpError(verb)
           << " microbatch " << microbatch << " of " << count(transfer);
  auto [it, isNew] = ends.insert({{transfer, microbatch}, end});
  if (isNew)
    return success();
  InFlightDiagnostic diag = end.emitOpError(verb)
                            << " this microbatch a second time";
  diag.attachNote(it->second->getLoc()) << "the first is here";
  return diag;
}

/// Checks one end of a transfer, which its place has to `verb`.
template <typename OpT>
LogicalResult TransferChecker::checkEnd(OpT end, Ends &ends, StringRef verb) {
  if (failed(checkId(end)))
    return failure();
  int64_t place = table.index.uses.getPlace(end);
  if (!table.schedule.isOf(place))
    return end.emitOpError("stands on place ")
           << table.schedule.getPlace() << ", but place " << place << " "
           << verb << " it";
  return checkOnce(end, ends, verb);
}

LogicalResult TransferChecker::check(SendOp send) {
  return checkEnd(send, sent, "sends");
}

LogicalResult TransferChecker::check(RecvOp recv) {
  return checkEnd(recv, received, "receives");
}

LogicalResult TransferChecker::check(StartOp start) { return checkId(start); }

/// A carried wait is for what the place's training has started.
FailureOr<Operation *> TransferChecker::checkCarried(WaitOp wait) {
  StartOp start;
  if (!table.schedule.isLocal())
    start =
        table.index.gathers.lookup({table.schedule.getPlace(), wait.getId()});
  if (!start)
    return wait.emitOpError("is carried, and no step of this place starts ")
               << wait.getId() << " to gather parameters",
           failure();
  carried.insert(wait.getId());
  return start.getOperation();
}

FailureOr<Operation *> TransferChecker::check(WaitOp wait) {
  if (wait.getCarried())
    return checkCarried(wait);
  auto it = started.find(wait.getId());
  if (it == started.end())
    return wait.emitOpError("waits for an id that was not started or was "
                            "waited for already"),
           failure();
  Operation *action = it->second;
  started.erase(it);
  return action;
}

LogicalResult TransferChecker::checkAllAreDone() {
  for (Operation &action : table.schedule.getBody().front())
    if (auto id = action.getAttrOfType<IntegerAttr>("id"))
      if (!isa<WaitOp>(action) && started.count(id.getInt()) &&
          !carried.contains(id.getInt()))
        return action.emitOpError("is never waited for");
  return success();
}

/// Checks that the ends contain the transfer of each microbatch.
LogicalResult TransferChecker::checkAll(TransferOp transfer, const Ends &ends,
                                        StringRef verb) {
  for (int64_t i = 0, e = count(transfer); i < e; ++i)
    if (!ends.count({transfer, i}))
      return table.schedule.emitOpError("never ")
             << verb << " @" << transfer.getSymName() << " of microbatch " << i;
  return success();
}

LogicalResult TransferChecker::checkComplete() {
  ScheduleOp schedule = table.schedule;
  // Evaluation does not transfer values that only the backward reads.
  if (schedule.getEvaluation())
    return success();
  for (TransferOp transfer : table.index.transfers) {
    if (schedule.isOf(transfer.getFrom()) &&
        failed(checkAll(transfer, sent, "sends")))
      return failure();
    if (schedule.isOf(transfer.getTo()) &&
        failed(checkAll(transfer, received, "receives")))
      return failure();
  }
  return success();
}
