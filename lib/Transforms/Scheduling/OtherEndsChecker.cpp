//===- OtherEndsChecker.cpp - Checks waits of one process -----------------===//

#include "OtherEndsChecker.h"

using namespace mlir;
using namespace mlir::pp;

void OtherEndsChecker::start(StartOp start) {
  int64_t place = start.getPlaceOfStart();
  Collective &collective =
      collectives[{start.getWhat().getAsOpaquePointer(), start.getKind()}];
  collective.places =
      table.index.mesh.placesOf(start.getGroup().getGeometry(), place);
  collective.started.push_back(place);
  ofStart[start] = &collective;
}

LogicalResult OtherEndsChecker::check(WaitOp wait, StartOp start) {
  if (!table.schedule.isLocal())
    return success();
  const Collective &collective = *ofStart.lookup(start);
  for (int64_t place : collective.places) {
    if (llvm::is_contained(collective.started, place))
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
