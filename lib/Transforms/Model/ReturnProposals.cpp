//===- ReturnProposals.cpp - Makes proposals results of the entry ---------===//
//
// Before: one function, with ops that propose values of states. After: it
// returns these values, after its other results, and each pp.proposed reads its
// state directly. A program that does not train has neither, and each
// pp.by_mode is its value of evaluation.
//
//===----------------------------------------------------------------------===//

#include "ppopt/Dialect/PP/BatchOps.h"
#include "ppopt/Dialect/PP/ModelOps.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Transforms/Model/Entry.h"
#include "ppopt/Transforms/Model/NeededOps.h"
#include "ppopt/Transforms/Model/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::pp {
#define GEN_PASS_DEF_RETURNPROPOSALS
#include "ppopt/Transforms/Model/Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

/// Returns the state that a value is, or null.
static ParamOp findState(Value value) {
  while (Value passedOn = getPassedOn(value))
    value = passedOn;
  auto param = value.getDefiningOp<ParamOp>();
  return param && param.getState() ? param : ParamOp();
}

/// Makes a value visible at the end of the entry: the marks that it is in yield
/// it.
static Value yieldToEntry(Value value) {
  Operation *parent = value.getParentBlock()->getParentOp();
  auto on = dyn_cast<OnOp>(parent);
  if (!on)
    return value;
  Operation *yield = on.getBody().front().getTerminator();
  yield->insertOperands(yield->getNumOperands(), value);
  OpBuilder builder(on);
  auto wider = OnOp::create(builder, on.getLoc(), yield->getOperandTypes(),
                            on.getPlace());
  wider.getBody().takeBody(on.getBody());
  on.replaceAllUsesWith(wider.getResults().drop_back());
  on.erase();
  return yieldToEntry(wider.getResults().back());
}

namespace {

struct ReturnProposals : pp::impl::ReturnProposalsBase<ReturnProposals> {
  using ReturnProposalsBase::ReturnProposalsBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry) || failed(findProposals(*entry)) ||
        failed(checkProposed(*entry)))
      return signalPassFailure();
    if (drop)
      dropTraining(*entry);
    else if (failed(returnAll(*entry)))
      return signalPassFailure();
  }

private:
  LogicalResult findProposals(func::FuncOp entry);
  LogicalResult checkProposed(func::FuncOp entry);
  void dropTraining(func::FuncOp entry);
  LogicalResult returnAll(func::FuncOp entry);

  /// The proposals by state, in the order of the states.
  llvm::MapVector<ParamOp, ProposeOp> proposals;
};

} // namespace

/// Checks that each state has one proposal, and that what is proposed for is a
/// state.
LogicalResult ReturnProposals::findProposals(func::FuncOp entry) {
  proposals.clear();
  entry.walk([&](ParamOp param) {
    if (param.getState())
      proposals.insert({param, {}});
  });
  WalkResult result = entry.walk([&](ProposeOp propose) {
    ParamOp state = findState(propose.getTarget());
    if (!state) {
      propose.emitOpError("proposes a value of what is no state; its first "
                          "operand must be a pp.param with 'state'");
      return WalkResult::interrupt();
    }
    ProposeOp &known = proposals[state];
    if (known) {
      InFlightDiagnostic diag = propose.emitOpError("is a second proposal for "
                                                    "state '")
                                << state.getParamName()
                                << "'; a step commits one value: combine them";
      diag.attachNote(known.getLoc()) << "the first is here";
      return WalkResult::interrupt();
    }
    known = propose;
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  for (auto &[state, propose] : proposals)
    if (!propose)
      return ParamOp(state).emitOpError("'")
             << ParamOp(state).getParamName()
             << "' is a state, and no op proposes a value of it; add a "
                "pp.propose, or make it 'frozen' instead";
  return success();
}

/// Checks that pp.proposed is of states, and that only proposals depend on it.
LogicalResult ReturnProposals::checkProposed(func::FuncOp entry) {
  auto results = entry.getBody().front().getTerminator()->getOperands();
  DenseSet<Operation *> needed = findNeededOps(llvm::to_vector(results));
  WalkResult result = entry.walk([&](ProposedOp op) {
    ParamOp state = findState(op.getTarget());
    if (!state)
      op.emitOpError("reads what is no state; its operand must be a pp.param "
                     "with 'state'");
    else if (needed.contains(op))
      op.emitOpError("is read by more than proposals: a result of the model "
                     "depends on it, and so on the order of microbatches; read "
                     "the state '")
          << state.getParamName() << "' itself there";
    else
      return WalkResult::advance();
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

void ReturnProposals::dropTraining(func::FuncOp entry) {
  entry.walk([](ByModeOp op) {
    op.replaceAllUsesWith(op.getEvaluation());
    op.erase();
  });
  for (auto &[state, propose] : proposals)
    propose.erase();
  entry.walk([](ProposedOp op) {
    op.replaceAllUsesWith(op.getTarget());
    op.erase();
  });
}

LogicalResult ReturnProposals::returnAll(func::FuncOp entry) {
  Operation *ret = entry.getBody().front().getTerminator();
  for (auto &[state, propose] : proposals) {
    Value value = propose.getValue();
    propose.erase();
    value = yieldToEntry(value);
    unsigned last = entry.getNumResults();
    ret->insertOperands(last, value);
    NamedAttribute name(StringAttr::get(&getContext(), kProposalAttr),
                        ParamOp(state).getParamNameAttr());
    if (failed(entry.insertResult(
            last, value.getType(),
            DictionaryAttr::get(&getContext(), ArrayRef(name)))))
      return failure();
  }
  return success();
}
