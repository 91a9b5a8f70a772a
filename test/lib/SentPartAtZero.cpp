//===- SentPartAtZero.cpp - Ranks send one another's part -----------------===//

#include "Mutations.h"

#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/RandomKey.h"
#include "ppopt/Dialect/PP/TaskOps.h"

namespace mlir::pp {
#define GEN_PASS_DEF_SENTPARTATZERO
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns whether a value, or a view of it, is a result of its task.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<ReturnOp>(user) ||
           (isa<ViewOpInterface>(user) && isReturned(user->getResult(0)));
  });
}

namespace {

struct SentPartAtZero : pp::impl::SentPartAtZeroBase<SentPartAtZero> {
  void runOnOperation() override {
    auto part = findFirst<OwnPartOp>(
        getOperation(), [](OwnPartOp op) { return isReturned(op); });
    if (failed(requireChange(bool(part), getOperation(),
                             "part of a value that a task makes")))
      return signalPassFailure();
    part.setAt(indexOf(KeyElement::Rows) - 1);
  }
};

} // namespace
