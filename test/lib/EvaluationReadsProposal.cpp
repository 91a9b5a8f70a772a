//===- EvaluationReadsProposal.cpp - An evaluation reads what is proposed -===//

#include "Mutations.h"
#include "ppopt/Dialect/PP/ParallelOps.h"
#include "ppopt/Dialect/PP/PlanOps.h"

#include "llvm/ADT/StringSet.h"

namespace mlir::pp {
#define GEN_PASS_DEF_EVALUATIONREADSPROPOSAL
#include "Passes.h.inc"
} // namespace mlir::pp

using namespace mlir;
using namespace mlir::pp;

namespace {

struct EvaluationReadsProposal
    : pp::impl::EvaluationReadsProposalBase<EvaluationReadsProposal> {
  void runOnOperation() override {
    llvm::StringSet<> states;
    for (auto param : getOperation().getOps<ParamDeclOp>())
      if (param.getState())
        states.insert(param.getParamName());
    bool isChanged = false;
    for (auto task : getOperation().getOps<TaskOp>())
      for (unsigned i = 0, e = task.getNumArguments(); i < e; ++i)
        if (RoleAttr role = task.getArgRole(i);
            task.getKind() == TaskKind::Evaluation &&
            role.getKind() == RoleKind::Param &&
            states.contains(role.getName())) {
          task.setArgAttr(
              i, kRoleAttr,
              RoleAttr::get(&getContext(), RoleKind::Proposal, role.getName()));
          isChanged = true;
        }
    if (failed(requireChange(isChanged, getOperation(),
                             "state that an evaluation reads")))
      signalPassFailure();
  }
};

} // namespace
