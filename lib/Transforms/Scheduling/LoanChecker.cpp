//===- LoanChecker.cpp - Checks transfers of borrowed buckets -------------===//

#include "LoanChecker.h"

using namespace mlir;
using namespace mlir::pp;

LogicalResult LoanChecker::check(RunOp run) {
  TaskOp task = table.index.step.getTask(run);
  int64_t place = task.getPlace();
  for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i) {
    RoleAttr role = task.getArgRole(i);
    if (role.getKind() == RoleKind::ParamRange) {
      // Only updates take ranges of parameters.
      Attribute bucket = getBucket(role);
      updated[{place, bucket}] = run;
      if (Operation *send = lending.lookup({place, bucket})) {
        InFlightDiagnostic diag = run.emitOpError("updates ")
                                  << bucket << " while it is being sent";
        diag.attachNote(send->getLoc()) << "this send is not waited for";
        return diag;
      }
    } else if (role.getKind() == RoleKind::Param) {
      Attribute bucket = table.index.bucketOf.lookup(role.getName());
      BucketOp lent = table.index.borrowed.lookup(bucket);
      if (lent && llvm::is_contained(lent.getBorrowers(), place) &&
          !borrowed.contains({place, bucket}))
        return run.emitOpError("reads '")
               << role.getName()
               << "', which its owner has not lent to this place yet";
    }
  }
  return success();
}

LogicalResult LoanChecker::checkSend(Operation *send, const StepCopy &copy) {
  OnPlace key = {copy.from, getBucket(copy)};
  Operation *update = updated.lookup(key);
  if (!update)
    return success();
  InFlightDiagnostic diag = send->emitOpError("sends ")
                            << key.second << " after its update";
  diag.attachNote(update->getLoc()) << "it is updated here";
  return diag;
}

void LoanChecker::start(Operation *send, const StepCopy &copy) {
  lending[{copy.from, getBucket(copy)}] = send;
}

void LoanChecker::finish(const StepCopy &copy) {
  lending.erase({copy.from, getBucket(copy)});
}

void LoanChecker::receive(const StepCopy &copy) {
  borrowed.insert({copy.to, getBucket(copy)});
}
