//===- Gathers.cpp - Gathers inside tasks of phase kernels, for mutations -===//

#include "Gathers.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/TaskOps.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::pp;

/// Adds what touches a buffer or a view of it, except its collective.
static void addReaders(Value buffer, TaskGather &gather) {
  for (Operation *user : buffer.getUsers())
    if (isa<memref::ReinterpretCastOp>(user))
      addReaders(user->getResult(0), gather);
    else if (auto release = dyn_cast<ReleaseOp>(user))
      gather.release = release;
    else if (!isa<BeginOp>(user))
      gather.readers.push_back(user);
}

SmallVector<TaskGather> pp::findGathers(TaskOp task) {
  SmallVector<TaskGather> gathers;
  for (auto begin : task.getBody().getOps<BeginOp>()) {
    if (begin.getCollective().getKind() !=
        ::ppopt::geometry::Collective::AllGather)
      continue;
    TaskGather gather;
    gather.begin = begin;
    for (auto finish : task.getBody().getOps<FinishOp>())
      if (finish.getNumber() == begin.getNumber())
        gather.finish = finish;
    addReaders(begin.getOuts()[0], gather);
    llvm::sort(gather.readers, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    gathers.push_back(std::move(gather));
  }
  return gathers;
}
