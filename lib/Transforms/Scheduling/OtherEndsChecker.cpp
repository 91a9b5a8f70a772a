//===- OtherEndsChecker.cpp - Checks waits of one process -----------------===//

#include "OtherEndsChecker.h"

using namespace mlir;
using namespace mlir::pp;

void OtherEndsChecker::start(Operation *end, int64_t place, Key key,
                             ArrayRef<int64_t> places) {
  Communication &communication = communications[key];
  communication.places.assign(places.begin(), places.end());
  communication.started.push_back(place);
  ofStart[end] = &communication;
}

template <typename OpT> void OtherEndsChecker::startTransfer(OpT end) {
  const SlotUses &uses = table.index.uses;
  TransferOp transfer = uses.getTransfer(end.getTransferAttr());
  start(end, uses.getPlace(end),
        {transfer.getAsOpaquePointer(), end.getMicrobatch()},
        {transfer.getFrom(), transfer.getTo()});
}

template void OtherEndsChecker::startTransfer(SendOp end);
template void OtherEndsChecker::startTransfer(RecvOp end);

void OtherEndsChecker::start(StartOp start) {
  int64_t place = SlotUses::getPlace(start);
  this->start(start, place,
              {start.getWhat().getAsOpaquePointer(),
               static_cast<int64_t>(start.getKind())},
              table.index.mesh.placesOf(start.getGroup().getGeometry(), place));
}

LogicalResult OtherEndsChecker::check(WaitOp wait, Operation *start) {
  if (!table.schedule.isLocal())
    return success();
  const Communication &communication = *ofStart.lookup(start);
  for (int64_t place : communication.places) {
    if (llvm::is_contained(communication.started, place))
      continue;
    InFlightDiagnostic diag = wait.emitOpError("comes before place ")
                              << place
                              << " starts its end; all places are one process, "
                                 "which would wait for ever";
    diag.attachNote(start->getLoc()) << "this start is waited for";
    return diag;
  }
  return success();
}
